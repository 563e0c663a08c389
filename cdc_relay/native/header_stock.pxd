from cpython.ref cimport PyObject
from libc.stdint cimport uint64_t

from cdc_relay.native.rdkafka cimport Headers

cdef enum:
    MOST_HEADERS = 16  # of a record whose headers are used again
    FORM_COUNT = 128


cdef struct Bundle:  # the headers of one record
    Headers* headers  # NULL: they went with a record that was not delivered
    size_t place  # of its form
    uint64_t stamp  # of its form; 0: it has none
    bint is_out
    char* values[MOST_HEADERS]  # where librdkafka has them; there is room for as many as it has headers


cdef struct Form:  # whose bundles may be written over
    uint64_t stamp  # 0: nobody's yet
    Py_ssize_t count
    PyObject* names[MOST_HEADERS]
    Py_ssize_t sizes[MOST_HEADERS]  # -1: no value
    PyObject* shared[MOST_HEADERS]  # values that every bundle has had so far; NULL where they differ
    Py_ssize_t size  # of one bundle, more or less
    Bundle** ring
    Py_ssize_t ring_count
    Py_ssize_t out_count
    Py_ssize_t hand  # whose turn it is in the ring


cdef class HeaderStock:
    cdef Form _forms[FORM_COUNT]
    cdef uint64_t _last_stamp
    cdef Py_ssize_t _kept_bytes
    cdef Py_ssize_t _refused_count
    cdef readonly size_t kept_count
    cdef readonly size_t reused_count

    cdef Bundle* take(self, list headers) except? NULL
    cdef void give_back(self, Bundle* bundle) noexcept
    cdef Bundle* _next(self, Form* form, list headers) except NULL
    cdef bint _grow(self, Form* form, list headers) except -1
    cdef bint _has_room(self, Form* form, Py_ssize_t size) noexcept
    cdef Bundle* _make(self, list headers, Form* form) except NULL
    cdef int _begin(self, Form* form, list headers, const Py_ssize_t* sizes, Py_ssize_t total) except -1
    cdef void _end(self, Form* form) noexcept
