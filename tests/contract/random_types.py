"""Types of every kind that Postgres has, each with the values at its edges, as SQL takes them. Knows no table."""

from __future__ import annotations

import random

__all__ = ["KEY_TYPES", "NAMES", "PLAIN_TYPES", "PREPARE", "TYPES", "make_value"]

PREPARE = (
    """CREATE TYPE mood AS ENUM ('calm', 'so so', 'it''s "odd"', 'a,b{}\\')""",
    "CREATE DOMAIN euros AS numeric(12,2) CHECK (value >= 0)",
    "CREATE DOMAIN words AS text",
    'CREATE DOMAIN "Many Words" AS text[]',
    "CREATE TYPE pair AS (x int, y text)",
    'CREATE SCHEMA "Other Schema"',
    """CREATE TYPE "Other Schema"."Odd [Type]" AS ENUM ('x', ']:')""",
)

# Each needs quotes for another reason, or looks like what test_decoding writes between names.
NAMES = (
    *("plain", "Mixed Case", 'quo"te', "select", "ö", "with.dot", "1digit", "new-tuple:", "old-key:", "x[text]:'y'"),
    *("INSERT:", "a, b", "tab\there", "line\nend", "back\\slash", "n" * 63, "it's", "{brace}", "$1", "%s"),
)

_HOSTILE = (
    *(
        "",
        " ",
        "null",
        "NULL",
        "'",
        "''",
        '"',
        "\\",
        "\\\\'",
        "it's",
        "a b[text]:'c'",
        " new-tuple: x[integer]:1",
        "B'1'",
    ),
    *(
        "ö\U0001f600",
        "tab\tline\nback\\slash",
        "{1,2}",
        "unchanged-toast-datum",
        "true",
        "\x01\x7f",
        "%s",
        "-- x",
        "\r\n",
    ),
)
_MOMENTS = (
    "2026-01-02 03:04:05.123456",
    "0044-03-15 00:00:00 BC",
    "294276-12-31 23:59:59.999999",
    "infinity",
    "-infinity",
)

TYPES: dict[str, tuple[str, ...]] = {
    "smallint": ("0", "-32768", "32767"),
    "integer": ("0", "-2147483648", "2147483647"),
    "bigint": ("0", "-9223372036854775808", "9223372036854775807"),
    "oid": ("0", "4294967295"),
    "numeric": (
        "NaN",
        "Infinity",
        "-Infinity",
        "-0.000",
        "9" * 900,
        "0." + "0" * 300 + "1",
        "12345678901234567890.1234567",
    ),
    "numeric(30,10)": ("0", "-1.5", "99999999999999999999.9999999999", "NaN"),
    "real": ("NaN", "Infinity", "-Infinity", "-0", "1e-45", "3.4028235e38", "0.1"),
    "double precision": ("NaN", "Infinity", "-Infinity", "-0", "5e-324", "1.7976931348623157e308", "0.1", "1e22"),
    "boolean": ("t", "f"),
    "text": _HOSTILE,
    "varchar(40)": tuple(text for text in _HOSTILE if len(text) <= 40),
    "char(5)": ("", "ab", "ab   ", "'x'", "ööööö"),
    "name": ("", "pg", "it's"),
    '"char"': ("", "a", "'"),
    "bytea": ("\\x", "\\x00ff", "\\x" + "5c27" * 9),
    "date": ("2026-02-28", "0044-03-15 BC", "4713-01-01 BC", "5874897-12-31", "infinity", "-infinity"),
    "time": ("00:00:00", "24:00:00", "23:59:59.999999"),
    "time with time zone": ("00:00:00+15:59", "23:59:59.5-15:59:59", "12:00:00+00"),
    "timestamp": _MOMENTS,
    "timestamptz": tuple(moment.replace(" BC", "+00 BC") for moment in _MOMENTS),
    "timestamp(3)": ("2026-01-02 03:04:05.9996",),
    "interval": ("0", "1 year -2 mons 3 days 04:05:06.789", "-178000000 years", "1 microsecond", "-00:00:01"),
    "json": ('{"b" :1,  "a":2}', '"\\ud800"', "[1e400, null]", '{"a\'": "\\\\"}', " 1 "),
    "jsonb": ('{"b": 1, "a": [1.10, null]}', '"it\'s"', "null", "12345678901234567890.10", "{}"),
    "uuid": ("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-4fff-bfff-ffffffffffff"),
    "inet": ("::1", "10.0.0.1/8", "255.255.255.255"),
    "cidr": ("10.0.0.0/8", "::/0"),
    "macaddr": ("08:00:2b:01:02:03",),
    "bit(5)": ("10110", "00000"),
    "bit varying": ("", "1", "101" * 30),
    "integer[]": ("{}", "{1,NULL,-3}", "{{1,2},{3,4}}", "[0:1]={7,8}"),
    "text[]": ("{}", '{"a,b","",NULL,"NULL"}', '{"it\'s","\\"q\\"","back\\\\slash","{}"}'),
    "numeric[]": ("{NaN,1.10,-0}",),
    "timestamptz[]": ("{infinity,NULL}", '{"2026-01-02 03:04:05+00"}'),
    "bytea[]": ('{"\\\\x00ff",NULL}',),
    "int4range": ("empty", "[1,5)", "(,)", "(,7)"),
    "tstzrange": ("empty", '["2026-01-02 03:04:05+00",)'),
    "nummultirange": ("{}", "{[1.1,2.2),[3,)}"),
    "mood": ("calm", "so so", 'it\'s "odd"', "a,b{}\\"),
    "mood[]": ('{calm,"so so",NULL}', '{"it\'s \\"odd\\"","a,b{}\\\\"}'),
    '"Other Schema"."Odd [Type]"': ("x", "]:"),
    "euros": ("0", "9999999999.99"),
    "words": _HOSTILE,
    '"Many Words"': ("{}", '{a,"b c"}'),
    "pair": ("(,)", '(1,"it\'s \\"odd\\", (so)")', '(-1,"")'),
    "pair[]": ('{"(1,a)",NULL}',),
    "point": ("(1,2)", "(0,-0)", "(NaN,Infinity)"),
    "box": ("(1,1),(0,0)",),
    "tsvector": ("'a':1 'it''s':2,3A",),
    "jsonpath": ('$."a"[*] ? (@ > 1)',),
    "pg_lsn": ("0/0", "FFFFFFFF/FFFFFFFF"),
    "xid8": ("0", "18446744073709551615"),
    "money": ("-12.34", "0"),
}
KEY_TYPES = ("integer", "bigint", "text", "uuid", "timestamptz", "numeric", "mood", "varchar(40)", "bytea", "integer[]")
# What pgoutput-decoder reads as we do; the others it makes floats of, or text of its own.
PLAIN_TYPES = ("smallint", "integer", "bigint", "boolean", "text", "varchar(40)", "uuid")

_NULL_SHARE, _BIG_SHARE = 0.15, 0.15
_BIG_CHARACTERS = 6_000


def make_value(rng: random.Random, type_name: str, *, may_be_null: bool = True) -> str | None:
    if may_be_null and rng.random() < _NULL_SHARE:
        return None
    if type_name in ("text", "words") and rng.random() < _BIG_SHARE:
        return _make_big(rng)
    return rng.choice(TYPES[type_name])


def _make_big(rng: random.Random) -> str:
    """Too large for a page and not to be compressed, so that it is kept beside the row."""
    return "".join(rng.choices("abcdefghijklmnopqrstuvwxyz'\\\"ö ", k=_BIG_CHARACTERS))
