"""Certificates that stand between us and the servers: in files that the configuration names, and on the servers.

Reads files and makes TLS handshakes that verify nothing and send nothing: only the date is wanted.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from cdc_relay.admin.check.certificate import Certificate, read_der, read_pem
from cdc_relay.admin.check.finding import Finding, fail, ok, warn
from cdc_relay.config import RelayConfig
from cdc_relay.sources.handshake import SSL_REQUEST
from cdc_relay.sources.remedy import words

__all__ = [
    "Seen",
    "check_kafka_certificates",
    "check_postgres_certificates",
    "judge_certificates",
    "see_certificates",
]

WARN_DAYS = 30
_SECONDS = 5.0
_KAFKA_FILES = ("ssl.certificate.location", "ssl.ca.location")
_KAFKA_TEXTS = ("ssl.certificate.pem", "ssl.ca.pem")
_POSTGRES_FILES = ("sslcert", "sslrootcert")
_AUTHORITIES = ("ssl.ca.location", "ssl.ca.pem", "sslrootcert")
_MANY = 20  # a file with more is the system's own list of authorities, not somebody's certificate


@dataclass(frozen=True, slots=True)
class Seen:
    place: str  # where an operator finds it
    certificate: Certificate
    is_authority: bool = False  # one of those that we trust: another one may stand for it


def check_postgres_certificates(config: RelayConfig) -> Iterator[Finding]:
    yield from judge_certificates("postgres.certificates", _see_postgres(config), datetime.now(UTC))


def check_kafka_certificates(config: RelayConfig) -> Iterator[Finding]:
    yield from judge_certificates("kafka.certificates", _see_kafka(config), datetime.now(UTC))


def see_certificates(config: RelayConfig) -> Iterator[Seen]:
    yield from _see_postgres(config)
    yield from _see_kafka(config)


def _see_postgres(config: RelayConfig) -> Iterator[Seen]:
    for setting, dsn in (("source.dsn", config.source.dsn), ("parking.dsn", config.parking.dsn)):
        if dsn is not None:
            params = {key: str(value) for key, value in conninfo_to_dict(dsn).items() if value is not None}
            yield from _in_files(setting, params, _POSTGRES_FILES)
            yield from _on_postgres(setting, params)


def _see_kafka(config: RelayConfig) -> Iterator[Seen]:
    properties = config.sink.kafka
    if properties is None or "ssl" not in properties.get("security.protocol", "").lower():
        return
    yield from _in_files("sink.kafka", properties, _KAFKA_FILES)
    for name in _KAFKA_TEXTS:
        is_authority = name in _AUTHORITIES
        yield from (Seen(f"sink.kafka {name}", each, is_authority) for each in read_pem(properties.get(name, "")))
    for server in (properties.get("bootstrap.servers") or "").split(","):
        yield from _on_broker(server.strip())


def judge_certificates(name: str, seen: Iterable[Seen], now: datetime) -> Iterator[Finding]:
    """Nothing to say where there are none."""
    found = list(seen)
    soon = now + timedelta(days=WARN_DAYS)
    troubled = [each for each in found if each.certificate.not_after <= soon]
    for each in troubled:
        yield _judge(name, each, now)
    if found and not troubled:
        first = min(found, key=lambda each: each.certificate.not_after)
        yield ok(name, f"{len(found)}, the first expires on {first.certificate.not_after:%Y-%m-%d} ({first.place})")


def _judge(name: str, seen: Seen, now: datetime) -> Finding:
    until, whose = seen.certificate.not_after, f"{seen.place} (CN {seen.certificate.subject or '-'})"
    fix = words(f"put a new certificate there: {seen.place}")
    if until <= now:
        expired = f"{whose} expired on {until:%Y-%m-%d %H:%M} UTC"
        return warn(name, expired, fix) if seen.is_authority else fail(name, expired, fix)
    return warn(name, f"{whose} expires on {until:%Y-%m-%d %H:%M} UTC", fix)


def _in_files(setting: str, params: Mapping[str, str], names: Iterable[str]) -> Iterator[Seen]:
    """A file that cannot be read is the connection's own trouble, and said there."""
    for name in names:
        path = params.get(name)
        if not path or path == "system":
            continue
        with suppress(OSError, UnicodeDecodeError):
            certificates = read_pem(Path(path).expanduser().read_text("ascii", "replace"))
            if len(certificates) <= _MANY:
                is_authority = name in _AUTHORITIES
                yield from (Seen(f"{setting} {name}: {path}", each, is_authority) for each in certificates)


def _on_postgres(setting: str, params: Mapping[str, str]) -> Iterator[Seen]:
    if params.get("sslmode") == "disable":
        return
    ports = params.get("port", "5432").split(",")
    hosts = params.get("hostaddr", params.get("host", "")).split(",")
    for place, host in enumerate(hosts):
        port = ports[place] if place < len(ports) else ports[0]
        if host and not host.startswith(("/", "@")):
            yield from _shown_by(f"the server of {setting}", host, int(port or 5432), asks_first=True)


def _on_broker(server: str) -> Iterator[Seen]:
    host, _, port = server.rpartition("://")[2].rpartition(":")
    if host and port.isdecimal():
        yield from _shown_by(f"broker {server}", host.strip("[]"), int(port), asks_first=False)


def _shown_by(place: str, host: str, port: int, *, asks_first: bool) -> Iterator[Seen]:
    """A server that does not speak TLS, or not with us, shows nothing."""
    with suppress(OSError, ValueError), socket.create_connection((host, port), timeout=_SECONDS) as line:
        if asks_first:
            line.sendall(SSL_REQUEST)
            if line.recv(1) != b"S":
                return
        with _without_trust().wrap_socket(line, server_hostname=host) as secured:
            yield Seen(place, read_der(secured.getpeercert(binary_form=True) or b""))


def _without_trust() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
