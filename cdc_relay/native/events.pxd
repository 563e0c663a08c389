"""What the lane may call without Python in between."""

from libc.stdint cimport int64_t

from cdc_relay.native.ledger cimport Transaction


cdef class EventBuild:
    cdef readonly object fallback
    cdef object _policy
    cdef int _id
    cdef int _kind
    cdef int _key
    cdef int _payload
    cdef list _more
    cdef object _version
    cdef object _source
    cdef object _content_type
    cdef object _id_name
    cdef object _kind_name
    cdef object _time_name
    cdef object _sequence_name
    cdef object _key_name
    cdef Py_ssize_t _fixed_size
    cdef object _iso_utc
    cdef Transaction _transaction
    cdef object _time
    cdef char _sequence[25]

    cdef object build(self, tuple row, object topic, object transaction, object ordinal, object timestamp_ms)
    cdef object _iso_of(self, int64_t time_us)
    cdef bint _note(self, object transaction) except -1
