"""What the lane may call without Python in between."""

from libc.stdint cimport int64_t

from cdc_relay.native.ledger cimport Transaction


cdef class EventBuild:
    cdef readonly object fallback
    cdef readonly tuple columns  # of the parts
    cdef readonly bint can_recall
    cdef object _policy
    cdef tuple _event_columns  # what Ticket.event has, in its order
    cdef tuple _event_parts  # and which parts they are
    cdef object _iso_utc
    cdef Transaction _transaction
    cdef char _sequence[25]

    cdef object build(self, tuple parts, object topic, object transaction, object ordinal, object timestamp_ms)
    cdef tuple event_of(self, tuple parts)
    cdef object _make(self, tuple parts, object topic, object timestamp_ms)
    cdef bint _note(self, object transaction) except -1
    cdef int _note_time(self, bytes time) except -1


cdef class BinaryEvents(EventBuild):
    cdef list _more  # names
    cdef object _version
    cdef object _source
    cdef object _content_type
    cdef object _id_name
    cdef object _kind_name
    cdef object _time_name
    cdef object _sequence_name
    cdef Py_ssize_t _fixed_size
    cdef object _time  # the header

    cdef list _headers(self, tuple parts)


cdef class StructuredEvents(EventBuild):
    cdef bytes _before_id
    cdef bytes _before_kind
    cdef list _before_more
    cdef bytes _before_time
    cdef bytes _before_sequence
    cdef bytes _before_data
    cdef list _headers
    cdef Py_ssize_t _headers_size
    cdef Py_ssize_t _fixed_size
    cdef bytes _time

    cdef Py_ssize_t _size(self, tuple parts) except -1
