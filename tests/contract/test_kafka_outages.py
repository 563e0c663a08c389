"""A Kafka that is away, and a producer that is broken for good."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError

from cdc_relay.errors import AwayError, SinkError
from cdc_relay.sinks import probes
from cdc_relay.sinks.kafka import KafkaSink
from cdc_relay.sinks.sink import Slip
from tests.contract.librdkafka import break_for_good
from tests.contract.sinks import KafkaBench, collect, record, ticket
from tests.fixtures.fix_proxy import MakeProxy
from tests.fixtures.scratch import free_port

# --- away


@pytest.fixture
def nowhere() -> Iterator[KafkaSink]:
    sink = KafkaSink({"bootstrap.servers": f"127.0.0.1:{free_port()}"})
    yield sink
    sink.close()


def poll_until_error(sink: KafkaSink, text: str = "") -> str:
    deadline = time.monotonic() + 30
    while not (sink.error and text in sink.error) and time.monotonic() < deadline:
        assert sink.poll(0.05) == ([], [])
    return sink.error


def test_a_broker_that_is_away_fails_the_probe_within_its_time(
    nowhere: KafkaSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "_PROBE_SECONDS", 0.5)
    started = time.monotonic()
    with pytest.raises(AwayError, match="Kafka does not answer") as raised:
        nowhere.probe()
    assert time.monotonic() - started < 5
    assert "bootstrap.servers" in raised.value.remedy


def test_the_cause_of_an_outage_is_known_after_some_polls(nowhere: KafkaSink) -> None:
    assert "Connection refused" in poll_until_error(nowhere, "refused")


def test_a_summary_does_not_take_the_place_of_the_cause(nowhere: KafkaSink) -> None:
    """librdkafka says "1/1 brokers are down" after each round of failures."""
    poll_until_error(nowhere, "refused")
    nowhere._main._on_error(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    assert "Connection refused" in nowhere.error


def test_an_outage_fails_no_record_and_a_reset_during_it_is_quick(nowhere: KafkaSink) -> None:
    for _ in range(100):
        nowhere.publish(record("anything"), ticket())
    poll_until_error(nowhere)
    assert nowhere.flush(0.5) == ([], [])
    started = time.monotonic()
    nowhere.reset()
    assert time.monotonic() - started < 5
    assert nowhere.flush(0.2) == ([], [])


def test_everything_is_taken_back_during_an_outage(nowhere: KafkaSink) -> None:
    tickets = [ticket() for _ in range(100)]
    for number, each in enumerate(tickets):
        (nowhere.publish if number % 2 else nowhere.publish_alone)(record("anything"), each)
    poll_until_error(nowhere)
    reports, purged = nowhere.empty()
    assert reports == ([], [])
    assert [slip for slip, _ in purged] == tickets


def test_a_topic_is_not_judged_while_the_cluster_is_away(nowhere: KafkaSink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "_PROBE_SECONDS", 0.5)
    with pytest.raises(AwayError, match="Kafka does not answer"):
        nowhere.probe_topic("anything")


def test_a_complaint_is_forgotten_with_the_next_delivery(brokers: KafkaBench, make_proxy: MakeProxy) -> None:
    """Only the first contact goes through the proxy: then the brokers' own addresses are known."""
    host, _, port = brokers.kafka.bootstrap.split(",")[0].partition(":")
    proxy = make_proxy(host, int(port))
    proxy.refuse()
    sink, topic = KafkaSink({"bootstrap.servers": proxy.address}), brokers.make_topic()
    given = ticket()
    sink.publish(record(topic), given)
    assert poll_until_error(sink)
    proxy.accept()
    assert collect(sink, 1).delivered == [given]
    assert sink.error == ""
    sink.close()


def test_the_probe_may_run_beside_the_loop(brokers: KafkaBench) -> None:
    sink, topic = brokers.make_sink(), brokers.make_topic()
    errors: list[BaseException] = []

    def probe() -> None:
        try:
            for _ in range(20):
                sink.probe()
        except BaseException as exc:  # noqa: BLE001 - whatever it is, the test fails with it
            errors.append(exc)

    thread = threading.Thread(target=probe)
    thread.start()
    published: list[Slip] = []
    delivered: list[Slip] = []
    while thread.is_alive():
        published.append(ticket())
        sink.publish(record(topic), published[-1])
        delivered += sink.flush(0.01).delivered
    delivered += collect(sink, len(published) - len(delivered)).delivered
    assert errors == []
    assert sorted(delivered, key=lambda each: each.position) == published


# --- a producer that is broken for good


def test_a_fatal_error_comes_out_of_a_poll(brokers: KafkaBench) -> None:
    sink = brokers.make_sink()
    break_for_good(sink)
    with pytest.raises(SinkError, match="planted"):
        sink.poll(1)


def test_a_fatal_error_comes_out_of_a_publish(brokers: KafkaBench) -> None:
    sink, topic = brokers.make_sink(), brokers.make_topic()
    break_for_good(sink)
    with pytest.raises(SinkError, match=r"planted|Fatal error"):  # the client tells less
        sink.publish(record(topic), ticket())


@pytest.mark.parametrize("seen_by", ["nobody", "poll", "flush", "publish", "poll and publish"])
def test_a_fatally_broken_producer_is_replaced_by_reset(brokers: KafkaBench, seen_by: str) -> None:
    sink, topic = brokers.make_sink(), brokers.make_topic()
    before, after = ticket(), ticket()
    sink.publish(record(topic, value=b"before"), before)
    assert collect(sink, 1).delivered == [before]
    sink.publish(record(topic, value=b"open"), ticket())
    break_for_good(sink)
    if "poll" in seen_by:
        with pytest.raises(SinkError):
            sink.poll(1)
    if "flush" in seen_by:
        with pytest.raises(SinkError):
            sink.flush(1)
    if "publish" in seen_by:
        with pytest.raises(SinkError):
            sink.publish(record(topic), ticket())
    sink.reset()
    sink.publish(record(topic, value=b"after"), after)
    assert collect(sink, 1) == ([after], [])
    assert {b"before", b"after"} <= {each.value for each in brokers.read(topic, 2)} | {b"open"}


def test_a_fatally_broken_producer_cannot_be_emptied_and_is_replaced_by_reset(brokers: KafkaBench) -> None:
    sink, topic = brokers.make_sink(), brokers.make_topic()
    sink.publish(record(topic), ticket())
    break_for_good(sink)
    with pytest.raises(SinkError, match="the Kafka producer broke"):
        sink.empty()
    sink.reset()
    given = ticket()
    sink.publish(record(topic), given)
    assert collect(sink, 1) == ([given], [])


def test_closing_a_fatally_broken_sink_is_quiet(brokers: KafkaBench) -> None:
    sink = KafkaSink({"bootstrap.servers": brokers.kafka.bootstrap})
    break_for_good(sink)
    sink.close()
