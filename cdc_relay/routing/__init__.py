"""PURE: from a row to the record that the consumer expects."""
