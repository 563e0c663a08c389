"""A statement as a line for the shell: psql, connected as a DSN says. Pure."""

from __future__ import annotations

import re
import shlex

from psycopg.conninfo import conninfo_to_dict, make_conninfo

__all__ = ["psql"]

_SECRET = re.compile("password|secret|token|key", re.IGNORECASE)
_OURS = re.compile("application_name|client_encoding|tcp_user_timeout|keepalives.*")  # what the relay's lines need


def psql(dsn: str, statement: str, **params: str) -> str:
    """Whatever is secret in the DSN is for whoever runs it to give."""
    shown = {key: str(value) for key, value in conninfo_to_dict(dsn, **params).items() if _is_shown(key)}
    return f"psql {shlex.quote(make_conninfo('', **shown))} -c {shlex.quote(statement)}"


def _is_shown(key: str) -> bool:
    return not _SECRET.search(key) and not _OURS.fullmatch(key)
