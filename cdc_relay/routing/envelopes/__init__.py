"""PURE: what a record looks like to its consumer: debezium, native, cloudevents and raw."""
