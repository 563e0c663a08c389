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
        log.log(record.levelno, "library", library=record.name, reason=record.getMessage())
