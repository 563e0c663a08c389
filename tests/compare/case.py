"""One setting of Debezium's outbox event router, what we say instead, and rows for both. Data only; starts nothing."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["BINARY", "JSON", "STRING", "Case", "Row"]

Row = Mapping[str, str | None]  # column -> what SQL reads; columns left out have the case's defaults

STRING = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
JSON = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false"}
BINARY = {"value.converter": "io.debezium.converters.BinaryDataConverter"}

_IDS = uuid.UUID("5b0f8c9e-93f1-4a0e-9d0b-0c6f1d6f7a11")
_DEFAULTS = {
    "id": "uuid PRIMARY KEY",
    "aggregatetype": "text",
    "aggregateid": "text",
    "type": "text NOT NULL",
    "payload": "jsonb",
}


@dataclass(frozen=True, slots=True)
class Case:
    name: str  # also the table's, and the aggregate type's
    rows: Mapping[str, Row]
    router: Mapping[str, str] = field(default_factory=dict)  # settings of transforms.outbox
    connector: Mapping[str, str] = field(default_factory=lambda: STRING)  # the connector's own, converters among them
    columns: Mapping[str, str] = field(default_factory=dict)  # SQL types that differ from the defaults, or are more
    mapping: Mapping[str, str] = field(default_factory=dict)  # our outboxes[].columns
    route: Mapping[str, Any] = field(default_factory=dict)  # the keys of our route
    topic: str = ""  # of all rows that have one
    setup: tuple[str, ...] = ()  # SQL before the table
    is_stamped: bool = False  # a column decides the record's timestamp
    is_placed: bool = False  # a column decides the partition

    @property
    def is_json(self) -> bool:
        """Values are JSON documents, and compared by what they mean."""
        return self.connector.get("value.converter") == JSON["value.converter"]

    @property
    def topic_name(self) -> str:
        return self.topic or f"outbox.event.{self.name}"

    @property
    def table_columns(self) -> dict[str, str]:
        return {name: sql for name, sql in {**_DEFAULTS, **self.columns}.items() if sql}

    @property
    def id_column(self) -> str:
        return self.mapping.get("id", "id")

    def event_id(self, row: str) -> str:
        return str(uuid.uuid5(_IDS, f"{self.name}/{row}"))

    def values(self, row: str) -> dict[str, str | None]:
        """What is inserted: the row's own values over the usual ones."""
        usual = {"aggregatetype": self.name, "aggregateid": "order-17", "type": "OrderPlaced"}
        known = {name: value for name, value in usual.items() if name in self.table_columns}
        return {self.id_column: self.event_id(row), **known, **self.rows[row]}

    def outbox_config(self) -> dict[str, Any]:
        """Our side, as the YAML has it."""
        route = {"topic": "outbox.event.{aggregatetype}", **self.route}
        return {"table": f"public.{self.name}", "columns": dict(self.mapping), "routes": [route]}
