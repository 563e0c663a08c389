"""`make soak`: an hour at a steady rate with a fault a minute, and whether memory, file descriptors and latency stay as
they were.

load    writers with numbers, who know what they committed whatever happened to their line
reader  a consumer that checks the numbers and takes the time
meter   what the relay's process has
course  the hour itself: load, faults, calm between them
verdict what came of it, against what is wanted
"""
