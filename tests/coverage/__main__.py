"""`python -m tests.coverage FILE`: of coverage.py's JSON; exits with 1 where too little is covered."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tests.coverage.shares import find_shares

LEAST_PERCENT = 95.0


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def main(file: Path) -> None:
    shares = find_shares(json.loads(file.read_text())["totals"])
    for share in shares:
        print(share)
    if short := [share.what for share in shares if share.percent < LEAST_PERCENT]:
        raise SystemExit(f"below {LEAST_PERCENT:g} %: {', '.join(short)}")


if __name__ == "__main__":
    main()
