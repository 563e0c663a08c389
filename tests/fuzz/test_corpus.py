"""What the fuzzer kept, and all that it ever found, through every target again: seconds, and no fuzzer needed."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.corpus import CORPUS, kept, read_folder
from tests.fuzz.target import NAMES, load

MOST_BYTES, MOST_FILES = 1 << 20, 1000
# One place for each target whose loss it must notice: there an error is raised that is none of ours.
PLANTED = {
    "pgoutput": "cdc_relay.protocol.cursor.Cursor.uint16",
    "wire": "cdc_relay.protocol.wire._wrong_length",
    "copy_data": "cdc_relay.sources.copy_data.PsycopgCopyData.read",
    "intake": "cdc_relay.delivery.intake.make_ticket",
    "config": "cdc_relay.config.loader.validate",
    "templates": "cdc_relay.routing.templates.Template.spell",
    "envelopes": "cdc_relay.routing.envelopes.attributes.rfc3339",
    "messages": "cdc_relay.routing.message_plan.scan_object",
    "json_text": "cdc_relay.routing.json_text._members",
    "dlq_document": "cdc_relay.parking.desk_document._named",
    "dlq_lines": "cdc_relay.parking.desk_lines.check_named",
}


@pytest.mark.parametrize("name", NAMES)
def test_every_kept_input_is_accepted_or_refused_with_our_error(name: str) -> None:
    check = load(name).check
    for file, data in kept(name):
        try:
            check(data)
        except Exception as exc:
            raise AssertionError(f"{file.parent.name}/{file.name}: {exc!r}") from exc


@pytest.mark.parametrize("name", NAMES)
def test_so_are_the_seeds(name: str) -> None:
    target = load(name)
    for data in target.seeds():
        target.check(data)


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.binary(max_size=200))
def test_so_are_any_bytes(name: str, data: bytes) -> None:
    load(name).check(data)


@pytest.mark.parametrize("name", NAMES)
def test_the_kept_inputs_notice_an_error_that_is_not_ours(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    target = load(name)
    monkeypatch.setattr(PLANTED[name], fail)
    with pytest.raises((ZeroDivisionError, AssertionError)):
        for _, data in read_folder(CORPUS / name):
            target.check(data)


def test_the_corpus_stays_small() -> None:
    sizes = {name: [len(data) for _, data in read_folder(CORPUS / name)] for name in NAMES}
    assert [name for name, of_target in sizes.items() if not of_target] == []
    assert sum(map(sum, sizes.values())) < MOST_BYTES
    assert sum(map(len, sizes.values())) < MOST_FILES
