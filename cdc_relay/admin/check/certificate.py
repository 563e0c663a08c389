"""X.509 certificates, as far as `check` needs them: whose, and until when. Pure: bytes in, certificates out.

The standard library decodes a certificate only if it was verified, or says that it may sign others. What we need stands
at known places of the DER encoding (RFC 5280), so it is read there; what does not look so is no certificate.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

__all__ = ["Certificate", "read_der", "read_pem"]

_PEM = re.compile(r"-----BEGIN (?:TRUSTED )?CERTIFICATE-----.+?-----END (?:TRUSTED )?CERTIFICATE-----", re.DOTALL)
_COMMON_NAME = bytes.fromhex("550403")  # 2.5.4.3
_VERSION, _UTC_TIME = 0xA0, 0x17
_CENTURY_TURNS = 50  # UTCTime: 50 to 99 are 19xx


@dataclass(frozen=True, slots=True)
class Certificate:
    subject: str  # its common name; empty where it has none
    not_after: datetime


def read_pem(text: str) -> list[Certificate]:
    """Those that can be read, in order."""
    found = []
    for block in _PEM.findall(text):
        try:
            found.append(read_der(ssl.PEM_cert_to_DER_cert(block)))
        except ValueError:
            continue
    return found


def read_der(data: bytes) -> Certificate:
    """ValueError: this is no certificate."""
    try:
        to_be_signed = next(_parts(next(_parts(data))[1]))[1]
        parts = [part for part in _parts(to_be_signed) if part[0] != _VERSION]
        _, _, _, validity, subject, *_ = parts  # serial number, algorithm and issuer come before
        _, until = _parts(validity[1])
        return Certificate(_common_name(subject[1]), _moment(*until))
    except (IndexError, StopIteration, UnicodeDecodeError) as exc:
        raise ValueError("no certificate") from exc


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Tag and content of each element that stands in the data, one after the other."""
    place = 0
    while place < len(data):
        tag, length, start = data[place], data[place + 1], place + 2
        if length & 0x80:
            count = length & 0x7F
            length, start = int.from_bytes(data[start : start + count]), start + count
        if start + length > len(data):
            raise ValueError("no certificate")
        yield tag, data[start : start + length]
        place = start + length


def _common_name(subject: bytes) -> str:
    for _, names in _parts(subject):
        for _, pair in _parts(names):
            kind, value = _parts(pair)
            if kind[1] == _COMMON_NAME:
                return value[1].decode("utf-8", "replace")
    return ""


def _moment(tag: int, value: bytes) -> datetime:
    digits = value.decode("ascii").rstrip("Z")
    if tag == _UTC_TIME:
        digits = ("19" if int(digits[:2]) >= _CENTURY_TURNS else "20") + digits
    return datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
