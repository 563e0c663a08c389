"""What a terminal may be shown: text without control characters, ages in words, bytes as a dump. Pure."""

from __future__ import annotations

from datetime import datetime

from cdc_relay.parking.desk_bytes import is_text
from cdc_relay.parking.desk_json import is_json, pretty

__all__ = ["age", "between", "describe_payload", "inline", "safe", "size"]

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))
_DUMP_BYTES = 256
_INLINE_CHARACTERS = 200


def safe(text: str, *, keep: str = "") -> str:
    """Escapes whatever could move a cursor, change a colour or turn the reading direction."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in keep else _escape(char) for char in text)


def inline(data: bytes | str | None) -> str:
    """On one line, of bounded length."""
    if data is None:
        return "NULL"
    if isinstance(data, bytes):
        data = data.decode() if is_text(data) else "\\x" + data[:_INLINE_CHARACTERS].hex()
    shown = safe(data[: _INLINE_CHARACTERS + 1])
    return shown if len(shown) <= _INLINE_CHARACTERS else shown[:_INLINE_CHARACTERS] + "…"


def describe_payload(data: bytes | None, *, limit: int | None) -> tuple[str, str]:
    """A title and a body: JSON laid out, other text as it is, and the beginning of anything else in hex."""
    if data is None:
        return "payload: NULL", ""
    if not is_text(data):
        return f"payload: {size(len(data))}, binary", _dump(data)
    text = data.decode()
    kind, body = ("JSON", pretty(text)) if is_json(text) else ("text", text)
    return f"payload: {size(len(data))}, {kind}", safe(_cut(body, limit), keep="\n\t")


def age(seconds: float) -> str:
    """The largest unit that fits: 3 h."""
    for length, unit in _UNITS:
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return f"{max(0, int(seconds))} s"


def between(start: str, end: str) -> float | None:
    """Seconds; None where Python cannot hold the time, such as infinity."""
    try:
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, OverflowError):
        return None


def size(byte_count: int) -> str:
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if byte_count >= 10 * factor:
            return f"{byte_count / factor:,.0f} {unit}"
    return f"{byte_count:,} B"


def _cut(text: str, limit: int | None) -> str:
    if limit is None or len(text) <= limit:
        return text
    return f"{text[:limit]}\n… {len(text) - limit:,} characters more: --full"


def _dump(data: bytes) -> str:
    lines = [_dump_line(data, start) for start in range(0, min(len(data), _DUMP_BYTES), 16)]
    if len(data) > _DUMP_BYTES:
        lines.append(f"… {len(data) - _DUMP_BYTES:,} bytes more: --json has all of them, in base64")
    return "\n".join(lines)


def _dump_line(data: bytes, start: int) -> str:
    part = data[start : start + 16]
    letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
    return f"{start:08x}  {part.hex(' '):<47}  {letters}"


def _escape(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
