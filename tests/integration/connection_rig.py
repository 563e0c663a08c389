"""A role with a password, a server that lets it in, and a relay that delivers through it."""

from __future__ import annotations

from tests.fixtures.fix_postgres import PostgresServer
from tests.fixtures.fix_relay import Pipeline, RelayProcess
from tests.fixtures.process import wait_until

__all__ = ["PASSWORD", "ROLE", "admit", "assert_it_delivers", "make_role"]

ROLE, PASSWORD = "relay", "s3same:/@\\ 4711"


def assert_it_delivers(pipeline: Pipeline, relay: RelayProcess) -> None:
    relay.wait_ready()
    event_id = pipeline.insert()
    [record] = pipeline.wait_for_records(1)
    assert record.headers() == [("id", event_id.encode())]
    assert PASSWORD not in relay.stderr + relay.stdout


def make_role(server: PostgresServer) -> None:
    server.execute(f"CREATE ROLE {ROLE} LOGIN REPLICATION PASSWORD '{PASSWORD}'")


def admit(server: PostgresServer, *lines: str) -> None:
    """The tests' own superuser, and those; nobody else."""
    ours = ["host all postgres 127.0.0.1/32 trust", *lines]
    (server.data_dir / "pg_hba.conf").write_text("".join(f"{line}\n" for line in ours))
    server.configure()
    loaded = "SELECT count(*) FROM pg_hba_file_rules"
    wait_until(lambda: server.execute(loaded) == [(len(ours),)], timeout=30, what="pg_hba.conf is loaded")
