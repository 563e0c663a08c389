"""`cdc-relay route` as an operator sees it, without a server: rows of the command line, and what Postgres may say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cdc_relay.cli import cli
from cdc_relay.errors import RelayError, SourceError
from cdc_relay.sources.line import Line, QueryError

_FILE = """\
source: {dsn: 'postgresql://relay@127.0.0.1:1/orders', slot: s, publication: p}
sink: log
outboxes:
  - table: sales.outbox
    routes:
      - {when: {aggregatetype: [audit, "test*"]}, drop: true}
      - {when: {payload.tier: {not: gold}}, topic: 'orders.{aggregatetype}'}
"""
_ROW = {"id": "1", "aggregatetype": "order", "aggregateid": "a7", "type": "T", "payload": {"tier": "new"}}
_Command = Callable[..., Result]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "relay.yaml"
    path.write_text(_FILE)
    return path


@pytest.fixture
def run(file: Path) -> _Command:
    return lambda *arguments: CliRunner().invoke(cli, ["route", "-c", str(file), *arguments])


def _ended(result: Result) -> tuple[int, str]:
    """As main() would: the exit code, and what is on stderr."""
    if isinstance(result.exception, RelayError):
        return result.exception.exit_code, str(result.exception)
    return result.exit_code, result.stderr


def _row(**changes: object) -> str:
    return json.dumps(_ROW | changes)


def test_a_row_is_shown_with_its_route_and_what_did_not_hold_before(run: _Command) -> None:
    lines = run("--row", _row()).stdout.splitlines()
    assert lines[:6] == [
        "sales.outbox, id 1",
        '  not drop: aggregatetype is order, wanted ["audit", "test*"]',
        "  route orders.{aggregatetype}",
        "  topic      orders.order",
        "  partition  left to the partitioner",
        "  key        a7",
    ]


def test_a_row_without_a_route_is_no_error_of_the_command(run: _Command) -> None:
    result = run("--row", _row(payload={"tier": "gold"}))
    assert result.exit_code == 0
    assert 'payload.tier is gold, wanted {"not": "gold"}' in result.stdout
    assert "parked: no route of sales.outbox matches the row" in result.stdout


def test_what_a_row_holds_cannot_move_the_cursor(run: _Command) -> None:
    assert "\x1b" not in run("--row", _row(id="\x1b[2J", aggregateid="\x1b[2J")).stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "exactly one of --row, --id and --last"),
        (("--row", "{}", "--last", "1"), "exactly one of --row, --id and --last"),
        (("--last", "0"), "--last"),
        (("--last", "-1"), "--last"),
        (("--last", "many"), "--last"),
        (("--id", "\udcff"), "this is not UTF-8"),
        (("--row", ""), "--row is no JSON object"),
        (("--row", '{"id": '), "--row is no JSON object"),
        (("--row", "[1]"), "--row is no JSON object"),
        (("--row", '{"id": "\\ud800"}'), "--row is no JSON object"),
        (("--row", "{}"), "needs: id, aggregateid, type, payload, aggregatetype\n  what to do: give each"),
        (("--row", "{}", "--outbox", "else"), "the file has no outbox else; give --outbox: one of sales.outbox"),
    ],
)
def test_what_makes_no_sense_ends_with_2_and_says_what_would(
    run: _Command, arguments: tuple[str, ...], words: str
) -> None:
    code, said = _ended(run(*arguments))
    assert (code, words in said) == (2, True), said


def test_a_misspelt_column_is_named_beside_the_one_that_is_missing(run: _Command) -> None:
    row = {("agregateid" if name == "aggregateid" else name): value for name, value in _ROW.items()}
    _, said = _ended(run("--row", json.dumps(row)))
    assert "needs: aggregateid; nothing asks for its agregateid\n" in said


def test_a_file_that_is_not_there_ends_with_2(run: _Command, file: Path) -> None:
    file.unlink()
    code, said = _ended(run("--last", "1"))
    assert code == 2
    assert "relay.yaml: cannot read the configuration file: No such file or directory\n  what to do: name a" in said


def test_a_server_that_is_away_ends_with_3(run: _Command) -> None:
    code, said = _ended(run("--last", "1"))
    assert code == 3
    assert "Postgres is not reachable" in said
    assert "what to do: check host, port and network of source.dsn" in said


@pytest.mark.parametrize("arguments", [("--id", "1"), ("--last", "1")])
def test_messages_are_in_no_table(run: _Command, file: Path, arguments: tuple[str, ...]) -> None:
    file.write_text(_FILE.partition("  - table")[0] + "  - message_prefix: orders\n")
    code, said = _ended(run(*arguments))
    assert code == 2
    assert "message prefix orders: messages are in the WAL only, not in a table\n  what to do: give a row with" in said
    assert run("--row", "nonsense").stdout.startswith("message prefix orders\n  parked: the content of")


def test_a_name_that_two_outboxes_have_is_refused(run: _Command, file: Path) -> None:
    file.write_text(_FILE + "  - table: public.outbox\n  - message_prefix: outbox\n")
    code, said = _ended(run("--row", _row(), "--outbox", "outbox"))
    assert (code, "one of 'sales.outbox', 'public.outbox', 'message prefix outbox'" in said) == (2, True)
    assert run("--row", _row(), "--outbox", "public.outbox").stdout.startswith("public.outbox, id 1\n")
    assert run("--row", _row(), "--outbox", "message prefix outbox").stdout.startswith("message prefix outbox\n")


class _Silent:
    """A line whose every query fails."""

    server_encoding = "UTF8"

    def __init__(self, failure: SourceError) -> None:
        self._failure = failure

    def query(self, *_: object) -> None:
        raise self._failure

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("failure", "code", "remedy"),
    [
        (QueryError("permission denied for table outbox", "42501"), 3, "give the role of source.dsn SELECT"),
        (QueryError('relation "sales.outbox" does not exist', "42P01"), 3, "correct outboxes[].table"),
        (QueryError('column "id" does not exist', "42703"), 3, "correct outboxes[].columns"),
        (QueryError("invalid input syntax for type uuid", "22P02"), 2, "give it as column id has it"),
        (SourceError("Postgres did not answer in time"), 3, "try again"),
    ],
)
def test_what_postgres_refuses_comes_with_what_to_do(
    run: _Command, monkeypatch: pytest.MonkeyPatch, failure: SourceError, code: int, remedy: str
) -> None:
    monkeypatch.setattr(Line, "open", lambda conninfo: _Silent(failure))
    ended, said = _ended(run("--id", "x"))
    assert (ended, failure.message in said, f"what to do: {remedy}" in said) == (code, True, True), said
