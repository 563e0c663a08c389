"""The address that HTTP is served on: host:port, or off. Opens nothing and resolves nothing."""

from __future__ import annotations

import re

__all__ = ["OFF", "check_address", "split_address"]

OFF = "off"
_ADDRESS = re.compile(r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9._-]+)):(?P<port>[0-9]{1,5})")
_HIGHEST_PORT = 65535


def check_address(value: object) -> str:
    if value is False or value == OFF:  # YAML 1.1 reads a bare off as false
        return OFF
    match = _ADDRESS.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("expected host:port such as 127.0.0.1:9464 or [::1]:9464, or off")
    if int(match["port"]) > _HIGHEST_PORT:
        raise ValueError(f"the port must be between 0 (any free one) and {_HIGHEST_PORT}")
    return match[0]


def split_address(listen: str) -> tuple[str, int] | None:
    match = _ADDRESS.fullmatch(listen)
    return (match["ipv6"] or match["host"], int(match["port"])) if match else None
