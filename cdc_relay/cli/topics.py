"""`cdc-relay topics plan` and `apply`: the topics of the YAML, compared with the cluster. Print, ask and exit."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from cdc_relay.admin.topics import Cluster, TopicsPlan, carry_out, find_objections, make_plan
from cdc_relay.admin.topics_plan import Obstacle, Step
from cdc_relay.admin.topics_text import done_lines, plan_document, plan_lines, unmanaged_line
from cdc_relay.admin.topics_wanted import wanted_topics_of
from cdc_relay.cli.options import config_option
from cdc_relay.cli.output import ask, print_json
from cdc_relay.config import load
from cdc_relay.errors import ConfigError, RefusedError

__all__ = ["topics_group"]

_NONE = "the configuration names no topic; list those to look after under topics:"


@click.group("topics")
def topics_group() -> None:
    """Topics as the YAML wants them: see the difference, make it (docs/topics.md)."""


@topics_group.command("plan")
@config_option
@click.option("--json", "as_json", is_flag=True, help="The plan as JSON on stdout, for programs.")
def plan_command(config_path: Path, as_json: bool) -> None:
    """Compare the topics under `topics:` with the cluster, and say what `apply` would do. Changes nothing.

    Exits with 0 when every topic is as wanted, and with 3 when one differs, also where `apply` cannot help. The brokers
    are asked to check each step, so that a refusal is known before. With --json nothing is on stdout unless the
    cluster was read.

    Example: cdc-relay topics plan -c relay.yaml
    """
    cluster, plan = _look(config_path)
    objections = find_objections(cluster, plan)
    if as_json:
        print_json(plan_document([(topic, objections[topic.topic]) for topic in plan.topics], plan.unmanaged))
    else:
        _print(plan, objections)
    if plan.differs:
        sys.exit(RefusedError.exit_code)


@topics_group.command("apply")
@config_option
@click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal to ask on.")
def apply_command(config_path: Path, yes: bool) -> None:
    """Create missing topics, add partitions, and set the properties that differ. Asks first, or takes --yes.

    Nothing is taken away: fewer partitions and another replication factor are said, not attempted, and properties that
    the file does not name stay as they are. Exits with 3 if a topic still differs afterwards; the others are done. It
    can be repeated.

    Example: cdc-relay topics apply -c relay.yaml --yes
    """
    cluster, plan = _look(config_path)
    _print(plan, {})
    if plan.steps:
        ask(f"change {_count_topics(plan)} as shown?", yes=yes)
    refused = [refusal for step, refusal in carry_out(cluster, plan) if not _report(step, refusal)]
    if not plan.steps and plan.topics:
        click.echo("nothing to do")
    if refused or any(topic.obstacles for topic in plan.topics):
        sys.exit(RefusedError.exit_code)


def _look(config_path: Path) -> tuple[Cluster, TopicsPlan]:
    config = load(config_path)
    if config.sink.kafka is None:
        raise ConfigError(f"{config_path}: topics are Kafka's, and the sink is another", remedy="set sink.kafka")
    from cdc_relay.admin.topics_kafka import KafkaTopics  # after the cheap checks: confluent_kafka is slow to import

    cluster = KafkaTopics(config.sink.kafka)
    return cluster, make_plan(cluster, wanted_topics_of(config))


def _print(plan: TopicsPlan, objections: dict[str, list[Obstacle]]) -> None:
    for topic in plan.topics:
        click.echo("\n".join(plan_lines(topic, objections.get(topic.topic, []))))
    for unmanaged in plan.unmanaged:
        click.echo(unmanaged_line(unmanaged))
    if not (plan.topics or plan.unmanaged):
        click.echo(_NONE)


def _report(step: Step, refusal: Obstacle | None) -> bool:
    if refusal is None:
        click.echo("\n".join(done_lines(step)))
    else:
        click.echo(f"cdc-relay: {step.topic}: {refusal.text}\n  what to do: {refusal.remedy}", err=True)
    return refusal is None


def _count_topics(plan: TopicsPlan) -> str:
    count = sum(1 for topic in plan.topics if topic.steps)
    return f"{count} topic{'s'[: count > 1]}"
