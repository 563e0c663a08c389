"""libpq connection strings, in both forms: are they well-formed, and how are they shown. Connects to nothing."""

from __future__ import annotations

import re
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

__all__ = ["HIDDEN", "check_dsn", "has_password", "hide_dsn", "secrets_in"]

HIDDEN = "***"
# As libpq cuts it: an @ before the first / ends the user part, whatever else is in there.
_URL = re.compile(
    r"(?P<scheme>postgres(?:ql)?://)(?:(?P<user>[^/@]*)@)?(?P<hosts>[^/?]*)(?P<path>/[^?]*)?(?P<query>\?.*)?", re.DOTALL
)
_PORTS = re.compile(r"[0-9]*(,[0-9]*)*")
_SECRET = re.compile("password|secret|token|scram_(client|server)_key", re.IGNORECASE)
_ENCODE = "in a URL, percent-encode / : @ ? in the password (%2F %3A %40 %3F) or set password: beside it instead"


def check_dsn(dsn: str) -> str:
    if not dsn.strip():
        raise ValueError("must not be empty")
    # A raw @ / or ? in a password moves libpq's borders: it would be taken for a host, and shown as one.
    url = _URL.fullmatch(dsn)
    if url and ("@" in url["hosts"] + (url["path"] or "") or "?" in (url["user"] or "")):
        raise ValueError(f"an @ or ? in the wrong place; {_ENCODE}")
    if not _PORTS.fullmatch(_parse(dsn).get("port", "")):
        raise ValueError(f"the port is not a number; {_ENCODE}")
    return dsn


def has_password(dsn: str) -> bool:
    return "password" in _parse(dsn)


def secrets_in(dsn: str) -> list[str]:
    """As libpq takes them, and as a URL spells them."""
    url = _URL.fullmatch(dsn)
    query = [each.partition("=") for each in (url["query"] or "?")[1:].split("&")] if url else []
    spelled = [value for key, _, value in query if _SECRET.search(unquote(key))]
    login = [(url["user"] or "").partition(":")[2]] if url else []
    return [value for key, value in _parse(dsn).items() if _SECRET.search(key)] + spelled + login


def hide_dsn(dsn: str) -> str:
    url = _URL.fullmatch(dsn)
    if url is None:
        return make_conninfo("", **{key: _hidden(key, value) for key, value in _parse(dsn).items()})
    user, has_secret, _ = (url["user"] or "").partition(":")
    login = f"{user}:{HIDDEN}@" if has_secret else f"{user}@" if user else ""
    return url["scheme"] + login + url["hosts"] + (url["path"] or "") + _hide_query(url["query"] or "")


def _parse(dsn: str) -> dict[str, str]:
    try:
        return {key: str(value) for key, value in conninfo_to_dict(dsn).items()}
    except psycopg.ProgrammingError:
        # libpq's own message quotes the string, and the password may be in it: not chained on purpose.
        raise ValueError(
            "not a libpq connection string; expected postgresql://user@host/database "
            "or host=… dbname=… user=…, with libpq's own parameter names"
        ) from None


def _hide_query(query: str) -> str:
    mark, parameters = query[:1], query[1:].split("&")
    split = [parameter.partition("=") for parameter in parameters]
    return mark + "&".join(key + sign + _hidden(unquote(key), value) for key, sign, value in split)


def _hidden(key: str, value: str) -> str:
    return HIDDEN if _SECRET.search(key) else value
