"""Why a connection could not be made: refused for good, mistaken in the DSN, or only away; and what helps.

The only file that reads libpq's texts. It connects to nothing, but knocks.
"""

from __future__ import annotations

import re
from dataclasses import replace

import psycopg
from psycopg import pq

from cdc_relay.sources.attempts import Attempt, by_host, split_attempts
from cdc_relay.sources.knock import CANNOT_CONNECT_NOW, Place, knock

__all__ = [
    "away_remedy",
    "clean",
    "connect_remedy",
    "describe_failure",
    "is_mistake",
    "is_refusal",
    "place_of",
    "primary_remedy",
]

_SERVER_SENT = re.compile(r"\w+:  \S")  # libpq prints the server's severity, a colon and two blanks in any language
_CROWDED = re.compile(r'too many (clients|connections)|connection slots are reserved|exceeds "?max_wal_senders')
# Said by libpq before it asks any server: what is in the DSN, the service file or beside them is wrong.
_MISTAKEN = re.compile(r'invalid \S+ value|definition of service|file "[^"]*" does not exist|could not read root cert')
# Said by libpq of a host that does not fit target_session_attrs.
_READ_ONLY = re.compile(r"session is read-only|server is in hot standby mode")


def is_mistake(message: str) -> bool:
    return _MISTAKEN.search(message) is not None


def clean(message: str) -> str:
    return " ".join(message.split()) if not _SERVER_SENT.search(message) else re.sub(r"\s*\n\s*", "; ", message.strip())


def describe_failure(exc: psycopg.Error) -> str:
    """Of several addresses what each said, once."""
    attempts = split_attempts(str(exc))
    return "; ".join(clean(attempt.message) for attempt in attempts) or clean(str(exc))


def is_refusal(exc: psycopg.Error) -> bool:
    """Whether the server itself said no, and would say so again. Of several hosts each: one that is away may return."""
    message, pgconn = str(exc), exc.pgconn
    if pgconn is None or _CROWDED.search(message):
        return False
    place = place_of(pgconn)
    if hosts := by_host(split_attempts(message)):
        return all(any(_refuses(each, place, pgconn.needs_password) for each in host) for host in hosts)
    return bool(pgconn.needs_password or _SERVER_SENT.search(message)) and _would_talk(place)


def _refuses(attempt: Attempt, last: Place, needs_password: bool) -> bool:
    lacks_password = needs_password and "password" in attempt.message
    place = replace(last, host=attempt.address, port=attempt.port)
    return bool(lacks_password or _SERVER_SENT.search(attempt.message)) and _would_talk(place)


def _would_talk(place: Place) -> bool:
    return knock(place) not in (None, CANNOT_CONNECT_NOW)


def place_of(pgconn: pq.abc.PGconn) -> Place:
    host = (pgconn.hostaddr or pgconn.host or b"").decode()
    return Place(host, int(pgconn.port or b"5432"), (pgconn.user or b"").decode(), (pgconn.db or b"").decode())


def away_remedy(message: str, setting: str) -> str:
    if _CROWDED.search(message):
        return "raise max_connections or max_wal_senders, or end what nobody needs: SELECT * FROM pg_stat_replication"
    if "certificate" in message or "SSL" in message:
        return f"check sslmode, sslrootcert and the host name of {setting} against the server's certificate"
    if _READ_ONLY.search(message):
        return primary_remedy(setting)
    return f"check host, port and network of {setting}"


def primary_remedy(setting: str) -> str:
    return (
        "start the primary, or promote a standby; to be found by the relay, it is one of several hosts in"
        f" {setting}, with target_session_attrs=read-write"
    )


def connect_remedy(message: str, setting: str) -> str:
    if "walsender" in message.lower().replace(" ", ""):
        return f"let the role replicate: ALTER ROLE <the role of {setting}> REPLICATION"
    if "password" in message:
        password = setting.replace("dsn", "password")
        return f"correct the password: {password}, PGPASSWORD, or a passfile; or the role's password in Postgres"
    if "pg_hba.conf" in message:
        return "add a line for this host, role and database to pg_hba.conf and reload"
    return f"correct {setting}: role, database and password as Postgres knows them"
