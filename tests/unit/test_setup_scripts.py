"""The numbered scripts: one text for setup, for --print and for psql by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cdc_relay.admin.scripts import PUBLICATION, SLOT, render, render_all
from cdc_relay.routing.router import Outbox
from cdc_relay.sources.preflight import Wanted
from cdc_relay.sources.schema import SCHEMA_SCRIPTS

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "cdc_relay" / "admin" / "sql"
FOR_HANDS = ROOT / "sql"


def outbox(label: str) -> Outbox:
    return Outbox("public", "outbox", label, "id", "aggregateid", "type", "payload")


def wanted(*labels: str, publication: str = "orders") -> Wanted:
    return Wanted("orders_slot", publication, tuple(outbox(label) for label in labels))


def test_sql_folder_and_package_have_the_same_scripts() -> None:
    shipped = {path.name: path.read_text(encoding="utf-8") for path in SHIPPED.glob("*.sql")}
    assert {path.name: path.read_text(encoding="utf-8") for path in FOR_HANDS.iterdir()} == shipped


def test_every_script_after_the_example_is_run_by_setup() -> None:
    numbered = {path.name for path in SHIPPED.glob("*.sql")} - {"000_outbox_table.sql"}
    assert numbered == {PUBLICATION, SLOT, *SCHEMA_SCRIPTS.values()}


def test_schema_scripts_leave_their_own_number() -> None:
    for version, script in SCHEMA_SCRIPTS.items():
        assert script.startswith(f"{version:03}_")
        assert f"schema_version (version) VALUES ({version}) ON CONFLICT DO NOTHING" in render(script, {})


def test_every_script_says_how_to_run_it_by_hand() -> None:
    for path in FOR_HANDS.iterdir():
        text = path.read_text(encoding="utf-8")
        variables = set(re.findall(r"(?<!:):['\"]?([a-z]+)\b", text))
        [usage] = re.findall(r"^-- By hand: psql (.*)-f sql/(.*)$", text, re.MULTILINE)
        assert set(re.findall(r"-v (\w+)=", usage[0])) == variables
        assert usage[1] == path.name


def test_printed_script_has_no_variable_left_and_no_usage() -> None:
    script = render_all(wanted("public.outbox", "public.commands"))
    assert not re.search(r":'\w+'", script)
    assert "By hand" not in script


def test_printed_script_makes_publication_then_slot_then_schema() -> None:
    script = render_all(wanted("public.outbox", "public.commands"))
    places = [script.index(f"= '{table}'") for table in ("public.outbox", "public.commands")]
    places += [script.index("SELECT pg_create_logical_replication_slot("), script.index("CREATE SCHEMA")]
    assert places == sorted(places)


def test_the_lot_s_tables_are_printed_for_where_it_is() -> None:
    here, elsewhere = render_all(wanted("public.outbox")), render_all(wanted("public.outbox"), parks_elsewhere=True)
    assert "\\connect" not in here
    asked = ("pg_create_logical", "EXISTS cdc_relay.guard", "\\connect", "EXISTS cdc_relay.parked_records")
    places = [elsewhere.index(each) for each in asked]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "name", ["it's", 'a"b', "back\\slash", "x'; DROP TABLE y; --", "new\nline", ":'slot'", "$setup$"]
)
def test_a_name_is_one_literal_and_in_no_comment(name: str) -> None:
    script = render_all(wanted("public.outbox", publication=name))
    assert without_literals(script) == without_literals(render_all(wanted("public.outbox")))


def without_literals(script: str) -> str:
    return re.sub(r"E?'(?:[^'\\]|''|\\.)*'", "?", script, flags=re.DOTALL)
