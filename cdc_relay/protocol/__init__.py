"""The replication protocol without I/O: bytes in, messages out. Imports nothing but the standard library and errors.

lsn       positions in the WAL as plain ints
wire      the frames of the copy-both stream, and our answers
messages  what pgoutput can say
pgoutput  bytes -> messages (protocol 1 and 2); cursor and rows are its tools
"""
