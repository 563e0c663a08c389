"""The numbered SQL scripts: found, and filled in with values. Runs none of them.

The texts in `admin/sql` are the only source: `setup` runs them, `setup --print` shows them, and `sql/` at the top of
the repository has copies for psql, which fills in the same variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files

from psycopg import sql

from cdc_relay.routing.outbox import Outbox
from cdc_relay.sources.preflight import Wanted
from cdc_relay.sources.schema import AT_LOT, AT_SOURCE, SCHEMA_SCRIPTS, grants, lot_grant

__all__ = ["PUBLICATION", "SLOT", "render", "render_all", "render_schema"]

PUBLICATION = "001_publication.sql"
SLOT = "002_slot.sql"

_VARIABLE = re.compile(r":'(\w+)'")  # psql's spelling of "this variable as a literal"
_BY_HAND = re.compile(r"^-- By hand:.*\n", re.MULTILINE)

_HEAD = """\
-- What `cdc-relay setup` does, for psql -f: publication, slot, schema, in this order. It may be run again.
-- As a superuser, or as the owner of the tables with CREATE on the database and REPLICATION.
\\set ON_ERROR_STOP on
SET client_encoding = 'UTF8';
"""
_PARKING_HEAD = """\
-- The lot goes to the database of parking.dsn: psql -v parking='host=... dbname=...' -f THIS_FILE
\\if :{?parking}
\\else
DO $$ BEGIN RAISE EXCEPTION 'say where the lot is: psql -v parking=''host=... dbname=...'' -f FILE'; END $$;
\\endif
"""
_PARKING_CONNECT = """\
\\connect -reuse-previous=off :"parking"
SET client_encoding = 'UTF8';
"""
_TAIL = f"""\
-- Afterwards `cdc-relay run` needs only this role (docs/privileges.md):
--   CREATE ROLE relay LOGIN REPLICATION PASSWORD '...';
--   {grants("relay")};
--   {lot_grant("relay")};
"""


def render(script: str, values: Mapping[str, str]) -> str:
    """The script as plain SQL: each value quoted as Postgres does it, in one pass, so that no value is read again."""
    text = files("cdc_relay.admin").joinpath("sql", script).read_text(encoding="utf-8")
    return _VARIABLE.sub(lambda match: _literal(values[match[1]]), _BY_HAND.sub("", text))


def render_all(wanted: Wanted, *, parks_elsewhere: bool = False, tables: Sequence[str] = ()) -> str:
    """The whole setup as one script. No name appears in a comment: a line break in it would end the comment.

    `tables`: what makes those that are missing, for psql.
    """
    made = (*tables, *render_publication(wanted, wanted.tables), render(SLOT, {"slot": wanted.slot}))
    if not parks_elsewhere:
        return "\n".join((_HEAD, *made, *render_schema(SCHEMA_SCRIPTS), _TAIL))
    lot = (_PARKING_CONNECT, *render_schema(AT_LOT))
    return "\n".join((_HEAD + _PARKING_HEAD, *made, *render_schema(AT_SOURCE), *lot, _TAIL))


def render_schema(versions: Iterable[int]) -> list[str]:
    return [render(SCHEMA_SCRIPTS[version], {}) for version in sorted(versions)]


def render_publication(wanted: Wanted, boxes: Sequence[Outbox]) -> list[str]:
    """Without a table, for messages alone, it is empty."""
    tables = [box.label for box in boxes] or [""]
    return [render(PUBLICATION, {"publication": wanted.publication, "table": table}) for table in tables]


def _literal(value: str) -> str:
    return sql.Literal(value).as_string(None).strip()
