"""Between the loop and its two outlets, the sink and the lot: who goes where, and what a verdict brings about.

publisher  a record's way out to the sink; what each verdict means for it, its key and its neighbours
entrance   the way into the lot, and the doors that are shut behind what is in it
culprits   who of a refused batch was it
outages    topics that are closed: emptied, probed, reopened
feed       from the lot back to the sink: what is due, what waited for its topic, what waited behind its key
caution    after repeated deaths at one position: one record at a time, noted durably before it is touched
dispatch   all of them together, as the session uses them

All of it runs on the loop's thread and never blocks; sink and lot are known as Protocols only.
"""
