"""The differences from Debezium that we choose, each with its reason. docs/debezium.md shows them; a test compares.

A place is `case/row:part`, with * and ? as in file names. A difference in no place of this list is a fault of ours; a
place where there is no difference any more is a stale line here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

__all__ = ["CHOICES", "Choice", "stale_places", "unexplained"]


@dataclass(frozen=True, slots=True)
class Choice:
    what: str
    why: str
    places: tuple[str, ...]
    needs_broker: bool = False  # the producer makes it: `make compare-debezium` sees it, the ordinary test does not


CHOICES: tuple[Choice, ...] = (
    Choice(
        "Rows that end Debezium's task are parked: no aggregate type, an illegal topic name, a negative partition, a "
        "time before 1970",
        "One bad row must not stop the others, and none is dropped: it waits in the lot, with a reason and a remedy.",
        ("unroutable/*:record", "partition/negative:record", "event_timestamp/before_1970:record"),
    ),
    Choice(
        "Rows that end Debezium's task are published: `timestamptz` as the event's time, a `smallint` partition, "
        "columns of types that it does not know, and with `expand_json` top-level arrays, integers beyond 64 bits and "
        "arrays of objects whose members have different types",
        "There is nothing wrong with them.",
        (
            "event_timestamp_zoned/zoned:record",
            "partition_smallint/last:record",
            "unknown_type/words:record",
            "expand_json*/big_numbers:record",
            "expand_json/array:record",
            "expand_json/array_of_objects:record",
            "expand_json/objects_of_other_types:record",
            "expand_json/beyond_int64:record",
            "expand_json/exponent:record",
            "envelope_expanded/array:record",
        ),
    ),
    Choice(
        "A `bytea` payload goes out as its bytes; Debezium's StringConverter writes the name of a Java object, and its "
        "ByteArrayConverter ends the task: BinaryDataConverter, or Kafka Connect's own ByteArrayConverter, is needed",
        "There is no setting with which bytes get lost.",
        ("bytea_as_string/bytes:value", "bytea_byte_array/bytes:record"),
    ),
    Choice(
        "No `__debezium.context.…` headers, as with `extended.headers.enabled=false`",
        "They name a connector and a task that are not there.",
        ("extended_headers/plain:headers",),
    ),
    Choice(
        "With `expand_json` every JSON document is JSON to the consumer, also `42`, `true`, `null`, text, `[]`, and "
        "one with blanks in front; Debezium expands what starts with { or [, and puts the rest into quotes",
        "The consumer parses once, whatever the document is.",
        (
            "expand_json/json_null:value",
            "expand_json/number:value",
            "expand_json/text:value",
            "expand_json/boolean:value",
            "expand_json/empty_array:value",
            "expand_json_verbatim/blanks:value",
            "tombstone_expanded/json_null:value",
            "envelope_expanded/number:value.payload",
        ),
    ),
    Choice(
        "With `expand_json` arrays may hold values of several types, numbers of several sizes, or nothing but null, "
        "and a member may have an empty name; Debezium gives up on such a document with a warning, and sends all of it "
        "in quotes",
        "The shape of a record must not depend on the data in it.",
        (
            "expand_json/mixed_array:value",
            "expand_json/array_of_nulls:value",
            "expand_json/ints_and_longs:value",
            "expand_json/dotted_keys:value",
            "envelope_expanded/mixed_array:value.payload",
        ),
    ),
    Choice(
        "With `expand_json` members that are null or an empty array are kept, and objects in an array get no members "
        "that they do not have",
        "The document is passed on, not rebuilt by a guessed schema. Nulls are as with "
        "`table.json.payload.null.behavior=optional_bytes`.",
        (
            "expand_json/null_member:value",
            "expand_json/only_null_member:value",
            "expand_json/empty_array_member:value",
            "expand_json/objects_unlike:value.a",
            "envelope_expanded/null_member:value.payload",
        ),
    ),
    Choice(
        "With `expand_json` numbers keep every digit, and duplicate keys of a `json` column stay; Debezium has "
        "doubles, and the last of the duplicates",
        "Money is no double. What a reader makes of duplicates is the reader's affair.",
        ("expand_json/many_digits:value.a", "expand_json_verbatim/duplicate_keys:value"),
    ),
    Choice(
        "With `expand_json` text that is no JSON is parked with the reason `bad_json`; Debezium warns in its log and "
        "sends a string",
        "A consumer that was promised JSON documents would fail on it, later and with less to go by.",
        tuple(
            f"expand_json_text/{row}:record"
            for row in (
                "no_json",
                "lines",
                "unicode",
                "broken_json",
                "empty",
                "blank",
                "control_characters",
                "no_break_space",
            )
        ),
    ),
    Choice(
        "With `expand_json` a NULL payload is a null value; Debezium's JsonConverter writes the four letters `null`",
        "NULL is a null value under every setting, as it is in Debezium with the other converters. On a compacted "
        "topic it deletes the key: leave such rows out with a route (`when`, `drop`) if they are not meant so.",
        ("expand_json/null:value", "expand_json_text/null:value"),
    ),
    Choice(
        "`numeric` fields are decimal numbers, in arrays too; Debezium has base64 of their bytes in JSON, an object of "
        "scale and base64 where the column has no precision, and null for NaN",
        "A number that a consumer can read, with every digit.",
        (
            "fields_in_envelope/*:value.its_a_numeric",
            "fields_in_*:*a_free_numeric",
            "more_types_in_envelope/usual:value.a_whole_numeric",
            "more_types_in_envelope/usual:value.a_numeric_array",
        ),
    ),
    Choice(
        "`interval` fields are as Postgres prints them; Debezium counts microseconds, with 30.4375 days in a month",
        "How long a month is depends on the month.",
        ("fields_in_*:*an_interval",),
    ),
    Choice(
        "`real` and `double precision` in headers are as Postgres prints them: 1e+21; Debezium has Java's 1.0E21",
        "The same number; every language reads both.",
        (
            "fields_in_headers/other:headers.a_real",
            "fields_in_headers/other:headers.a_double",
            "more_types_in_headers/usual:headers.a_double_array",
        ),
    ),
    Choice(
        "The infinities of `timestamp` and `date`, and years after 9999, are as Postgres prints them; Debezium has "
        "numbers for the former (for dates one in the past) and `+12026-…` for the latter",
        "A far date that was never meant is worse than a word.",
        (
            "fields_in_*/endless:*a_timestamp",
            "fields_in_*/endless:*a_date",
            "fields_in_*/far:*a_timestamptz",
        ),
    ),
    Choice(
        "`money`, `bit`, `varbit` and `point` fields are text as Postgres prints it; Debezium has a numeric without "
        "its currency, booleans, base64 of bytes in reverse order, and an object",
        "Rare in an outbox, and readable.",
        (
            "more_types_in_*:*.a_money",
            "more_types_in_*:*.a_bit",
            "more_types_in_*:*.bits",
            "more_types_in_*:*.a_varbit",
            "more_types_in_*:*.a_point",
        ),
    ),
    Choice(
        "Arrays of an enum are one string, as Postgres prints them; Debezium looks up in the catalog what they are "
        "made of",
        "The stream names a user's type and does not say what it is; the relay asks the catalog for nothing per row.",
        ("more_types_in_*:*.an_enum_array",),
    ),
    Choice(
        "Arrays of several dimensions are whole; Debezium has nulls for the inner arrays",
        "Nothing is lost.",
        ("fields_in_*/far:*an_int_array",),
    ),
    Choice(
        "A record whose time is 1970-01-01 00:00:00 exactly gets the time at which it is sent",
        "librdkafka takes 0 for the present.",
        ("event_timestamp/epoch:timestamp_ms",),
        needs_broker=True,
    ),
)


def unexplained(found: Iterable[str], choices: tuple[Choice, ...] = CHOICES) -> list[str]:
    """Those of the places found that no choice covers."""
    chosen = [pattern for choice in choices for pattern in choice.places]
    return [place for place in found if not any(fnmatchcase(place, pattern) for pattern in chosen)]


def stale_places(found: Iterable[str], choices: tuple[Choice, ...] = CHOICES, *, has_broker: bool = True) -> list[str]:
    """Patterns of choices that cover none of the places found."""
    places = list(found)
    visible = [choice for choice in choices if has_broker or not choice.needs_broker]
    patterns = [pattern for choice in visible for pattern in choice.places]
    return [pattern for pattern in patterns if not any(fnmatchcase(place, pattern) for place in places)]
