"""`make soak`: the hour on servers of its own; exits with 1 where something is lost or does not stay as it was."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import click

from tests.chaos.walk.catalog import all_faults
from tests.chaos.walk.fault import Fault
from tests.chaos.walk.ground import prepared_cluster
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.postgres_install import find_install
from tests.soak.course import Course, SoakGround
from tests.soak.meter import Meter
from tests.soak.verdict import Verdict, calm_p99_by_minute, judge

POSTGRES = 18
NEEDS = {"relay", "lot"}  # its memory is what is looked at, so it lives; and nothing is bad enough for the lot
NEEDS_HISTORY = "topic deleted"
LEAST_MINUTES = 7.0  # the first five are not judged
LOGS = Path(".cache/soak-logs")


def soak_faults() -> list[Fault]:
    return [
        fault
        for fault in all_faults(POSTGRES)
        if not NEEDS & set(fault.victims) and not fault.name.startswith(NEEDS_HISTORY)
    ]


@click.command()
@click.option("--minutes", type=click.FloatRange(LEAST_MINUTES), default=60.0, show_default=True)
@click.option("--rate", default=2000.0, show_default=True, help="Events per second.")
@click.option("--seed", type=int, default=None, help="Makes the same choices again; else one is drawn and printed.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="JSON with all readings.")
def main(minutes: float, rate: float, seed: int | None, out: Path | None) -> None:
    seed = random.SystemRandom().getrandbits(32) if seed is None else seed
    install, jars = find_install(POSTGRES), find_jars()
    if isinstance(install, str) or isinstance(jars, str):
        raise click.ClickException(str(install if isinstance(install, str) else jars))
    print(f"seed {seed}, {rate:g} events/s, {minutes:g} minutes", flush=True)
    with prepared_cluster(jars) as cluster, closing(SoakGround(install, cluster)) as ground:
        ground.begin()
        course = Course(ground, soak_faults(), seed, say=lambda words: print(words, flush=True))
        began_at = time.time()
        with _logs_kept(ground, LOGS), course.under_load(rate) as meter:
            course.run(minutes * 60)
            ended_at = time.time()
        arrivals = list(zip(ground.reader.arrived_at, ground.reader.delay_ms, strict=True))
        book = _book(meter, course, calm_p99_by_minute(arrivals, course.disturbances, began_at=began_at), began_at)
        _save(book, out)  # whatever comes of it
        verdict = judge(
            meter.readings,
            arrivals,
            course.disturbances,
            repeated_at=ground.reader.repeated_at,
            began_at=began_at,
            ended_at=ended_at,
            wanted_rate=rate,
        )
        _save({**book, "verdict": vars(verdict)}, out)
        _say(ground, course, verdict)


@contextmanager
def _logs_kept(ground: SoakGround, directory: Path) -> Iterator[None]:
    """For whoever has to find out why it did not last."""
    try:
        yield
    except BaseException:
        ground.copy_logs(directory)
        print(f"what the relay said is in {directory}", flush=True)
        raise


def _save(book: dict[str, object], out: Path | None) -> None:
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(book, indent=1))


def _book(meter: Meter, course: Course, minutes_p99: dict[int, float], began_at: float) -> dict[str, object]:
    """What tests.soak.plot draws."""
    return {
        "began_at": began_at,
        "readings": [vars(each) for each in meter.readings],
        "disturbances": [vars(each) for each in course.disturbances],
        "p99_ms_by_minute": minutes_p99,
    }


def _say(ground: SoakGround, course: Course, verdict: Verdict) -> None:
    numbers = ground.reader.numbers
    written = sum(writer.count for writer in ground.load)
    print(f"{written:,} events, {numbers.first_count:,} delivered, {numbers.duplicate_count:,} duplicates")
    print(f"{len(course.disturbances)} faults; numbers out of order or missing: {numbers.gaps[:5] or 'none'}")
    print(verdict)
    complaints = [*verdict.complaints, *(["numbers are missing"] if numbers.gaps else [])]
    if written != numbers.first_count:
        complaints.append(f"{written - numbers.first_count} events did not come")
    if complaints:
        raise SystemExit("; ".join(complaints))


if __name__ == "__main__":
    main()
