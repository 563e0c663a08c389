"""A random walk through faults: a whole pipeline under load, one fault after the other and several at once, judged by
the oracle. `python -m tests.chaos.walk --seed S --minutes M`; the same seed makes the same choices.

cluster     three brokers behind lines of their own, and a controller that is none of them
ground      servers, lines, relay, writers and witnesses
fault       what a fault is, and how long it lasts
*_faults    the faults, by whom they hit
catalog     all of them
walk        chooses, strikes, waits until all is well, and notes what happened
summary     the table of a walk
"""
