"""What may be done with a parked record in which state: the whole table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cdc_relay.model import ErrorClass
from cdc_relay.parking.desk_filter import Filter
from cdc_relay.parking.desk_rules import Deed, judge, within_reach
from cdc_relay.parking.entry import Reason, Status
from tests.unit.dlq_rows import make_row

ALLOWED = {
    Deed.RETRY: {Status.DEAD, Status.RETRYING},
    Deed.DISCARD: {Status.DEAD, Status.RETRYING, Status.BEHIND},
    Deed.CANCEL: {Status.SCHEDULED},
    Deed.EDIT: {Status.DEAD, Status.RETRYING, Status.BEHIND, Status.SCHEDULED},
}


@pytest.mark.parametrize("deed", Deed)
@pytest.mark.parametrize("status", Status)
def test_a_deed_is_allowed_in_its_states_and_refused_with_a_remedy_in_the_others(deed: Deed, status: Status) -> None:
    refusal = judge(deed, make_row(status=str(status)))
    assert (refusal is None) == (status in ALLOWED[deed])
    assert refusal is None or (refusal.why and refusal.remedy)


@pytest.mark.parametrize("deed", Deed)
@pytest.mark.parametrize("status", Status)
def test_nothing_is_done_to_a_record_that_is_being_published(deed: Deed, status: Status) -> None:
    assert judge(deed, make_row(status=str(status), is_being_published=True)) is not None


def test_a_record_that_waits_for_its_topic_keeps_its_place() -> None:
    waiting = make_row(status="retrying", reason="topic_closed")
    assert judge(Deed.RETRY, waiting) is not None
    assert judge(Deed.DISCARD, waiting) is None
    assert Reason.TOPIC_CLOSED not in within_reach(Deed.RETRY, Filter()).reasons
    assert within_reach(Deed.DISCARD, Filter()) == Filter()


def test_the_document_for_the_person_on_call_has_every_status_reason_and_class() -> None:
    text = (Path(__file__).parents[2] / "docs" / "parking.md").read_text(encoding="utf-8")
    first_cells = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert first_cells == [str(word) for kind in (Status, Reason, ErrorClass) for word in kind]
