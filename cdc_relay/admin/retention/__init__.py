"""What is removed after its time: rows of the outbox tables, resolved records of the lot, months as partitions."""
