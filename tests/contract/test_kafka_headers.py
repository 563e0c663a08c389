"""Headers of records that follow one another: the compiled producer writes them over those that were delivered."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from cdc_relay.model import Headers, Record
from cdc_relay.sinks.client_producer import ClientProducer
from cdc_relay.sinks.kafka import KafkaSink
from tests.contract.sinks import KafkaBench, collect, record, ticket

if TYPE_CHECKING:
    from cdc_relay.native.producer import Producer as NativeProducer

NAMES = ("id", "ce_id", "ce_type", "ce_source", "käse", "")
FORM_COUNT = 300  # more than are kept at a time
USUAL = [("ce_id", 36), ("ce_type", 5), ("none", -1), ("empty", 0), ("ce_time", 27)]  # such are used again


def make_form(chance: random.Random) -> list[tuple[str, int]]:
    """Names and sizes of values; -1 is no value."""
    sizes = (-1, 0, 1, 36, 36, 36, 36, 3_000)
    count = chance.choice((0, 1, 3, 4, 9, 9, 16, 17))
    return [(chance.choice(NAMES), chance.choice(sizes)) for _ in range(count)]


def fill(form: Sequence[tuple[str, int]], chance: random.Random) -> Headers:
    """The names are other objects each time, as those of a column are."""
    return [("".join(list(name)), None if size < 0 else chance.randbytes(size)) for name, size in form]


def publish(sink: KafkaSink, records: Sequence[Record]) -> None:
    for each in records:
        sink.publish(each, ticket(each))
    assert len(collect(sink, len(records)).delivered) == len(records)


def arrived(bench: KafkaBench, topic: str, count: int) -> dict[bytes | None, Headers]:
    return {each.key: each.headers for each in bench.read(topic, count)}


def test_every_record_has_its_own_headers_whatever_was_there_before(brokers: KafkaBench) -> None:
    sink, topic, chance = brokers.make_sink(), brokers.make_topic(), random.Random(4711)
    forms = [make_form(chance) for _ in range(FORM_COUNT)]
    sent: dict[bytes | None, Headers] = {}
    for number in range(4):
        records = [
            record(topic, b"%d-%d" % (number, place), headers=fill(form, chance)) for place, form in enumerate(forms)
        ]
        publish(sink, records)
        sent |= {each.key: each.headers for each in records}
    assert arrived(brokers, topic, len(sent)) == sent


def test_headers_of_records_that_are_out_stay_what_they_are(brokers: KafkaBench) -> None:
    """One of a form is delivered, and while a thousand are out another thousand of that form goes out."""
    sink, topic, chance = brokers.make_sink(), brokers.make_topic(), random.Random(4711)
    publish(sink, [record(topic, b"first", headers=fill(USUAL, chance))])
    records = [record(topic, b"%d" % number, headers=fill(USUAL, chance)) for number in range(2_000)]
    for each in records[:1_000]:
        sink.publish(each, ticket(each))
    delivered = len(sink.poll(0).delivered)
    assert delivered < 1_000, "none was out, so nothing was shown"
    for each in records[1_000:]:
        sink.publish(each, ticket(each))
    collect(sink, len(records) - delivered)
    found = arrived(brokers, topic, 2_001)
    assert [found[each.key] for each in records] == [each.headers for each in records]


def test_headers_that_went_with_a_record_that_was_taken_back_are_not_used_again(brokers: KafkaBench) -> None:
    sink, topic, chance = brokers.make_sink(), brokers.make_topic(), random.Random(4711)
    records = [record(topic, b"%d" % number, headers=fill(USUAL, chance)) for number in range(200)]
    publish(sink, records[:100])
    for each in records[100:]:
        sink.publish(each, ticket(each))
    purged = [given for _, given in sink.empty().purged]
    assert purged, "all were delivered, so nothing was shown"
    publish(sink, purged)
    found = arrived(brokers, topic, 200)  # what was on its way may be there twice
    assert found == {each.key: each.headers for each in records}


def test_a_change_of_all_forms_finds_room(brokers: KafkaBench) -> None:
    """More than are kept, of one form, and then of another, until those of the first are given up."""
    sink, chance = brokers.make_sink(), random.Random(4711)
    for size, count in ((500, 12_000), (501, 25_000), (501, 1_000)):
        form = [(name, size) for name in NAMES[:4]]
        topic, used = brokers.make_topic(), used_count(sink)
        records = [record(topic, b"%d" % at, headers=fill(form, chance)) for at in range(count)]
        publish(sink, records)
    is_clients = isinstance(sink._main.producer, ClientProducer)
    assert used_count(sink) == used + (0 if is_clients else 1_000)
    assert arrived(brokers, topic, 1_000) == {each.key: each.headers for each in records}


def used_count(sink: KafkaSink) -> int:
    """How often headers were used that are kept. The client keeps none."""
    producer = sink._main.producer
    return 0 if isinstance(producer, ClientProducer) else cast("NativeProducer", producer).header_counts[1]
