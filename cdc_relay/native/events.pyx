"""The compiled way to the usual CloudEvent: attributes that are printable ASCII, a key and a payload.

It takes a row only when nothing about it is unusual; for all others, and for every refusal, it asks the `fallback`, which
is Python and the reference: routing.bound_route with routing.envelopes.cloudevents.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from cdc_relay.native.ledger cimport Transaction
from cdc_relay.native.tuples cimport new8, put

from cdc_relay.model import Record

cdef enum:
    LSN_DIGITS = 16
    ORDINAL_DIGITS = 8
    SEQUENCE_SIZE = 25  # both, and a sign between
    ISO_SIZE = 27  # of 2026-01-02T03:04:05.123456Z
    MICROSECONDS_AT = 20
    ID = 0  # where the parts of a row are
    KIND = 1
    KEY = 2
    PAYLOAD = 3
    MORE = 4
    FIXED = 3  # headers of a binary event beside one for each of its parts
    PIECE_SIZE = 1 << 20  # as in routing.payloads: what is larger is checked in pieces, by the reference

cdef object _record = Record
cdef object _any_partition = -1
cdef const char* DIGITS = "0123456789ABCDEF"


cdef class EventBuild:
    """As a Build of routing.bound_route; what both modes share.

    An event is made of a row's parts: id, type, key and payload, and `more` attributes that a row may have, by name and
    column. `event`: the columns of Ticket.event, which are all among the parts.
    """

    def __init__(self, fallback, *, policy, columns, more, event, iso_utc):
        self.fallback = fallback
        self._policy = policy
        self.columns = (*columns, *[at for _, at in more])
        self._event_columns = event
        self._event_parts = tuple([self.columns.index(at) for at in event])
        self._iso_utc = iso_utc

    def __call__(self, tuple row not None, topic, transaction, ordinal, timestamp_ms):
        parts = tuple([row[at] for at in self.columns])
        record = self.build(parts, topic, transaction, ordinal, timestamp_ms)
        return self.fallback(row, topic, transaction, ordinal, timestamp_ms) if record is None else record

    cdef object build(self, tuple parts, object topic, object transaction, object ordinal, object timestamp_ms):
        """None: the row is not usual."""
        cdef int64_t number = ordinal
        cdef Py_ssize_t place
        if type(parts[KEY]) is not bytes or type(parts[PAYLOAD]) is not bytes:
            return None
        for place in range(len(parts)):
            # An empty one is not usual: it is left out, or refused.
            if place == KEY or place == PAYLOAD or (place >= MORE and parts[place] is None):
                continue
            if not _is_plain(parts[place]):
                return None
        if number < 0 or number > 0xFFFF_FFFF or not self._note(transaction):
            return None
        _put_hex(self._sequence + LSN_DIGITS + 1, <uint64_t>number, ORDINAL_DIGITS)
        return self._make(parts, topic, timestamp_ms)

    cdef object _make(self, tuple parts, object topic, object timestamp_ms):
        """Of a usual row, whose transaction and sequence were noted. None: this mode does not take it."""
        raise NotImplementedError

    cdef tuple event_of(self, tuple parts):
        cdef Py_ssize_t place, count = len(self._event_parts)
        cdef tuple event = PyTuple_New(count)
        for place in range(count):
            put(event, place, parts[<Py_ssize_t>self._event_parts[place]])
        return event

    cdef bint _note(self, object transaction) except -1:
        """What all rows of a transaction share; False for one of another kind, or without a time."""
        if transaction is self._transaction:
            return True
        if type(transaction) is not Transaction or not (<Transaction>transaction).commit_time_us:
            return False
        self._note_time(_iso_of((<Transaction>transaction).commit_time_us, self._iso_utc))
        _put_hex(self._sequence, (<Transaction>transaction).commit_lsn, LSN_DIGITS)
        self._sequence[LSN_DIGITS] = b"-"
        self._transaction = transaction
        return True

    cdef int _note_time(self, bytes time) except -1:
        raise NotImplementedError


cdef class BinaryEvents(EventBuild):
    """Attributes are headers. Also a Recall of the model. `names` as attributes.Mapped has them."""

    def __init__(self, fallback, *, policy, columns, more, event, iso_utc, names, source, content_type):
        super().__init__(fallback, policy=policy, columns=columns, more=more, event=event, iso_utc=iso_utc)
        version_name, self._id_name, source_name, self._kind_name, self._time_name, self._sequence_name = names
        self._more = [name for name, _ in more]
        self._version, self._source = (version_name, b"1.0"), (source_name, source)
        self._content_type = ("content-type", content_type)
        named = [*names, b"1.0", source, "content-type", content_type]
        self._fixed_size = sum([len(each) for each in named]) + SEQUENCE_SIZE
        kept = {at for place, at in enumerate(self.columns) if place not in (KEY, PAYLOAD)}
        self.can_recall = kept <= set(event)

    def recall(self, ticket):
        """The headers again, of a record that was built here: all else that they say is in its ticket."""
        given = dict(zip(self._event_columns, ticket.event, strict=True))
        parts = [given.get(at) for at in self.columns]
        if not self._note(ticket.transaction):
            raise ValueError(f"{ticket} was not built here")
        _put_hex(self._sequence + LSN_DIGITS + 1, ticket.ordinal, ORDINAL_DIGITS)
        return self._headers(tuple(parts))

    cdef object _make(self, tuple parts, object topic, object timestamp_ms):
        cdef Py_ssize_t place, size = self._fixed_size
        for place in range(len(parts)):
            if parts[place] is not None:
                size += PyBytes_GET_SIZE(parts[place])
                if place >= MORE:
                    size += len(<str>self._more[place - MORE])
        size += PyBytes_GET_SIZE((<tuple>self._time)[1])
        headers = self._headers(parts)
        return new8(
            _record, topic, parts[KEY], parts[PAYLOAD], headers, timestamp_ms, size, self._policy, _any_partition
        )

    cdef list _headers(self, tuple parts):
        cdef Py_ssize_t place, count = len(parts) + FIXED
        for place in range(MORE, len(parts)):
            count -= parts[place] is None
        cdef list headers = PyList_New(count)
        _set(headers, 0, self._version)
        _set(headers, 1, (self._id_name, parts[ID]))
        _set(headers, 2, self._source)
        _set(headers, 3, (self._kind_name, parts[KIND]))
        _set(headers, count - 3, self._time)
        _set(headers, count - 2, (self._sequence_name, PyBytes_FromStringAndSize(self._sequence, SEQUENCE_SIZE)))
        _set(headers, count - 1, self._content_type)
        count = 4
        for place in range(MORE, len(parts)):
            if parts[place] is not None:
                _set(headers, count, (self._more[place - MORE], parts[place]))
                count += 1
        return headers

    cdef int _note_time(self, bytes time) except -1:
        self._time = (self._time_name, time)
        return 0


cdef class StructuredEvents(EventBuild):
    """One JSON object around a payload that is JSON. `texts` stand before id, type, `more` (a list of theirs), time,
    sequence and data; all but the last are strings, whose closing sign is written here."""

    def __init__(self, fallback, *, policy, columns, more, event, iso_utc, texts, header):
        super().__init__(fallback, policy=policy, columns=columns, more=more, event=event, iso_utc=iso_utc)
        self._before_id, self._before_kind, self._before_more, self._before_time = texts[:4]
        self._before_sequence, self._before_data = texts[4:]
        self._headers = [header]  # one list for all: nobody changes a record's
        self._headers_size = sum([len(each) for each in header])
        before = [self._before_id, self._before_kind, self._before_time, self._before_sequence, self._before_data]
        self._fixed_size = sum([len(each) for each in before]) + SEQUENCE_SIZE + 1

    cdef object _make(self, tuple parts, object topic, object timestamp_ms):
        cdef Py_ssize_t place, size
        cdef char* at
        cdef bytes value
        for place in range(len(parts)):
            if place == PAYLOAD:
                if not _is_utf_8(parts[PAYLOAD]):
                    return None
            elif place != KEY and parts[place] is not None and _must_be_escaped(parts[place]):
                return None
        size = self._size(parts)
        value = PyBytes_FromStringAndSize(NULL, size)
        at = PyBytes_AS_STRING(value)
        at = _put_string(at, self._before_id, parts[ID])
        at = _put_string(at, self._before_kind, parts[KIND])
        for place in range(MORE, len(parts)):
            if parts[place] is not None:
                at = _put_string(at, self._before_more[place - MORE], parts[place])
        at = _put_string(at, self._before_time, self._time)
        at = _put(at, self._before_sequence)
        memcpy(at, self._sequence, SEQUENCE_SIZE)
        at[SEQUENCE_SIZE] = b'"'
        at = _put(_put(at + SEQUENCE_SIZE + 1, self._before_data), parts[PAYLOAD])
        at[0] = b"}"
        size += PyBytes_GET_SIZE(parts[KEY]) + self._headers_size
        return new8(
            _record, topic, parts[KEY], value, self._headers, timestamp_ms, size, self._policy, _any_partition
        )

    cdef Py_ssize_t _size(self, tuple parts) except -1:
        """Of the value: the texts, the values, and a closing sign for each."""
        cdef Py_ssize_t place, size = self._fixed_size + PyBytes_GET_SIZE(self._time) + 1
        for place in range(len(parts)):
            if place != KEY and parts[place] is not None:
                size += PyBytes_GET_SIZE(parts[place]) + 1
                if place >= MORE:
                    size += PyBytes_GET_SIZE(self._before_more[place - MORE])
        return size

    cdef int _note_time(self, bytes time) except -1:
        self._time = time
        return 0


# Of the latest second: it is written once by Python, in 1.7 us, and its microseconds here.
cdef int64_t _told_second = -1
cdef char _told[ISO_SIZE]


cdef bytes _iso_of(int64_t time_us, object iso_utc):
    global _told_second
    cdef bytes text
    if time_us < 0 or time_us // 1_000_000 != _told_second:
        text = iso_utc(time_us).encode()
        if time_us < 0 or len(text) != ISO_SIZE:  # beyond the calendar
            return text
        memcpy(_told, PyBytes_AS_STRING(text), ISO_SIZE)
        _told_second = time_us // 1_000_000
    _put_microseconds(_told + MICROSECONDS_AT, time_us % 1_000_000)
    return PyBytes_FromStringAndSize(_told, ISO_SIZE)


cdef inline void _set(list headers, Py_ssize_t place, object header) noexcept:
    Py_INCREF(header)  # the list takes it over
    PyList_SET_ITEM(headers, place, header)


cdef inline char* _put(char* at, bytes text) noexcept:
    memcpy(at, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
    return at + PyBytes_GET_SIZE(text)


cdef inline char* _put_string(char* at, bytes before, bytes value) noexcept:
    at = _put(_put(at, before), value)
    at[0] = b'"'
    return at + 1


cdef bint _is_plain(object value) noexcept:
    """Some text, and all of it printable ASCII."""
    cdef const uint8_t* at
    cdef Py_ssize_t place, size
    if type(value) is not bytes:
        return False
    at, size = <const uint8_t*>PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value)
    for place in range(size):
        if at[place] < 0x20 or at[place] > 0x7E:
            return False
    return size > 0


cdef bint _must_be_escaped(bytes value) noexcept:
    """Of printable ASCII in JSON."""
    cdef const char* at = PyBytes_AS_STRING(value)
    cdef Py_ssize_t place
    for place in range(PyBytes_GET_SIZE(value)):
        if at[place] == b'"' or at[place] == b"\\":
            return True
    return False


cdef bint _is_utf_8(bytes value) except -1:
    """Without a second copy of it, where it is ASCII."""
    cdef const char* at = PyBytes_AS_STRING(value)
    cdef Py_ssize_t place
    cdef signed char seen = 0
    for place in range(PyBytes_GET_SIZE(value)):
        seen |= at[place]
    if seen >= 0:
        return True
    if PyBytes_GET_SIZE(value) > PIECE_SIZE:
        return False
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


cdef void _put_hex(char* at, uint64_t number, int count) noexcept:
    cdef int place
    for place in range(count - 1, -1, -1):
        at[place] = DIGITS[number & 15]
        number >>= 4


cdef void _put_microseconds(char* at, int64_t number) noexcept:
    cdef int place
    for place in range(5, -1, -1):
        at[place] = DIGITS[number % 10]
        number //= 10
