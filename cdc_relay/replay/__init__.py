"""Rows that are in a table, published again: `replay`, and the backfill before a slot's first change.

selection   which rows; position, how far a run is
table       what the catalog tells of an outbox's table; statements, the SQL that reads it
reader      pages of rows, from a position on
stamp       what marks a record as a run's
batches     what is open: the window, and the position before which all is settled
side_lot    the lot as a run may use it: it parks, and takes nothing out
crew        what a run works with
engine      the loop
journal     cdc_relay.replays
preview     what a run would do
"""
