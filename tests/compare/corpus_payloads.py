"""The corpus's payloads and keys: what may be in a column that becomes a value or a key. Data only."""

from __future__ import annotations

from tests.compare.case import Row

__all__ = ["EXPANDED_PAYLOADS", "JSON_PAYLOADS", "KEYS", "TEXTS", "VERBATIM_PAYLOADS"]

BIG = '{"int64": 9223372036854775807, "beyond": 123456789012345678901234567890, "exact": 1.10, "tiny": 1E-400}'
NESTED = '{"order": {"id": 17, "lines": [{"sku": "a", "count": 2}, {"sku": "b", "count": 3}]}, "paid": true}'
UNICODE = '{"name": "Zoë 🚀 \\u00e9 \\"quoted\\" \\\\ / \\n", "ключ": "значение", "line": "\\u2028"}'

JSON_PAYLOADS: dict[str, str | None] = {
    "plain": '{"id": 17, "total": 12.5, "note": "first"}',
    "nested": NESTED,
    "unicode": UNICODE,
    "null": None,
    "json_null": "null",
    "number": "42",
    "text": '"text"',
    "boolean": "true",
    "empty_object": "{}",
    "empty_array": "[]",
    "array": "[1, 2, 3]",
    "big_numbers": BIG,
}
EXPANDED_PAYLOADS: dict[str, str | None] = {
    "null_member": '{"a": null, "b": 1}',
    "only_null_member": '{"a": null}',
    "empty_array_member": '{"a": [], "b": 1}',
    "empty_object_member": '{"a": {}, "b": 1}',
    "mixed_array": '{"a": [1, "x"], "b": 1}',
    "null_in_array": '{"a": [1, null, 2]}',
    "array_of_nulls": '{"a": [null, null]}',
    "ints_and_longs": '{"a": [1, 3000000000]}',
    "nested_arrays": '{"a": [[1, 2], [3]]}',
    "objects_alike": '{"a": [{"x": 1}, {"x": 2}]}',
    "objects_unlike": '{"a": [{"x": 1}, {"x": 2, "y": 3}]}',
    "objects_of_other_types": '{"a": [{"x": 1}, {"x": "one"}]}',
    "long": '{"a": 9007199254740993}',
    "beyond_int64": '{"a": 123456789012345678901234567890}',
    "trailing_zero": '{"a": 12.50, "b": 1.0}',
    "many_digits": '{"a": 0.1234567890123456789}',
    "exponent": '{"a": 1e21, "b": 1e-7}',
    "array_of_objects": '[{"x": 1}]',
    "long_text": '{"a": "' + "x" * 300 + '"}',
    "dotted_keys": '{"a.b": 1, "c-d": 2, "": 3}',
}
VERBATIM_PAYLOADS: dict[str, str | None] = {
    "blanks": '  { "b" : 1,\n  "a" : [ ] }  ',
    "duplicate_keys": '{"a": 1, "b": 2, "a": 3}',
    "big_numbers": BIG,
    "escapes": '{"a": "\\u0041\\/\\u00e9"}',
}
TEXTS: dict[str, str | None] = {
    "json": '{"a":1}',
    "no_json": "plain text, with a comma",
    "lines": "one\ntwo\r\n\ttab",
    "unicode": "Zoë 🚀 значение",
    "broken_json": '{"a": 1',
    "empty": "",
    "blank": "  ",
    "control_characters": "\t\n\x01",
    "no_break_space": "\u00a0",
    "null": None,
}
KEYS: dict[str, Row] = {
    "null_key": {"aggregateid": None, "payload": "{}"},
    "empty_key": {"aggregateid": "", "payload": "{}"},
    "unicode_key": {"aggregateid": "Zoë 🚀", "payload": "{}"},
    "long_key": {"aggregateid": "k" * 300, "payload": "{}"},
    **{f"key_{number}": {"aggregateid": f"order-{number}", "payload": "{}"} for number in range(8)},
}
