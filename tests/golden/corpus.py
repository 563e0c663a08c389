"""One row per kind of value: the SQL that makes it, and what Postgres prints under the relay's session settings.

The same value is the payload and the column `extra`; tests/integration/test_golden_corpus.py asks a real server.
"""

from __future__ import annotations

from typing import NamedTuple

from cdc_relay.model import Transaction
from cdc_relay.protocol.messages import Column
from cdc_relay.routing.envelopes.envelope import Source, Values
from cdc_relay.routing.event_columns import EventColumns

__all__ = ["CASES", "OUTBOX", "PREPARE", "SOURCE", "Case"]

# User-defined types get their oid when they are made; the relay only sees that it is none of the built-in ones.
USER_DEFINED = 16_999
TEXT, UUID, INT4, TIMESTAMPTZ = 25, 2950, 23, 1184

PREPARE = """
    create type mood as enum ('sad', 'so so');
    create domain euros as numeric check (value >= 0);
    create type point3 as (x int, y int, note text);
"""

OUTBOX = EventColumns(
    schema="public",
    name="outbox",
    label="public.outbox",
    id_column="id",
    key_column="aggregateid",
    type_column="type",
    payload_column="payload",
    correlation_column="correlation_id",
    tenant_column="tenant",
    causation_column="causation_id",
    timestamp_column="created_at",
    version_column="version",
)
SOURCE = Source(Transaction(commit_lsn=0x1_016B3748, commit_time_us=1_767_323_045_123_456, xid=4_000_000_000), 7)


class Case(NamedTuple):
    name: str
    sql: str
    type_oid: int
    printed: bytes | None
    type_modifier: int = -1

    @property
    def columns(self) -> tuple[Column, ...]:
        named = [
            ("id", UUID),
            ("aggregatetype", TEXT),
            ("aggregateid", TEXT),
            ("type", TEXT),
            ("correlation_id", TEXT),
            ("causation_id", TEXT),
            ("tenant", TEXT),
            ("created_at", TIMESTAMPTZ),
            ("version", INT4),
        ]
        described = [Column(name, oid, -1, name == "id") for name, oid in named]
        return *described, *(Column(name, self.type_oid, self.type_modifier, False) for name in ("payload", "extra"))

    @property
    def row(self) -> Values:
        return (
            b"6f1c3a52-8d9e-4b7a-9c61-0d2f4e5a7b80",
            b"order",
            b"k-1",
            "Bestellung „neu“".encode(),
            b'corr"1"',
            None,
            b"",
            b"2026-01-02 03:04:05.1+00",
            b"2",
            self.printed,
            self.printed,
        )


CASES = (
    Case("null", "null::jsonb", 3802, None),
    Case(
        "jsonb",
        """'{"b": 1.10, "a": [true, null, "é"]}'::jsonb""",
        3802,
        '{"a": [true, null, "é"], "b": 1.10}'.encode(),
    ),
    Case(
        "jsonb_big_numbers",
        """'{"n": 123456789012345678901234567890.10, "e": 1e3}'::jsonb""",
        3802,
        b'{"e": 1000, "n": 123456789012345678901234567890.10}',
    ),
    Case("jsonb_scalar", "'null'::jsonb", 3802, b"null"),
    Case(
        "json_duplicate_keys",
        """'{"a" : 1,"a":2.00, "b":1E400, "s":"\\ud800"}'::json""",
        114,
        b'{"a" : 1,"a":2.00, "b":1E400, "s":"\\ud800"}',
    ),
    Case("text", r"E'say \"hi\"\t\\ \u0001 é 😀'::text", TEXT, 'say "hi"\t\\ \x01 é 😀'.encode()),
    Case("text_with_json", """'{"a": 1.0}'::text""", TEXT, b'{"a": 1.0}'),
    Case("text_empty", "''::text", TEXT, b""),
    Case("text_blank", r"E' \t\n'::text", TEXT, b" \t\n"),
    Case("varchar", "'short'::varchar(10)", 1043, b"short", 14),
    Case("bytea", r"'\x00ff10'::bytea", 17, b"\\x00ff10"),
    Case("bytea_empty", "''::bytea", 17, b"\\x"),
    Case("bool", "true", 16, b"t"),
    Case("int2", "(-32768)::int2", 21, b"-32768"),
    Case("int4", "2147483647", INT4, b"2147483647"),
    Case("int8_beyond_2_53", "9007199254740993::int8", 20, b"9007199254740993"),
    Case("int8_lowest", "(-9223372036854775808)::int8", 20, b"-9223372036854775808"),
    Case("numeric", "12345678901234567890.12345678901234567890", 1700, b"12345678901234567890.12345678901234567890"),
    Case("numeric_scale", "1.50::numeric(10,2)", 1700, b"1.50", ((10 << 16) | 2) + 4),
    Case("numeric_nan", "'NaN'::numeric", 1700, b"NaN"),
    Case("float4", "0.1::float4", 700, b"0.1"),
    Case("float8", "1e100::float8", 701, b"1e+100"),
    Case("float8_infinity", "'-Infinity'::float8", 701, b"-Infinity"),
    Case("timestamptz", "'2026-01-02 03:04:05.123456+02'::timestamptz", TIMESTAMPTZ, b"2026-01-02 01:04:05.123456+00"),
    Case("timestamptz_whole", "'2026-01-02 03:04:05+00'::timestamptz", TIMESTAMPTZ, b"2026-01-02 03:04:05+00"),
    Case("timestamptz_3", "'2026-01-02 03:04:05.12+00'::timestamptz(3)", TIMESTAMPTZ, b"2026-01-02 03:04:05.12+00", 3),
    Case("timestamptz_bc", "'0044-03-15 12:00:00+00 BC'::timestamptz", TIMESTAMPTZ, b"0044-03-15 12:00:00+00 BC"),
    Case("timestamptz_infinity", "'infinity'::timestamptz", TIMESTAMPTZ, b"infinity"),
    Case("timestamp", "'2026-01-02 03:04:05.123456'::timestamp", 1114, b"2026-01-02 03:04:05.123456"),
    Case("timestamp_3", "'1969-12-31 23:59:59.999'::timestamp(3)", 1114, b"1969-12-31 23:59:59.999", 3),
    Case("timestamp_infinity", "'-infinity'::timestamp", 1114, b"-infinity"),
    Case("date", "'2026-01-02'::date", 1082, b"2026-01-02"),
    Case("date_bc", "'0044-03-15 BC'::date", 1082, b"0044-03-15 BC"),
    Case("time", "'03:04:05.5'::time", 1083, b"03:04:05.5"),
    Case("timetz", "'03:04:05.5+02'::timetz", 1266, b"03:04:05.5+02"),
    Case("interval", "'1 year 2 mons -3 days 04:05:06.7'::interval", 1186, b"1 year 2 mons -3 days +04:05:06.7"),
    Case("uuid", "'6F1C3A52-8D9E-4B7A-9C61-0D2F4E5A7B80'::uuid", UUID, b"6f1c3a52-8d9e-4b7a-9c61-0d2f4e5a7b80"),
    Case("inet", "'192.168.0.1/24'::inet", 869, b"192.168.0.1/24"),
    Case("enum", "'so so'::mood", USER_DEFINED, b"so so"),
    Case("domain", "1.50::euros", 1700, b"1.50"),
    Case("composite", """row(1, null, 'a "b"')::point3""", USER_DEFINED, b'(1,,"a ""b""")'),
    Case("int4_array", "array[[1,null],[3,4]]", 1007, b"{{1,NULL},{3,4}}"),
    Case("int8_array", "array[9007199254740993]::int8[]", 1016, b"{9007199254740993}"),
    Case(
        "text_array",
        r"""array['a', '', 'NULL', null, E'x "y" \\ z', '{b,c}']""",
        1009,
        b'{a,"","NULL",NULL,"x \\"y\\" \\\\ z","{b,c}"}',
    ),
    Case("empty_array", "array[]::text[]", 1009, b"{}"),
    Case("array_from_2", "'[2:3]={1,2}'::int[]", 1007, b"[2:3]={1,2}"),
    Case("numeric_array", "array[1.50, 'NaN']::numeric[]", 1231, b"{1.50,NaN}"),
    Case("timestamptz_array", "array['2026-01-02 03:04:05+00']::timestamptz[]", 1185, b'{"2026-01-02 03:04:05+00"}'),
    Case("jsonb_array", """array['{"a": 1.0}', 'null']::jsonb[]""", 3807, b'{"{\\"a\\": 1.0}","null"}'),
    Case("bytea_array", r"array['\x00ff']::bytea[]", 1001, b'{"\\\\x00ff"}'),
    Case("bool_array", "array[true,false,null]", 1000, b"{t,f,NULL}"),
    Case("enum_array", "array['sad','so so']::mood[]", USER_DEFINED, b'{sad,"so so"}'),
)
