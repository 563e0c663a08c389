"""The outboxes of config/multi-tenant.yaml, filled, and the relay over them: by the default route, and by the example's
routes with the envelope CloudEvents in either mode. The same backlog for all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import yaml

from tests.bench.peers.relay import Relay
from tests.bench.stage import PUBLICATION, Stage
from tests.fixtures.relay_process import COLUMNS

__all__ = ["TenantStage", "make_relays"]

EXAMPLE = Path(__file__).parents[2] / "config" / "multi-tenant.yaml"

# Of ten keys two are of commands and one is audited; the rest are events.
_FILL = """
CREATE PROCEDURE fill(first int, row_count int, per_transaction int, keys int, topics int, types text, spread int,
                      others int) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  FOR start_n IN first .. first + row_count - 1 BY per_transaction LOOP
    INSERT INTO command_outbox (id, aggregatetype, aggregateid, type, payload, tenant_id, correlation_id)
    SELECT gen_random_uuid(), 'command', 'k' || n % keys, 'Pay', jsonb_build_object('n', n, 'at', 1, 'note',
           (SELECT note FROM filler WHERE number = n % spread)), 'k' || n % keys, 'c-' || n
      FROM generate_series(start_n, least(start_n + per_transaction, first + row_count) - 1) s (n) WHERE n % 10 < 2;
    INSERT INTO event_outbox (id, aggregatetype, aggregateid, type, payload, tenant_id, correlation_id)
    SELECT gen_random_uuid(), CASE WHEN n % 10 = 2 THEN 'audit' ELSE 'event' END, 'k' || n % keys, 'Paid',
           jsonb_build_object('n', n, 'at', 1, 'note', (SELECT note FROM filler WHERE number = n % spread)),
           'tenant-' || n % 50, 'c-' || n
      FROM generate_series(start_n, least(start_n + per_transaction, first + row_count) - 1) s (n) WHERE n % 10 >= 2;
    COMMIT;
  END LOOP;
END $$
"""


class TenantStage(Stage):
    _tables = "command_outbox, event_outbox"

    def _create(self, conn: psycopg.Connection[Any]) -> None:
        for table in ("command_outbox", "event_outbox"):
            conn.execute(
                f"CREATE TABLE {table} (id uuid PRIMARY KEY, aggregatetype text NOT NULL, aggregateid text, type text,"
                " payload jsonb, tenant_id text, correlation_id text, scheduled_at timestamptz)"
            )
        tables = "command_outbox, event_outbox"
        conn.execute(f"CREATE PUBLICATION {PUBLICATION} FOR TABLE {tables} WITH (publish = 'insert')")
        conn.execute(_FILL)


def make_relays() -> list[Relay]:
    plain = [{"table": f"public.{name}_outbox", "columns": dict(COLUMNS)} for name in ("command", "event")]
    topics = [f"outbox.event.{name}" for name in ("command", "audit", "event")]
    return [
        Relay("default-route", sections={"outboxes": plain}, topics=topics),
        _make_example("tenant-routes", mode="binary", version=".v1"),
        _make_example("tenant-structured", mode="structured", version=".v2"),
    ]


def _make_example(name: str, *, mode: str, version: str) -> Relay:
    """With topics of its own, which the example calls `.v1`."""
    example = yaml.safe_load(EXAMPLE.read_text().replace(".v1", version))
    for route in (route for outbox in example["outboxes"] for route in outbox["routes"]):
        route.pop("ordering", None)  # what strict order costs is measured alone
        route["envelope"] = {"cloudevents": mode}
    sections = {"outboxes": example["outboxes"], "parking": example["parking"]}
    return Relay(name, sections=sections, topics=list(example["topics"]))
