"""Why a connection could not be made: refused for good, mistaken in the DSN, or only away; and what helps.

The only file that reads libpq's texts. It connects to nothing, but knocks and shakes hands.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import psycopg
from psycopg import pq

from cdc_relay.sources.attempts import Attempt, by_host, split_attempts
from cdc_relay.sources.handshake import Peer, find_fault
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
# Said by OpenSSL of a certificate, theirs or ours; of theirs libpq does not tell what is wrong with it.
_THEIRS_UNTRUSTED = "certificate verify failed"
_OURS_UNTRUSTED = re.compile(r"alert .*(certificate|unknown ca)")
_ROOT = Path("~/.postgresql/root.crt")  # libpq's own default


def is_mistake(message: str) -> bool:
    return _MISTAKEN.search(message) is not None


def clean(message: str) -> str:
    return " ".join(message.split()) if not _SERVER_SENT.search(message) else re.sub(r"\s*\n\s*", "; ", message.strip())


def describe_failure(exc: psycopg.Error) -> str:
    """Of several addresses what each said, once."""
    message, pgconn = str(exc), exc.pgconn
    attempts = split_attempts(message)
    if not attempts and pgconn is not None and _THEIRS_UNTRUSTED in message:
        place = place_of(pgconn)
        attempts = [Attempt((pgconn.host or b"").decode(), place.host, place.port, message)]
    return "; ".join(clean(each.message) + _fault(each, pgconn) for each in attempts) or clean(message)


def _fault(attempt: Attempt, pgconn: pq.abc.PGconn | None) -> str:
    if pgconn is None or _THEIRS_UNTRUSTED not in attempt.message:
        return ""
    fault = find_fault(_peer(attempt, pgconn))
    return f": {fault}" if fault else ""


def _peer(attempt: Attempt, pgconn: pq.abc.PGconn) -> Peer:
    """What libpq held the certificate against, wherever it was said: the DSN, a service file, the environment."""
    used = {option.keyword.decode(): (option.val or b"").decode() for option in pgconn.info}
    root = used.get("sslrootcert") or str(_ROOT.expanduser())
    return Peer(
        attempt.address,
        attempt.port,
        name=attempt.host if used.get("sslmode") == "verify-full" else "",
        authorities="" if root == "system" else root,
        is_postgres=True,
    )


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
    if _OURS_UNTRUSTED.search(message):
        return f"renew the client certificate: sslcert and sslkey of {setting}; the server's ssl_ca_file must trust it"
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


def connect_remedy(message: str, setting: str, *, has_certificate: bool = False) -> str:
    if "walsender" in message.lower().replace(" ", ""):
        return f"let the role replicate: ALTER ROLE <the role of {setting}> REPLICATION"
    if "certificate" in message:
        return f"set sslcert and sslkey of {setting}: a certificate that the server trusts, with the role as its CN"
    if "password" in message:
        password = setting.replace("dsn", "password")
        # With clientcert=verify-full Postgres says the same of a certificate for another role.
        also = "; or let sslcert have the role as its CN, where pg_hba.conf asks for that" if has_certificate else ""
        return f"correct the password: {password}, PGPASSWORD, or a passfile; or the role's password in Postgres{also}"
    if "denied for database" in message:
        return f"GRANT CONNECT ON DATABASE <the database> TO <the role of {setting}>"
    if "pg_hba.conf" in message:
        return "add a line for this host, role and database to pg_hba.conf and reload"
    return f"correct {setting}: role, database and password as Postgres knows them"
