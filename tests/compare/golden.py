"""The golden file: per case the table's columns, its rows as the slot sent them, and what Debezium made of each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdc_relay.protocol.messages import Column
from tests.compare.wire import Bytes, Outcome, from_json, spell, to_json, unspell

__all__ = ["GOLDEN_FILE", "GoldenCase", "Values", "load", "save"]

GOLDEN_FILE = Path(__file__).parents[1] / "golden" / "debezium_wire.json"
FIRST_USER_OID = 16384  # types of a database's own have other oids each time

Values = tuple[bytes | None, ...]


@dataclass(frozen=True, slots=True)
class GoldenCase:
    columns: tuple[Column, ...]
    rows: Mapping[str, Values]
    debezium: Mapping[str, Outcome]


def save(version: str, cases: Mapping[str, GoldenCase]) -> None:
    kept = {"debezium": version, "cases": {name: _to_json(case) for name, case in sorted(cases.items())}}
    GOLDEN_FILE.parent.mkdir(exist_ok=True)
    GOLDEN_FILE.write_text(json.dumps(kept, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def load() -> dict[str, GoldenCase]:
    kept = json.loads(GOLDEN_FILE.read_text())
    return {name: _from_json(case) for name, case in kept["cases"].items()}


def _to_json(case: GoldenCase) -> dict[str, Any]:
    return {
        "columns": [[name, min(oid, FIRST_USER_OID), modifier, key] for name, oid, modifier, key in case.columns],
        "rows": {
            name: {"row": [spell(value) for value in row], **to_json(case.debezium[name])}
            for name, row in case.rows.items()
        },
    }


def _from_json(kept: dict[str, Any]) -> GoldenCase:
    rows: dict[str, Any] = kept["rows"]
    return GoldenCase(
        tuple(Column(*column) for column in kept["columns"]),
        {name: _row(row["row"]) for name, row in rows.items()},
        {name: from_json(row) for name, row in rows.items()},
    )


def _row(kept: list[Bytes]) -> Values:
    return tuple(unspell(value) for value in kept)
