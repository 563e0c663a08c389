"""cdc-relay: the transactional outbox from a Postgres replication slot to Kafka, losing nothing."""

__all__ = ["__version__"]

__version__ = "0.1.0"
