"""A short walk through faults, always the same one: every kind of victim is hit, some of them together."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from tests.chaos.walk.catalog import all_faults
from tests.chaos.walk.fault import Fault
from tests.chaos.walk.ground import open_ground
from tests.chaos.walk.summary import summarise
from tests.chaos.walk.walk import Walk, choose_steps
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.postgres_install import Install

SEED = 11
STEP_COUNT = 6
LONGEST_SECONDS = 150.0
VICTIMS = {"relay", "brokers", "postgres", "line to Postgres", "lines to Kafka"}


@pytest.fixture
def faults(postgres_install: Install) -> tuple[Fault, ...]:
    return all_faults(postgres_install.version)


def test_the_same_seed_makes_the_same_choices(faults: tuple[Fault, ...]) -> None:
    first, again, other = (
        [str(step) for step in islice(choose_steps(faults, seed), 2 * len(faults))] for seed in (SEED, SEED, SEED + 1)
    )
    assert first == again
    assert first != other


def test_every_fault_leads_before_one_leads_again(faults: tuple[Fault, ...]) -> None:
    leaders = [step.faults[0].name for step in islice(choose_steps(faults, SEED), len(faults))]
    assert sorted(leaders) == sorted(fault.name for fault in faults)


def test_faults_at_once_have_nothing_in_common(faults: tuple[Fault, ...]) -> None:
    for step in islice(choose_steps(faults, SEED), 10 * len(faults)):
        victims = [victim for fault in step.faults for victim in fault.victims]
        assert len(victims) == len(set(victims))
        assert len(step.faults) == 1 or not any(fault.is_lonely for fault in step.faults)


@pytest.mark.real_kafka
@pytest.mark.timeout(600)
def test_a_short_walk_through_faults_finds_nothing(postgres_install: Install, faults: tuple[Fault, ...]) -> None:
    jars = find_jars()
    assert isinstance(jars, Path)  # the mark real_kafka has seen to it
    with open_ground(postgres_install, jars, ordering="strict", seed=SEED) as ground:
        walk = Walk(ground, SEED)
        walk.run(islice(choose_steps(faults, SEED), STEP_COUNT), seconds=LONGEST_SECONDS)
    report = ground.history.report()
    print(summarise(report, walk.struck, faults))
    report.assert_clean()
    assert len(walk.struck) >= STEP_COUNT
    assert {victim for fault in walk.struck for victim in fault.victims} >= VICTIMS
