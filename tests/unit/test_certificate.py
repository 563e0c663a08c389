"""Certificates are read from their bytes: whose, and until when; anything else is no certificate."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cdc_relay.admin.check.certificate import Certificate, read_der, read_pem
from cdc_relay.admin.check.certificates import Seen, judge_certificates

NOW = datetime(2030, 1, 1, tzinfo=UTC)

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl on this machine")


def make_certificate(directory: Path, *, days: int, subject: str = "/O=Örder/CN=brøker", key: str = "rsa:2048") -> Path:
    path = directory / f"{days}.crt"
    command = ["openssl", "req", "-x509", "-newkey", key, "-nodes", "-utf8", "-days", str(days), "-subj", subject]
    if key == "ec":
        command += ["-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-keyout", str(path.with_suffix(".key")), "-out", str(path)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return path


def end_of(path: Path) -> datetime:
    """As openssl says."""
    command = ["openssl", "x509", "-in", str(path), "-noout", "-enddate"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(printed.strip().removeprefix("notAfter=")), UTC)


@needs_openssl
@pytest.mark.parametrize("days", [2, 20_000])  # beyond 2049 the time is written in another way
def test_a_certificate_is_read_as_openssl_reads_it(tmp_path: Path, days: int) -> None:
    path = make_certificate(tmp_path, days=days, key="ec")
    assert read_pem(path.read_text()) == [Certificate("brøker", end_of(path))]


@needs_openssl
def test_a_chain_has_each_of_its_certificates_and_keys_are_none(tmp_path: Path) -> None:
    chain = [make_certificate(tmp_path, days=days, key="ec") for days in (3, 4)]
    text = "# a comment\n" + "".join(path.with_suffix(".key").read_text() + path.read_text() for path in chain)
    assert [each.not_after for each in read_pem(text)] == [end_of(path) for path in chain]


@needs_openssl
def test_a_certificate_without_a_common_name_is_one(tmp_path: Path) -> None:
    path = make_certificate(tmp_path, days=2, subject="/O=Orders", key="ec")
    assert read_pem(path.read_text()) == [Certificate("", end_of(path))]


@given(st.binary(max_size=200))
@example(b"\x30\x84\xff\xff\xff\xff")
@example(b"\x30\x80")
def test_garbage_is_no_certificate(data: bytes) -> None:
    with pytest.raises(ValueError):
        read_der(data)


ROOTS = {"old": timedelta(days=-1), "new": timedelta(days=900)}


@given(st.text(max_size=100))
def test_a_broken_pem_has_none(text: str) -> None:
    assert read_pem(f"-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----") == []


@pytest.mark.parametrize(
    ("left", "level"),
    [(timedelta(days=31), "ok"), (timedelta(days=29), "warn"), (timedelta(seconds=-1), "fail")],
)
def test_the_end_is_warned_of_a_month_before_and_fails_when_it_has_come(left: timedelta, level: str) -> None:
    seen = Seen("broker kafka:9092", Certificate("kafka", NOW + left))
    [finding] = judge_certificates("kafka.certificates", [seen], NOW)
    assert finding.level == level
    assert "broker kafka:9092" in finding.found


def test_an_expired_root_beside_a_valid_one_is_warned_of() -> None:
    roots = [Seen("sslrootcert", Certificate(name, NOW + left), is_authority=True) for name, left in ROOTS.items()]
    assert [(each.level, "old" in each.found) for each in judge_certificates("kafka.certificates", roots, NOW)] == [
        ("warn", True)
    ]


def test_without_certificates_there_is_nothing_to_say() -> None:
    assert list(judge_certificates("kafka.certificates", [], NOW)) == []
