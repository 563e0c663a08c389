"""Between the loop and its two outlets, the sink and the lot: who goes where, and what a verdict brings about.

publisher    the stream's records on their way out to the sink
traffic      what the sink has, by topic
returns      what comes back from the sink: settled, refused, or taken back
verdicts     what a refusal means for a record, its key and its neighbours
culprits     who of a refused batch was it
detours      what is shelved with its closed topic, held for the cluster, or sent again
strict_keys  whose turn it is of a key
entrance     the way into the lot, and the doors that are shut behind what is in it
exit         the way out of the lot
feed         from the lot back to the sink, by tracks
track        one source of claims
due_track    what is due by its time
topic_tracks what waited for its topic
key_tracks   what waited behind its key
gatekeeper   whether the gates of strict keys can be opened
republisher  the lot's records on their way out to the sink
claims       what was taken out of the lot, until it is written down there again
outages      topics that are closed: emptied, probed, reopened
caution      after repeated deaths at one position: by handfuls or alone, noted durably before it is touched
dispatch     all of them together, as the session uses them

All of it runs on the loop's thread and never blocks; sink and lot are known as Protocols only.
"""
