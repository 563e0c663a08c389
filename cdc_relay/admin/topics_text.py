"""A plan for topics as people read it, and as programs do. Pure: plans in, lines and plain values out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from cdc_relay.admin.topics_plan import (
    AddPartitions,
    AlterProperties,
    CreateTopic,
    Obstacle,
    PropertyChange,
    Step,
    TopicPlan,
    Unmanaged,
)
from cdc_relay.config import TopicSettings
from cdc_relay.config.units import format_duration

__all__ = ["done_lines", "plan_document", "plan_lines", "unmanaged_line"]

_KEYS_MOVE = (
    "most keys go to another partition from then on: consumers may see later records of a key before earlier ones,"
    " unless they have read to the end first"
)
_EXISTENCE = {True: "exists", False: "does not exist", None: "may exist; the principal of sink.kafka may not see it"}


def plan_lines(plan: TopicPlan, objections: Sequence[Obstacle] = ()) -> Iterator[str]:
    """`objections`: what the brokers would refuse of it."""
    yield f"{plan.topic}: {_verdict(plan)}"
    for step in plan.steps:
        yield from (f"  {line}" for line in _step_lines(step))
    for obstacle in plan.obstacles:
        yield from _obstacle_lines("cannot be changed", obstacle)
    for objection in objections:
        yield from _obstacle_lines("would fail", objection)


def done_lines(step: Step) -> Iterator[str]:
    match step:
        case CreateTopic(topic=topic):
            yield f"{topic}: created"
        case AddPartitions(topic=topic):
            yield f"{topic}: {_growth(step)}: done"
        case AlterProperties(topic=topic, changes=changes):
            yield from (f"{topic}: {_change(change)}: done" for change in changes)


def unmanaged_line(topic: Unmanaged) -> str:
    return f"{topic.topic}: not managed here ({topic.named_by} names it, topics: does not): {_EXISTENCE[topic.exists]}"


def plan_document(
    plans: Iterable[tuple[TopicPlan, Sequence[Obstacle]]], unmanaged: Iterable[Unmanaged]
) -> dict[str, object]:
    topics = [_topic_document(plan, objections) for plan, objections in plans]
    return {
        "differs": any(topic["differs"] for topic in topics),
        "topics": topics,
        "not_managed": [{"topic": it.topic, "named_by": it.named_by, "exists": it.exists} for it in unmanaged],
    }


def _verdict(plan: TopicPlan) -> str:
    if any(isinstance(step, CreateTopic) for step in plan.steps):
        return "to be created"
    if plan.steps:
        return "to be changed"
    return "differs" if plan.obstacles else "as wanted"


def _step_lines(step: Step) -> Iterator[str]:
    match step:
        case CreateTopic(settings=settings):
            yield from (f"{name}: {value}" for name, value in _settings(settings))
        case AddPartitions():
            yield _growth(step)
            yield f"  {_KEYS_MOVE}"
        case AlterProperties(changes=changes):
            yield from map(_change, changes)


def _settings(settings: TopicSettings) -> Iterator[tuple[str, str]]:
    yield "partitions", str(settings.partitions or "the broker's num.partitions")
    yield "replication_factor", str(settings.replication_factor or "the broker's default.replication.factor")
    for name, value in sorted(settings.properties.items()):
        yield name, _show(name, value)


def _growth(step: AddPartitions) -> str:
    return f"partitions: {step.before} -> {step.after}"


def _change(change: PropertyChange) -> str:
    before = "unknown here" if change.before is None else _show(change.name, change.before)
    return f"{change.name}: {before} -> {_show(change.name, change.after)}"


def _show(name: str, value: str) -> str:
    """Milliseconds with what they are in words; more than a thousand years mean never."""
    if name.endswith(".ms") and value.isdecimal() and 1000 <= int(value) < 32_000_000_000_000:
        return f"{value} ({format_duration(int(value) / 1000)})"
    return value if value else '""'


def _obstacle_lines(label: str, obstacle: Obstacle) -> Iterator[str]:
    yield f"  {label}: {obstacle.text}"
    yield f"    what to do: {obstacle.remedy}"


def _topic_document(plan: TopicPlan, objections: Sequence[Obstacle]) -> dict[str, object]:
    return {
        "topic": plan.topic,
        "exists": plan.exists,
        "differs": plan.differs,
        "steps": [document for step in plan.steps for document in _step_documents(step)],
        "cannot_be_changed": _obstacle_documents(plan.obstacles),
        "would_fail": _obstacle_documents(objections),
    }


def _step_documents(step: Step) -> Iterator[Mapping[str, object]]:
    match step:
        case CreateTopic(settings=settings):
            yield {
                "step": "create",
                "partitions": settings.partitions,
                "replication_factor": settings.replication_factor,
                "properties": dict(sorted(settings.properties.items())),
            }
        case AddPartitions(before=before, after=after):
            yield {"step": "add_partitions", "before": before, "after": after, "consequence": _KEYS_MOVE}
        case AlterProperties(changes=changes):
            for it in changes:
                yield {"step": "alter_property", "property": it.name, "before": it.before, "after": it.after}


def _obstacle_documents(obstacles: Iterable[Obstacle]) -> list[dict[str, str]]:
    return [{"text": obstacle.text, "remedy": obstacle.remedy} for obstacle in obstacles]
