"""Faults planted in librdkafka itself, by functions that the Python client does not expose."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import TYPE_CHECKING, cast

import confluent_kafka
import pytest
from confluent_kafka import Producer as Client

from cdc_relay.sinks.client_producer import ClientProducer
from cdc_relay.sinks.kafka import KafkaSink
from cdc_relay.sinks.producer import Producer
from tests.fixtures.kafka_broker import MockKafka

if TYPE_CHECKING:
    from cdc_relay.native.producer import Producer as NativeProducer

__all__ = ["break_for_good", "refuse_produce"]

OUT_OF_ORDER_SEQUENCE_NUMBER = 45
_PRODUCE = 0  # the number of the request


def break_for_good(sink: KafkaSink) -> None:
    """A fatal error in the living producer, by librdkafka's own test function.

    The Python client does not expose it, and no broker can be made to cause one at will: so it is called in the library
    that the client's wheel carries.
    """
    raise_fatal = _librdkafka().rd_kafka_test_fatal_error
    raise_fatal.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p]
    assert raise_fatal(_handle_of(sink._main.producer), OUT_OF_ORDER_SEQUENCE_NUMBER, b"planted by the test") == 0


def refuse_produce(kafka: MockKafka, code: int) -> None:
    """The mock cluster's next produce request gets this error."""
    library = _librdkafka()
    library.rd_kafka_handle_mock_cluster.argtypes = [ctypes.c_void_p]
    library.rd_kafka_handle_mock_cluster.restype = ctypes.c_void_p
    cluster = library.rd_kafka_handle_mock_cluster(_client_handle(kafka.producer))
    push_errors = library.rd_kafka_mock_push_request_errors_array
    push_errors.argtypes = [ctypes.c_void_p, ctypes.c_int16, ctypes.c_size_t, ctypes.POINTER(ctypes.c_int)]
    push_errors(cluster, _PRODUCE, 1, ctypes.byref(ctypes.c_int(code)))


def _handle_of(producer: Producer) -> ctypes.c_void_p:
    """librdkafka's own: of ours, or of the client's, which keeps it right behind its object header."""
    if isinstance(producer, ClientProducer):
        return _client_handle(producer.client)
    return ctypes.c_void_p(cast("NativeProducer", producer).handle)


def _client_handle(client: Client) -> ctypes.c_void_p:
    return ctypes.c_void_p.from_address(id(client) + object.__basicsize__)


def _librdkafka() -> ctypes.CDLL:
    package = Path(confluent_kafka.__file__).parent
    carried = [*package.parent.glob("confluent_kafka.libs/librdkafka*"), *package.glob(".dylibs/librdkafka*")]
    if not carried:
        pytest.skip("this build of confluent_kafka carries no librdkafka of its own")
    return ctypes.CDLL(str(carried[0]))
