"""The hourly look at certificates: on a thread of its own, and what it meets never leaves it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from cdc_relay.admin.certificate_watch import CertificateWatch
from cdc_relay.admin.check import certificates
from cdc_relay.admin.check.certificate import Certificate
from cdc_relay.admin.check.certificates import Seen
from cdc_relay.config import RelayConfig
from cdc_relay.stats import Stats
from cdc_relay.stop import Stop
from tests.unit.test_check_beside import CONFIG

DEADLINE_SECONDS = 30.0


def seen(place: str, year: int) -> Seen:
    return Seen(place, Certificate("", datetime(year, 1, 1, tzinfo=UTC)))


@pytest.fixture
def stop() -> Iterator[Stop]:
    stop = Stop()
    yield stop
    stop.request()


def wait_for_certificates(stats: Stats, count: int = 1) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while len(stats.upkeep.certificates) < count:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_first_to_expire_of_each_place_is_kept(monkeypatch: pytest.MonkeyPatch, stop: Stop) -> None:
    found = [seen("a", 2030), seen("a", 2028), seen("b", 2029)]
    monkeypatch.setattr(certificates, "see_certificates", lambda config: iter(found))
    stats = Stats()
    CertificateWatch(CONFIG, stats=stats, stop=stop).begin()
    wait_for_certificates(stats, 2)
    years = {place: datetime.fromtimestamp(expiry, UTC).year for place, expiry in stats.upkeep.certificates.items()}
    assert years == {"a": 2028, "b": 2029}


def test_a_look_that_fails_is_followed_by_another(monkeypatch: pytest.MonkeyPatch, stop: Stop) -> None:
    looks: Iterator[ValueError | list[Seen]] = iter([ValueError("no such thing"), [seen("a", 2030)]])

    def look(config: RelayConfig) -> list[Seen]:
        met = next(looks, [seen("a", 2030)])
        if isinstance(met, ValueError):
            raise met
        return met

    monkeypatch.setattr(certificates, "see_certificates", look)
    stats = Stats()
    CertificateWatch(CONFIG, stats=stats, stop=stop, pause_seconds=0.01).begin()
    wait_for_certificates(stats)


def test_a_server_that_is_away_keeps_what_was_seen_of_it(monkeypatch: pytest.MonkeyPatch, stop: Stop) -> None:
    looks = iter([[seen("a", 2030), seen("b", 2031)]])
    monkeypatch.setattr(
        certificates, "see_certificates", lambda config: next(looks, [seen("a", 2029), seen("c", 2029)])
    )
    stats = Stats()
    CertificateWatch(CONFIG, stats=stats, stop=stop, pause_seconds=0.01).begin()
    wait_for_certificates(stats, 3)
    years = {place: datetime.fromtimestamp(expiry, UTC).year for place, expiry in stats.upkeep.certificates.items()}
    assert years == {"a": 2029, "b": 2031, "c": 2029}
