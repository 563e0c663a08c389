"""One replication line: read, published, settled and confirmed, until something ends it.

session         the loop: what happens in one turn, and what ends it
stream          the line as the loop knows it
timing          how patient it is
pulse           status updates on a clock, and whether the server still lives
watch           the look at the publication, and the idle positions that wait for it
progress        when something was last settled, and what others see of that
drain           turns in which nothing new is read
parting         taking leave of Postgres
careful_reader  after repeated deaths: a handful or one record at a time, noted before it is touched

All of it runs on one thread, knows stream, sink and checks as Protocols only, and dies with its line.
"""
