"""The relay beside a real Debezium, over one corpus of rows: what each puts on the wire."""
