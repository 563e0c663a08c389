"""Rows that are in a table, published again: `replay`, and the backfill before a slot's first change.

selection      which rows
position       how far a run is
table          what the catalog tells of an outbox's table
statements     the SQL that reads a page of it
table_session  the connections that read: short transactions, or one snapshot
cursor         so many rows of a statement as fit in memory
reader         pages of rows, from a position on
pages          the next page, read ahead
page           rows, with their places and identities
stamp          what marks a record as a run's
batches        what is open: the window, and the position before which all is settled
side_lot       the lot as a run may use it: it parks, and takes nothing out
pace           so many rows a second
engine         the loop
journal        cdc_relay.replays
journal_line   its connection, and the locks that say whose a run is
preview        what a run would do
"""
