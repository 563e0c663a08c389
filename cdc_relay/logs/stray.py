"""What would reach stderr past the logger: crashes, warnings of Python, lines of libraries. Each becomes one line."""

from __future__ import annotations

import logging
import sys
import threading
import warnings
from pathlib import Path
from types import TracebackType
from typing import TextIO

import structlog

__all__ = ["DEFECT", "catch_stray"]

log = structlog.get_logger()

DEFECT = "this is a defect of cdc-relay: report it with this line"


def catch_stray(level: str) -> None:
    sys.excepthook = _on_crash
    threading.excepthook = _on_thread_crash
    sys.unraisablehook = _on_unraisable
    warnings.showwarning = _on_warning
    logging.basicConfig(handlers=[_Handler()], level=level.upper(), force=True)


def _on_crash(kind: type[BaseException], exc: BaseException, trace: TracebackType | None) -> None:
    log.critical("crash", exc_info=exc, remedy=DEFECT)


def _on_thread_crash(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None:
        log.error("thread_crash", thread=args.thread.name if args.thread else None, exc_info=args.exc_value)


def _on_unraisable(args: sys.UnraisableHookArgs) -> None:
    if args.exc_value is not None:
        log.error("unraisable", exc_info=args.exc_value)


def _on_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    log.warning("python_warning", category=category.__name__, reason=str(message), at=f"{Path(filename).name}:{lineno}")


class _Handler(logging.Handler):
    """librdkafka speaks through `logging` here, as psycopg does."""

    def emit(self, record: logging.LogRecord) -> None:
        log.log(_level(record), "library", library=record.name, reason=_text(record))


def _level(record: logging.LogRecord) -> int:
    """Of those that structlog knows, the next lower one."""
    return min(max(record.levelno // 10 * 10, logging.DEBUG), logging.CRITICAL)


def _text(record: logging.LogRecord) -> str:
    """As in `logging`, whoever logs is not to fail of it. What cannot be formatted comes without its values."""
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - the library's own objects
        return record.msg if isinstance(record.msg, str) else type(record.msg).__name__
