"""`cdc-relay topics`: reads what there is, plans the difference, has it rehearsed or carried out. Prints nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from cdc_relay.admin.topics_plan import Absence, Facts, Obstacle, Step, TopicPlan, Unmanaged, plan_topic
from cdc_relay.admin.topics_wanted import WantedTopics

__all__ = ["Cluster", "TopicsPlan", "carry_out", "find_objections", "make_plan"]


class Cluster(Protocol):
    def read(self, topics: Sequence[str]) -> dict[str, Facts]: ...
    def carry_out(self, steps: Sequence[Step], *, rehearse: bool = False) -> list[Obstacle | None]: ...


@dataclass(frozen=True, slots=True)
class TopicsPlan:
    topics: tuple[TopicPlan, ...]
    unmanaged: tuple[Unmanaged, ...]

    @property
    def differs(self) -> bool:
        return any(topic.differs for topic in self.topics)

    @property
    def steps(self) -> list[Step]:
        return [step for topic in self.topics for step in topic.steps]


def make_plan(cluster: Cluster, wanted: WantedTopics) -> TopicsPlan:
    facts = cluster.read(wanted.names)
    return TopicsPlan(
        topics=tuple(plan_topic(name, settings, facts[name]) for name, settings in wanted.managed.items()),
        unmanaged=tuple(Unmanaged(name, by, _exists(facts[name])) for name, by in wanted.unmanaged.items()),
    )


def find_objections(cluster: Cluster, plan: TopicsPlan) -> dict[str, list[Obstacle]]:
    """By topic: what the brokers would refuse if the plan were carried out by us, now."""
    objections: dict[str, list[Obstacle]] = {topic.topic: [] for topic in plan.topics}
    steps = plan.steps
    for step, objection in zip(steps, cluster.carry_out(steps, rehearse=True), strict=True):
        if objection is not None:
            objections[step.topic].append(objection)
    return objections


def carry_out(cluster: Cluster, plan: TopicsPlan) -> Iterator[tuple[Step, Obstacle | None]]:
    """Topic by topic, as it is iterated; a refusal of one keeps no other from being done."""
    for step in plan.steps:
        [refusal] = cluster.carry_out([step])
        yield step, refusal


def _exists(facts: Facts) -> bool | None:
    return None if facts is Absence.HIDDEN else facts is not Absence.MISSING
