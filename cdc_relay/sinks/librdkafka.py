"""Finds librdkafka for the compiled producer: the very library that the Python client is linked with."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import TYPE_CHECKING

from confluent_kafka import cimpl

from cdc_relay.native import is_native

if TYPE_CHECKING:
    from cdc_relay.native.producer import Producer

__all__ = ["find_native_producer"]

_KNOWN_MAJORS = (1, 2)  # whose structs are as native.rdkafka has them
_PREFIX = "rd_kafka_"


@cache
def find_native_producer() -> type[Producer] | None:
    """None where nothing is compiled, or where this librdkafka cannot be called so."""
    if not is_native:
        return None
    from cdc_relay.native.producer import Producer
    from cdc_relay.native.rdkafka import NAMES, connect

    addresses = _find_addresses(NAMES)
    if addresses is None:
        return None
    connect(addresses)
    return Producer


def _find_addresses(names: tuple[str, ...]) -> list[int] | None:
    """Through the client's own module, which brings its library along, wherever that is."""
    try:
        library = ctypes.CDLL(str(cimpl.__file__))
        if library.rd_kafka_version() >> 24 not in _KNOWN_MAJORS:
            return None
        return [_address_of(library[_PREFIX + name]) for name in names]
    except (AttributeError, OSError):
        return None


def _address_of(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]  # a function pointer, says ctypes
