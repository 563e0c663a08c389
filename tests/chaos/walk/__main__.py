"""`make chaos SEED=… MINUTES=…`: the walk on servers of its own, as long as wanted, and what came of it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import click

from tests.chaos.walk.catalog import all_faults
from tests.chaos.walk.ground import Ground, open_ground
from tests.chaos.walk.summary import summarise
from tests.chaos.walk.walk import Walk, choose_steps
from tests.fixtures.kafka_jars import find_jars
from tests.fixtures.postgres_install import VERSIONS, find_install


@click.command()
@click.option("--seed", type=int, default=None, help="Makes the same choices again; else one is drawn and printed.")
@click.option("--minutes", default=5.0, show_default=True)
@click.option("--steps", type=int, default=None, help="At most so many.")
@click.option("--pg", type=click.Choice([str(each) for each in VERSIONS]), default="18", show_default=True)
@click.option("--ordering", type=click.Choice(["relaxed", "strict"]), default=None, help="Else the seed decides.")
@click.option("--logs", type=click.Path(path_type=Path, file_okay=False), help="Where to leave what the relay said.")
@click.option("--only", default="", help="Only the faults whose name has these words.")
def main(
    seed: int | None,
    minutes: float,
    steps: int | None,
    pg: str,
    ordering: str | None,
    logs: Path | None,
    only: str,
) -> None:
    """A random walk through faults, judged by the oracle; exits with 1 where it finds something."""
    seed = random.SystemRandom().getrandbits(32) if seed is None else seed
    install, jars = find_install(int(pg)), find_jars()
    if isinstance(install, str) or isinstance(jars, str):
        raise click.ClickException(str(install if isinstance(install, str) else jars))
    ordering = ordering or random.Random(f"ordering {seed}").choice(["relaxed", "strict"])
    known = (fault for fault in all_faults(install.version) if ordering == "strict" or not fault.needs_bad_rows)
    faults = [fault for fault in known if only in fault.name]
    print(f"seed {seed}, ordering {ordering}, Postgres {install.version}, {len(faults)} faults", flush=True)
    with open_ground(install, jars, ordering=ordering, seed=seed) as ground:
        walk = Walk(ground, seed, say=lambda text: print(text, flush=True))
        with _keeping(ground, logs):
            walk.run(islice(choose_steps(faults, seed), steps), seconds=minutes * 60)
    report = ground.history.report()
    print(f"\n{summarise(report, walk.struck, faults)}\n\n{report}")
    if ground.disk is None:
        print("the lot's disk was never full: only root can mount one")
    print("\n".join(f"{what}: {count} times" for what, count in ground.felt.items()))
    report.assert_clean()


@contextmanager
def _keeping(ground: Ground, logs: Path | None) -> Iterator[None]:
    try:
        yield
    finally:
        if logs is not None:
            ground.copy_logs(logs)


if __name__ == "__main__":
    main()
