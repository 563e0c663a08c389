"""A relay that is started with a password in its file, and the last words of one that was refused."""

from __future__ import annotations

import re
from typing import Any

from tests.fixtures.fix_relay import Pipeline, RelayProcess

__all__ = ["SECRET", "assert_it_delivers", "last_words", "remedy", "start"]

SECRET = "sesame-4711"


def start(pipeline: Pipeline, *arguments: str, dsn: str | None = None, **config: Any) -> RelayProcess:
    """Without waiting for it to get ready; with a password that a trusting server does not ask for."""
    dsn = dsn or pipeline.dsn(password=SECRET)
    return pipeline.start_relay(*arguments, ready=False, dsn=dsn, **config)


def last_words(relay: RelayProcess, *, exit_code: int = 3) -> str:
    assert relay.wait(60) == exit_code
    said = relay.stderr
    assert "Traceback" not in said
    assert SECRET not in said + relay.stdout
    return said


def remedy(said: str) -> str:
    """The SQL that the message tells the operator to run."""
    found = re.search(r"what to do: (BEGIN;.*COMMIT;|ALTER [^;\n]+)", said)
    assert found, said
    return found.group(1)


def assert_it_delivers(pipeline: Pipeline) -> None:
    pipeline.start_relay()
    event_id = pipeline.insert()
    [record] = pipeline.wait_for_records(1)
    assert record.headers() == [("id", event_id.encode())]
