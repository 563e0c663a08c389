"""Where changes come from: a replication slot, and what the relay asks of Postgres while it runs."""
