"""What is planned for a topic: only what the file names, only what Kafka can do, and nothing the second time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc_relay.admin.topics import carry_out, find_objections, make_plan
from cdc_relay.admin.topics_plan import (
    Absence,
    AddPartitions,
    AlterProperties,
    CreateTopic,
    PropertyChange,
    TopicFacts,
    TopicPlan,
    plan_topic,
)
from cdc_relay.admin.topics_refusals import explain
from cdc_relay.admin.topics_wanted import WantedTopics
from cdc_relay.config import TopicSettings
from tests.unit.topics_rig import REFUSAL, FakeCluster, settings, there


def test_a_missing_topic_is_created_with_all_that_is_wanted() -> None:
    wanted = settings(12, 3, retention_ms=1)
    plan = plan_topic("a", wanted, Absence.MISSING)
    assert plan == TopicPlan("a", False, steps=(CreateTopic("a", wanted),))


def test_a_topic_that_is_as_wanted_is_left_alone() -> None:
    plan = plan_topic("a", settings(3, 1, retention_ms=1), there(3, 1, retention_ms=1, flush_ms=5))
    assert plan == TopicPlan("a", True)
    assert not plan.differs


def test_what_the_file_does_not_name_is_nobody_s_business() -> None:
    assert not plan_topic("a", settings(), there(7, 2, retention_ms=1)).differs


def test_partitions_are_added() -> None:
    assert plan_topic("a", settings(12), there(3)).steps == (AddPartitions("a", 3, 12),)


def test_only_properties_that_differ_are_altered() -> None:
    plan = plan_topic("a", settings(retention_ms=2, flush_ms=1), there(retention_ms=1, flush_ms=1))
    assert plan.steps == (AlterProperties("a", (PropertyChange("retention.ms", "1", "2"),)),)


def test_a_property_that_the_broker_does_not_know_is_left_to_its_verdict() -> None:
    plan = plan_topic("a", settings(nonsense=1), there())
    assert plan.steps == (AlterProperties("a", (PropertyChange("nonsense", None, "1"),)),)


@pytest.mark.parametrize(
    ("wanted", "actual"),
    [("TRUE", "true"), ("0.50", "0.5"), ("compact, delete", "compact,delete"), ("007", "7"), ("", ""), ("*", "*")],
)
def test_a_value_that_the_broker_prints_its_own_way_is_no_difference(wanted: str, actual: str) -> None:
    assert not plan_topic("a", settings(x=wanted), there(x=actual)).differs


@pytest.mark.parametrize(("wanted", "actual"), [("lz4", "LZ4"), ("1", "10"), ("-1", "1"), ("a,b", "b,a"), ("x", "")])
def test_a_value_that_means_something_else_is_a_difference(wanted: str, actual: str) -> None:
    assert plan_topic("a", settings(x=wanted), there(x=actual)).steps


def test_fewer_partitions_are_said_and_not_attempted() -> None:
    plan = plan_topic("a", settings(3), there(12))
    assert plan.steps == ()
    [obstacle] = plan.obstacles
    assert "it has 12, and 3 are wanted" in obstacle.text
    assert "partitions: 12" in obstacle.remedy


@pytest.mark.parametrize("actual", [frozenset({1}), frozenset({2, 3})])
def test_another_replication_factor_is_said_and_not_attempted(actual: frozenset[int]) -> None:
    plan = plan_topic("a", settings(replication_factor=3), TopicFacts(2, actual, {}))
    assert plan.steps == ()
    [obstacle] = plan.obstacles
    assert "3 is wanted" in obstacle.text
    assert "kafka-reassign-partitions" in obstacle.remedy


def test_a_min_isr_that_the_topic_cannot_reach_waits_for_its_replicas() -> None:
    wanted = settings(1, 3, min_insync_replicas=2, retention_ms=2)
    plan = plan_topic("a", wanted, there(1, 1, min_insync_replicas=1, retention_ms=1))
    assert plan.steps == (AlterProperties("a", (PropertyChange("retention.ms", "1", "2"),)),)
    assert [it.text.partition(":")[0] for it in plan.obstacles] == ["replication_factor", "min.insync.replicas"]


def test_a_topic_that_we_may_not_see_is_neither_created_nor_changed() -> None:
    plan = plan_topic("a", settings(3), Absence.HIDDEN)
    assert (plan.exists, plan.steps, plan.differs) == (None, (), True)
    assert "grant Describe" in plan.obstacles[0].remedy


def test_properties_that_we_may_not_read_keep_partitions_from_nothing() -> None:
    plan = plan_topic("a", settings(3, retention_ms=1), TopicFacts(1, frozenset({1}), None))
    assert plan.steps == (AddPartitions("a", 1, 3),)
    assert "DescribeConfigs" in plan.obstacles[0].remedy


_COUNTS = st.none() | st.integers(1, 5)
_PROPERTIES = st.dictionaries(
    st.sampled_from(["retention.ms", "min.insync.replicas", "cleanup.policy"]),
    st.sampled_from(["1", "2", "a, b", "TRUE"]),
)
_FACTS = st.builds(TopicFacts, st.integers(1, 5), st.frozensets(st.integers(1, 3), min_size=1), st.none() | _PROPERTIES)


@given(st.builds(TopicSettings, _COUNTS, _COUNTS, _PROPERTIES), _FACTS | st.sampled_from(Absence))
def test_after_a_plan_is_carried_out_there_is_nothing_more_to_do(wanted: TopicSettings, facts: TopicFacts) -> None:
    cluster, topics = FakeCluster({"a": facts}), WantedTopics({"a": wanted}, {})
    for _, refusal in carry_out(cluster, make_plan(cluster, topics)):
        assert refusal is None
    assert make_plan(cluster, topics).steps == []


def test_a_refusal_of_one_topic_keeps_no_other_from_being_done() -> None:
    cluster = FakeCluster({}, refuses=["b"])
    wanted = WantedTopics({name: settings(1) for name in "abc"}, {})
    outcomes = list(carry_out(cluster, make_plan(cluster, wanted)))
    assert [(step.topic, refusal) for step, refusal in outcomes] == [("a", None), ("b", REFUSAL), ("c", None)]
    assert sorted(cluster.topics) == ["a", "c"]


def test_a_rehearsal_finds_what_would_be_refused_and_changes_nothing() -> None:
    cluster = FakeCluster({}, refuses=["b"])
    plan = make_plan(cluster, WantedTopics({"a": settings(), "b": settings()}, {}))
    assert find_objections(cluster, plan) == {"a": [], "b": [REFUSAL]}
    assert cluster.topics == {}


def test_topics_that_are_not_managed_are_looked_up_and_left_alone() -> None:
    cluster = FakeCluster({"there": there(), "hidden": Absence.HIDDEN})
    plan = make_plan(cluster, WantedTopics({}, dict.fromkeys(["there", "hidden", "gone"], "a route")))
    assert {it.topic: it.exists for it in plan.unmanaged} == {"there": True, "hidden": None, "gone": False}
    assert (plan.steps, plan.differs) == ([], False)


@pytest.mark.parametrize(
    ("step", "right"),
    [
        (CreateTopic("a", settings()), "Create on topic a, or on the cluster"),
        (AddPartitions("a", 1, 2), "Alter on topic a"),
        (AlterProperties("a", (PropertyChange("x", "1", "2"),)), "AlterConfigs on topic a"),
    ],
)
def test_a_missing_right_is_named(step: CreateTopic | AddPartitions | AlterProperties, right: str) -> None:
    assert right in explain(step, "TOPIC_AUTHORIZATION_FAILED", "no").remedy


def test_no_answer_is_not_taken_for_a_failure() -> None:
    assert "run plan again" in explain(CreateTopic("a", settings()), "_TIMED_OUT", "timed out").remedy


def test_a_policy_of_the_cluster_is_named_as_such() -> None:
    refusal = explain(CreateTopic("a", settings()), "POLICY_VIOLATION", "at least 3 replicas")
    assert refusal.text == "create: refused: at least 3 replicas (POLICY_VIOLATION)"
    assert refusal.remedy.startswith("a policy of the cluster forbids it")


def test_an_unknown_refusal_has_a_remedy_too() -> None:
    assert explain(AddPartitions("a", 1, 2), "SOMETHING_NEW", "why").remedy
