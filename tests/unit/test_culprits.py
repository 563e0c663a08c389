"""What topics are known to refuse: from their configuration, or from what they refused before."""

from __future__ import annotations

from cdc_relay.delivery.failures import judge
from cdc_relay.sinks.sink import TopicLimits
from tests.unit.dispatch_rig import Rig

NEEDS_KEY = {"calm": TopicLimits(needs_key=True)}


def test_what_a_topic_s_configuration_refuses_travels_alone_from_the_start() -> None:
    rig = Rig()
    rig.sink.limits = {"calm": TopicLimits(needs_key=True, batch_bytes=10_000)}
    rig.write(("calm", "k"))
    rig.run(0.1)
    rig.write(("calm", "k"), ("calm", None))
    rig.run(0.1)
    assert [record.key for record in rig.sink.alone] == [None]


def test_a_topic_without_such_limits_takes_all_together() -> None:
    rig = Rig()
    rig.sink.limits = {"calm": TopicLimits(batch_bytes=1_000_000)}
    rig.write(("calm", "k"))
    rig.run(0.1)
    rig.write(("calm", "k"), ("calm", None))
    rig.run(0.1)
    assert rig.sink.alone == []


def test_records_of_a_topic_that_refuses_for_no_visible_reason_travel_alone_until_one_is_delivered() -> None:
    rig = Rig()
    rig.sink.verdict = lambda record: judge("INVALID_TIMESTAMP", "too old", was_alone=bool(rig.sink.alone))
    rig.sink.eager = True
    rig.write(("calm", "a"))
    rig.run(1)
    rig.sink.verdict = lambda record: None
    rig.write(("calm", "b"))
    rig.run(1)
    rig.write(("calm", "c"))
    rig.run(1)
    assert [record.key for record in rig.sink.alone] == [b"a", b"b"]


def test_limits_that_were_known_before_the_stream_hold_for_its_first_record() -> None:
    rig = Rig()
    rig.sink.fixed_limits = NEEDS_KEY
    rig.restart()
    rig.write(("calm", None), ("calm", "k"))
    rig.run(0.1)
    assert [record.key for record in rig.sink.alone] == [None]


def test_a_culprit_that_the_limits_explain_teaches_nothing_about_the_others() -> None:
    rig = Rig()
    rig.sink.fixed_limits = NEEDS_KEY
    rig.restart()
    rig.sink.verdict = lambda record: judge("INVALID_RECORD", "no key", was_alone=True) if record.key is None else None
    rig.sink.eager = True
    rig.write(("calm", None), ("calm", "k"))
    rig.run(0.1)
    assert rig.statuses() == ["dead failure"]
    assert not rig.dispatch._culprits.knows("calm")
