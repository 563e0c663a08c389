"""librdkafka's headers, used again: it allocates and frees each one alone, which was most of what nine of them cost.

Records of one form, with the same names and with values of the same sizes, get the headers of one that was delivered, with
other values written over. librdkafka reads them only while a record is out, and changes nothing in them. They are used in
the order in which they were made, round and round: in any other order each is a miss of every cache, and nothing is won.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.ref cimport Py_CLEAR, Py_DECREF, Py_INCREF, Py_XDECREF, PyObject
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp, memcpy

from cdc_relay.native.rdkafka cimport Headers, library

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef enum:
    MOST_KEPT_BYTES = 24 << 20  # nine headers each for the 20,000 records that are out at once by default
    OVERHEAD = 64  # of each header, and twice of the set
    MOST_REFUSED = 20_000
    MOST_AT_ONCE = 128
    LEAST_HEADERS = 4  # fewer cost so little that the 5 MB of those of the default route would be for nothing
    MOST_BYTES = 2_048  # of values; larger ones are not worth keeping
    UNFIT = -2


cdef class HeaderStock:
    def __dealloc__(self):
        cdef size_t place
        for place in range(FORM_COUNT):
            self._end(&self._forms[place])

    cdef Bundle* take(self, list headers) except? NULL:
        """NULL: there are none. What is no header is refused."""
        cdef Py_ssize_t sizes[MOST_HEADERS]
        cdef Py_ssize_t place, count = len(headers), total = 0
        cdef size_t mark = <size_t>count
        cdef Form* form
        if not count:
            return NULL
        if count < LEAST_HEADERS or count > MOST_HEADERS:
            return self._make(headers, NULL)
        for place in range(count):
            sizes[place] = _size_of(headers[place])
            if sizes[place] == UNFIT:
                return self._make(headers, NULL)
            total += sizes[place]
            mark = (mark * 1_000_003) ^ <size_t>hash((<tuple>headers[place])[0]) ^ <size_t>sizes[place]
        if total > MOST_BYTES:
            return self._make(headers, NULL)
        form = &self._forms[mark % FORM_COUNT]
        if not _is_of(form, headers, sizes):
            self._begin(form, headers, sizes, total)
        return self._next(form, headers)

    cdef void give_back(self, Bundle* bundle) noexcept:
        """Whether its record was delivered or its headers are gone."""
        bundle.is_out = False
        if bundle.stamp and bundle.stamp == self._forms[bundle.place].stamp:
            self._forms[bundle.place].out_count -= 1
        else:
            _destroy(bundle)

    cdef Bundle* _next(self, Form* form, list headers) except NULL:
        cdef Bundle* bundle
        cdef Py_ssize_t place
        if 16 * form.out_count >= 15 * form.ring_count and not self._grow(form, headers):
            return self._make(headers, NULL)
        while form.ring[form.hand].is_out:  # those of a slow partition; one in sixteen is not
            _turn(form)
        bundle = form.ring[form.hand]
        if bundle.headers is NULL:
            bundle.headers = _pack(headers)
            _find_values(bundle, form.count)
        for place in range(form.count):
            if form.sizes[place] > 0 and not _is_shared(form, place, (<tuple>headers[place])[1]):
                memcpy(bundle.values[place], PyBytes_AS_STRING((<tuple>headers[place])[1]), form.sizes[place])
        bundle.is_out = True
        form.out_count += 1
        self.reused_count += 1
        _turn(form)
        return bundle

    cdef bint _grow(self, Form* form, list headers) except -1:
        """More and more at a time: what is made together lies together."""
        cdef Py_ssize_t count = max(1, min(form.ring_count, MOST_AT_ONCE))
        cdef Py_ssize_t first = form.ring_count
        cdef Bundle** ring
        if not self._has_room(form, count * form.size):
            return False
        ring = <Bundle**>realloc(form.ring, (form.ring_count + count) * sizeof(Bundle*))
        if ring is NULL:
            raise MemoryError
        form.ring = ring
        try:
            for _ in range(count):
                ring[form.ring_count] = self._make(headers, form)
                form.ring_count += 1
                self.kept_count += 1
                self._kept_bytes += form.size
        except:  # no memory: the new ones say something that the others of the form do not
            self._end(form)
            raise
        form.hand = first
        return True

    cdef bint _has_room(self, Form* form, Py_ssize_t size) noexcept:
        """Where a form that has little of it is refused for long, what is kept is of forms that nobody wants any more."""
        cdef size_t place
        if self._kept_bytes + size <= MOST_KEPT_BYTES:
            self._refused_count = 0
            return True
        if 2 * form.ring_count * form.size < MOST_KEPT_BYTES:
            self._refused_count += 1
        if self._refused_count > MOST_REFUSED:
            self._refused_count = 0
            for place in range(FORM_COUNT):
                self._end(&self._forms[place])
        return False

    cdef Bundle* _make(self, list headers, Form* form) except NULL:
        """With no form it is for one record only."""
        cdef Py_ssize_t count = 0 if form is NULL else form.count
        cdef Bundle* bundle = <Bundle*>malloc(sizeof(Bundle) - (MOST_HEADERS - count) * sizeof(char*))
        if bundle is NULL:
            raise MemoryError
        bundle.is_out, bundle.stamp, bundle.place = form is NULL, 0, 0
        try:
            bundle.headers = _pack(headers)
        except:  # whatever it is, it is not ours to keep
            free(bundle)
            raise
        if form is not NULL:
            bundle.stamp, bundle.place = form.stamp, form - self._forms
            _find_values(bundle, count)
        return bundle

    cdef int _begin(self, Form* form, list headers, const Py_ssize_t* sizes, Py_ssize_t total) except -1:
        """In the place of whatever form was there."""
        cdef Py_ssize_t place
        self._end(form)
        for place in range(len(headers)):
            name, content = <tuple>headers[place]
            Py_INCREF(name)
            Py_INCREF(content)
            form.names[place], form.shared[place], form.sizes[place] = <PyObject*>name, <PyObject*>content, sizes[place]
            total += len(<str>name)
        form.count, form.size = len(headers), total + (len(headers) + 2) * OVERHEAD
        self._last_stamp += 1
        form.stamp = self._last_stamp
        return 0

    cdef void _end(self, Form* form) noexcept:
        """Bundles that are out go when they come back."""
        cdef Py_ssize_t place
        for place in range(form.ring_count):
            if not form.ring[place].is_out:
                _destroy(form.ring[place])
        for place in range(form.count):
            Py_DECREF(<object>form.names[place])
            Py_XDECREF(form.shared[place])
        free(form.ring)
        self.kept_count -= form.ring_count
        self._kept_bytes -= form.ring_count * form.size
        form.ring = NULL
        form.stamp = form.count = form.size = form.ring_count = form.out_count = form.hand = 0


cdef inline void _turn(Form* form) noexcept:
    form.hand = 0 if form.hand + 1 >= form.ring_count else form.hand + 1


cdef inline Py_ssize_t _size_of(object header) noexcept:
    """Of its value; -1 without one, UNFIT for what is no header."""
    if type(header) is not tuple or len(<tuple>header) != 2 or type((<tuple>header)[0]) is not str:
        return UNFIT
    content = (<tuple>header)[1]
    if content is None:
        return -1
    return PyBytes_GET_SIZE(content) if type(content) is bytes else UNFIT


cdef bint _is_of(const Form* form, list headers, const Py_ssize_t* sizes) except -1:
    cdef Py_ssize_t place
    if form.count != len(headers):
        return False
    for place in range(form.count):
        if form.sizes[place] != sizes[place]:
            return False
        name = (<tuple>headers[place])[0]
        if <PyObject*>name is not form.names[place] and name != <object>form.names[place]:
            return False
    return True


cdef inline bint _is_shared(Form* form, Py_ssize_t place, object content) noexcept:
    """Whether all bundles of the form say it there already: then none is written to, or even looked at."""
    cdef PyObject* shared = form.shared[place]
    if shared is <PyObject*>content:
        return True
    if shared is NULL:
        return False
    if not memcmp(PyBytes_AS_STRING(<object>shared), PyBytes_AS_STRING(content), form.sizes[place]):
        return True
    Py_CLEAR(form.shared[place])
    return False


cdef Headers* _pack(list headers) except NULL:
    cdef Headers* packed = library.headers_new(len(headers))
    try:
        for header in headers:
            _add(packed, header)
    except:  # whatever it is, it is not ours to keep
        library.headers_destroy(packed)
        raise
    return packed


cdef int _add(Headers* headers, object header) except -1:
    cdef Py_ssize_t name_size, size = 0
    cdef const char* name
    cdef const char* start = NULL
    if type(header) is not tuple or len(<tuple>header) != 2:
        raise TypeError("expected a header as a tuple of two")
    name = PyUnicode_AsUTF8AndSize((<tuple>header)[0], &name_size)
    content = (<tuple>header)[1]
    if content is not None:
        if type(content) is not bytes:
            raise TypeError(f"expected bytes in a header, found {type(content).__name__}")
        start, size = PyBytes_AS_STRING(content), PyBytes_GET_SIZE(content)
    library.header_add(headers, name, name_size, start, size)
    return 0


cdef void _find_values(Bundle* bundle, Py_ssize_t count) noexcept:
    cdef Py_ssize_t place
    cdef const char* name
    cdef const void* start
    cdef size_t size
    for place in range(count):
        start = NULL
        library.header_get_all(bundle.headers, place, &name, &start, &size)
        bundle.values[place] = <char*>start


cdef void _destroy(Bundle* bundle) noexcept:
    if bundle.headers is not NULL:
        library.headers_destroy(bundle.headers)
    free(bundle)
