"""The numbered SQL scripts: found, and filled in with values. Runs none of them.

The texts in `admin/sql` are the only source: `setup` runs them, `setup --print` shows them, and `sql/` at the top of
the repository has copies for psql, which fills in the same variables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files

from psycopg import sql

from cdc_relay.routing.outbox import Outbox
from cdc_relay.sources.preflight import Wanted

__all__ = ["PUBLICATION", "SCHEMA_SCRIPTS", "SLOT", "render", "render_all"]

PUBLICATION = "001_publication.sql"
SLOT = "002_slot.sql"
SCHEMA_SCRIPTS = {
    3: "003_schema.sql",
    4: "004_parking.sql",
}  # by the number that each leaves in cdc_relay.schema_version

_VARIABLE = re.compile(r":'(\w+)'")  # psql's spelling of "this variable as a literal"
_BY_HAND = re.compile(r"^-- By hand:.*\n", re.MULTILINE)

_HEAD = """\
-- What `cdc-relay setup` does, for psql -f: publication, slot, schema, in this order. It may be run again.
-- As a superuser, or as the owner of the tables with CREATE on the database and REPLICATION.
\\set ON_ERROR_STOP on
SET client_encoding = 'UTF8';
"""
_PARKING_HEAD = """\
-- The schema goes to the database of parking.dsn: psql -v parking='host=... dbname=...' -f THIS_FILE
\\if :{?parking}
\\else
DO $$ BEGIN RAISE EXCEPTION 'say where the lot is: psql -v parking=''host=... dbname=...'' -f FILE'; END $$;
\\endif
"""
_PARKING_CONNECT = """\
\\connect -reuse-previous=off :"parking"
SET client_encoding = 'UTF8';
"""
_TAIL = """\
-- Afterwards `cdc-relay run` needs only this role (docs/privileges.md):
--   CREATE ROLE relay LOGIN REPLICATION PASSWORD '...';
--   GRANT USAGE ON SCHEMA cdc_relay TO relay;
--   GRANT SELECT ON cdc_relay.schema_version TO relay;
--   GRANT SELECT, INSERT, UPDATE ON cdc_relay.parked_records, cdc_relay.runs TO relay;
"""


def render(script: str, values: Mapping[str, str]) -> str:
    """The script as plain SQL: each value quoted as Postgres does it, in one pass, so that no value is read again."""
    text = files("cdc_relay.admin").joinpath("sql", script).read_text(encoding="utf-8")
    return _VARIABLE.sub(lambda match: _literal(values[match[1]]), _BY_HAND.sub("", text))


def render_all(wanted: Wanted, *, parks_elsewhere: bool = False) -> str:
    """The whole setup as one script. No name appears in a comment: a line break in it would end the comment."""
    head, connect = (_HEAD + _PARKING_HEAD, (_PARKING_CONNECT,)) if parks_elsewhere else (_HEAD, ())
    publications = render_publication(wanted, wanted.tables)
    schema = (render(script, {}) for script in SCHEMA_SCRIPTS.values())
    return "\n".join((head, *publications, render(SLOT, {"slot": wanted.slot}), *connect, *schema, _TAIL))


def render_publication(wanted: Wanted, boxes: Sequence[Outbox]) -> list[str]:
    """Without a table, for messages alone, it is empty."""
    tables = [box.label for box in boxes] or [""]
    return [render(PUBLICATION, {"publication": wanted.publication, "table": table}) for table in tables]


def _literal(value: str) -> str:
    return sql.Literal(value).as_string(None).strip()
