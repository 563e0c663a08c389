"""The compiled way through delivery.intake.Intake for what an outbox's stream is made of: Begin, rows, Commit.

It takes a frame only when nothing about it is unusual, and has changed nothing when it does not: then Intake decides, in
Python, and words every error. A row on a plain route (routing.plan.Plain) is cut out of the frame without its other columns.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.tuple cimport PyTuple_New
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp

from cdc_relay.native.events cimport EventBuild
from cdc_relay.native.ledger cimport Ledger, Transaction, Window
from cdc_relay.native.tuples cimport new8, put

from cdc_relay.model import DROPPED, Record, Ticket
from cdc_relay.delivery.outcome import make_ticket

cdef enum:
    KEEPALIVE_SIZE = 18
    HEADER = 25  # of an XLogData frame; behind it is the pgoutput message
    MAX_COLUMNS = 256  # of a row that is taken here
    CACHE_LIMIT = 10_000
    MAX_FIELDS = 8  # of those that decide about a route, and of those that name an event
    MAX_PARTS = 16  # of a row that becomes a CloudEvent
    PLAIN_KEY = 1  # where the parts of a plain row are
    PLAIN_PAYLOAD = 2

cdef int64_t EPOCH_US = 946_684_800_000_000  # 2000-01-01, from which Postgres counts
cdef int64_t LATEST_US = 0x7FFF_FFFF_FFFF_FFFF - EPOCH_US

cdef object _record = Record
cdef object _ticket = Ticket
cdef object _dropped = DROPPED
cdef object _id_header = "id"
cdef object _any_partition = -1


cdef inline uint32_t _uint32(const uint8_t* at) noexcept nogil:
    return (<uint32_t>at[0] << 24) | (<uint32_t>at[1] << 16) | (<uint32_t>at[2] << 8) | at[3]


cdef inline uint64_t _uint64(const uint8_t* at) noexcept nogil:
    return (<uint64_t>_uint32(at) << 32) | _uint32(at + 4)


cdef class _PlainRecall:
    """As a Recall of the model: a plain record's only header is what its ticket begins with."""

    def recall(self, ticket):
        return [(_id_header, ticket.event[0])]


cdef object _plain_recall = _PlainRecall()


cdef class _Shape:
    """How the rows of one relation are cut: its plan, and where the plain routes find their parts."""

    cdef object plan
    cdef object origin
    cdef object pick_event
    cdef Py_ssize_t column_count
    cdef bint is_plain  # the deciding fields are columns, so the destination may be known by them
    cdef int depends_count
    cdef int depends[MAX_FIELDS]
    cdef int unless  # a column in which only NULL is plain, or -1
    cdef int event_count
    cdef int event[MAX_FIELDS]
    cdef dict known
    cdef bytes last_value  # of the one deciding column, and where such rows go
    cdef _Way last_way
    cdef dict ways  # by the values that decide

    def __init__(self, plan):
        self.plan = plan
        self.origin = plan.origin
        self.pick_event = plan.event
        self.column_count = plan.column_count
        self.ways = {}
        plain = plan.plain
        self.is_plain = plain is not None and len(plain.depends) <= MAX_FIELDS and len(plain.event) <= MAX_FIELDS
        if not self.is_plain:
            return
        self.known = plain.known
        self.unless = plain.unless
        self.depends_count, self.event_count = len(plain.depends), len(plain.event)
        for place, index in enumerate(plain.depends):
            self.depends[place] = index
        for place, index in enumerate(plain.event):
            self.event[place] = index

    cdef _Way find_way(self, object key):
        """None: not seen yet, or not plain."""
        cdef _Way way = <_Way>self.ways.get(key)
        if way is None:
            destination = self.known.get(key)
            if destination is None:
                return None
            if len(self.ways) >= CACHE_LIMIT:
                self.ways.clear()
            way = self.ways[key] = _Way(destination)
        return way if way.is_plain or way.event_build is not None else None


cdef class _Way:
    """Where a row goes, and which columns its record is made of."""

    cdef bint is_plain
    cdef EventBuild event_build
    cdef object topic
    cdef object policy
    cdef int part_count
    cdef int parts[MAX_PARTS]

    def __init__(self, destination):
        self.topic, self.policy = destination.topic, destination.policy
        columns = getattr(destination.build, "columns", None)
        if columns is None or len(columns) > MAX_PARTS:
            return
        if isinstance(destination.build, EventBuild):
            self.event_build = destination.build
        else:
            self.is_plain = True
        self.part_count = len(columns)
        for place, column in enumerate(columns):
            self.parts[place] = column


cdef class Lane:
    cdef object _intake
    cdef object _take_any  # Intake's own way, for all that is unusual
    cdef dict _plans
    cdef dict _shapes
    cdef object _parked
    cdef bint _has_passed_parked
    cdef Ledger _ledger
    cdef Window _window
    cdef Py_ssize_t _largest
    cdef bint _has_shape  # the next two are the latest row's
    cdef uint32_t _relation_id
    cdef _Shape _shape
    cdef const uint8_t* _starts[MAX_COLUMNS]
    cdef Py_ssize_t _sizes[MAX_COLUMNS]  # -1: NULL

    def __init__(self, intake, take_any, *, dict plans, parked):
        self._intake = intake
        self._take_any = take_any
        self._plans = plans
        self._shapes = {}
        self._parked = parked
        self._ledger = intake.ledger
        self._window = intake.window

    def take(self, frame):
        """As Intake.take."""
        cdef const uint8_t* data
        cdef Py_ssize_t size
        cdef uint8_t kind
        if type(frame) is bytes:
            data, size = <const uint8_t*>PyBytes_AS_STRING(frame), PyBytes_GET_SIZE(frame)
            if size == KEEPALIVE_SIZE and data[0] == b"k" and data[17] == 0 and self._pass_idle(data):
                return None
            if size > HEADER + 8 and data[0] == b"w":
                kind = data[HEADER]
                if kind == b"I":
                    if data[HEADER + 5] == b"N" and self._can_take(data, size):
                        return self._take_row()
                elif kind == b"B":
                    if size == HEADER + 21 and self._begin(data):
                        self._note_size(size)
                        return None
                elif kind == b"C" and size == HEADER + 26 and self._commit(data):
                    self._note_size(size)
                    return None
                elif kind == b"R":
                    self._forget_shapes()
        else:
            self._forget_shapes()  # whatever it is
        return self._take_any(frame)

    cdef void _forget_shapes(self) except *:
        """A Relation says something new."""
        self._has_shape = False
        self._shapes.clear()

    cdef bint _pass_idle(self, const uint8_t* data) except -1:
        """A keepalive that wants no answer: one comes with each transaction while the stream is caught up."""
        cdef uint64_t wal_end = _uint64(data + 1)
        if self._has_passed_parked or self._parked.is_passed:
            self._ledger.pass_by(wal_end)
            if self._ledger.current is None:
                self._intake.idle_lsn = wal_end
                self._intake.lag_us = 0
            return True
        return False

    cdef bint _begin(self, const uint8_t* data) except -1:
        cdef int64_t time = <int64_t>_uint64(data + HEADER + 9), send_time = <int64_t>_uint64(data + 17)
        if self._ledger.current is not None or time < 0 or time > LATEST_US or send_time < 0 or send_time > LATEST_US:
            return False
        self._ledger.pass_by(_uint64(data + 1))
        self._ledger.open(_uint64(data + HEADER + 1), time + EPOCH_US, _uint32(data + HEADER + 17))
        self._intake.lag_us = send_time - time
        return True

    cdef bint _commit(self, const uint8_t* data) except -1:
        cdef int64_t time = <int64_t>_uint64(data + HEADER + 18), send_time = <int64_t>_uint64(data + 17)
        cdef uint64_t end_lsn = _uint64(data + HEADER + 10)
        if not self._has_passed_parked:
            return False
        if data[HEADER + 1] or self._ledger.current is None or end_lsn <= self._ledger._last_lsn:
            return False
        if time < 0 or time > LATEST_US or send_time < 0 or send_time > LATEST_US:
            return False
        self._ledger.pass_by(_uint64(data + 1))
        self._ledger.close(end_lsn)
        self._intake.idle_lsn = 0
        self._intake.transaction_count += 1
        self._intake.lag_us = send_time - time
        return True

    cdef bint _can_take(self, const uint8_t* data, Py_ssize_t size) except -1:
        """Whether it is a row that its relation describes, of a transaction; finds its columns."""
        if not self._has_passed_parked:
            if not self._parked.is_passed:
                return False
            self._has_passed_parked = True
        if self._ledger.current is None or not self._find_shape(_uint32(data + HEADER + 1)):
            return False
        if not self._find_columns(data, size):
            return False
        self._note_size(size)
        return True

    cdef inline int _note_size(self, Py_ssize_t size) except -1:
        if size > self._largest:
            self._largest = size
            if size > self._intake.largest_frame_bytes:
                self._intake.largest_frame_bytes = size
        return 0

    cdef bint _find_shape(self, uint32_t relation_id) except -1:
        if self._has_shape and self._relation_id == relation_id:
            return True
        shape = self._shapes.get(relation_id)
        if shape is None:
            plan = self._plans.get(relation_id)
            if plan is None:  # not described, or no outbox
                return False
            shape = self._shapes[relation_id] = _Shape(plan)
        self._shape, self._relation_id, self._has_shape = shape, relation_id, True
        return True

    cdef bint _find_columns(self, const uint8_t* data, Py_ssize_t size) noexcept:
        cdef const uint8_t* at = data + HEADER + 6
        cdef const uint8_t* end = data + size
        cdef Py_ssize_t column, count
        cdef uint32_t length
        if end - at < 2:
            return False
        count = (at[0] << 8) | at[1]
        at += 2
        if count != self._shape.column_count or count > MAX_COLUMNS:
            return False
        for column in range(count):
            if at == end:
                return False
            if at[0] == b"t":
                if end - at < 5:
                    return False
                length = _uint32(at + 1)
                at += 5
                if length > <size_t>(end - at):
                    return False
                self._starts[column], self._sizes[column] = at, length
                at += length
            elif at[0] == b"n":
                self._sizes[column] = -1
                at += 1
            else:
                return False
        return at == end

    cdef object _take_row(self):
        cdef _Shape shape = self._shape
        cdef _Way way
        if shape.is_plain and (shape.unless < 0 or self._sizes[shape.unless] < 0):
            way = self._way(shape)
            if way is not None and way.event_build is not None:
                return self._take_event(shape, way)
            if way is not None and (self._sizes[way.parts[PLAIN_KEY]] >= 0 or not way.policy.strict):
                return self._take_plain(shape, way)
        return self._take_routed(shape)

    cdef _Way _way(self, _Shape shape):
        cdef bytes value
        cdef int column
        if shape.depends_count != 1:
            return shape.find_way(self._values(shape.depends, shape.depends_count))
        column, value = shape.depends[0], shape.last_value
        if (
            value is not None
            and PyBytes_GET_SIZE(value) == self._sizes[column]
            and not memcmp(PyBytes_AS_STRING(value), self._starts[column], self._sizes[column])
        ):
            return shape.last_way
        value = self._value(column)
        way = shape.find_way(value)
        if way is not None:
            shape.last_value, shape.last_way = value, way
        return way

    cdef object _take_plain(self, _Shape shape, _Way way):
        cdef Transaction transaction = self._ledger.current
        cdef int key_column = way.parts[PLAIN_KEY], payload_column = way.parts[PLAIN_PAYLOAD]
        cdef Py_ssize_t size = 2
        cdef tuple event = self._values(shape.event, shape.event_count)
        key, value, event_id = self._value(key_column), self._value(payload_column), event[0]
        size += max(0, self._sizes[shape.event[0]]) + max(0, self._sizes[key_column])
        size += max(0, self._sizes[payload_column])
        headers = [(_id_header, event_id)]
        timestamp_ms = transaction.commit_time_us // 1000
        record = new8(_record, way.topic, key, value, headers, timestamp_ms, size, way.policy, _any_partition)
        ordinal = self._add(transaction)
        ticket = new8(_ticket, transaction, ordinal, shape.origin, size, event, _plain_recall, way.topic, way.policy)
        self._window.take(size)
        return record, ticket

    cdef object _take_event(self, _Shape shape, _Way way):
        """As Plan.route, which a row that is not usual is left to: it words the refusal."""
        cdef Transaction transaction = self._ledger.current
        cdef EventBuild build = way.event_build
        cdef object ordinal = self._add(transaction)
        cdef tuple parts = self._values(way.parts, way.part_count)
        record = build.build(parts, way.topic, transaction, ordinal, transaction.commit_time_us // 1000)
        if record is None:
            parts = None  # a large payload is not wanted twice
            return self._route(shape, transaction, ordinal)
        headers = build if build.can_recall else (<tuple>record)[3]
        size = (<tuple>record)[5]
        ticket = new8(
            _ticket, transaction, ordinal, shape.origin, size, build.event_of(parts), headers, way.topic, way.policy
        )
        self._window.take(size)
        return record, ticket

    cdef object _take_routed(self, _Shape shape):
        cdef Transaction transaction = self._ledger.current
        return self._route(shape, transaction, self._add(transaction))

    cdef object _route(self, _Shape shape, Transaction transaction, object ordinal):
        cdef tuple row = self._all_values(shape.column_count)
        routed = shape.plan.route(row, transaction, ordinal, transaction.commit_time_us // 1000)
        if routed is _dropped:
            self._intake.dropped_count += 1
            self._ledger.settle_one(transaction)
            return None
        event = shape.pick_event(row)
        if type(routed) is _record:
            ticket = new8(
                _ticket, transaction, ordinal, shape.origin, (<tuple>routed)[5], event, (<tuple>routed)[3],
                (<tuple>routed)[0], (<tuple>routed)[6],
            )
        else:
            ticket = make_ticket(routed, event, plan=shape.plan, transaction=transaction, ordinal=ordinal)
        self._window.take((<tuple>ticket)[3])
        return routed, ticket

    cdef inline object _add(self, Transaction transaction):
        cdef int64_t ordinal = transaction.record_count
        transaction.record_count = ordinal + 1
        transaction.open_count += 1
        return ordinal

    cdef inline object _value(self, int column):
        if self._sizes[column] < 0:
            return None
        return PyBytes_FromStringAndSize(<const char*>self._starts[column], self._sizes[column])

    cdef tuple _values(self, const int* columns, int count):
        cdef tuple values = PyTuple_New(count)
        cdef int place
        for place in range(count):
            put(values, place, self._value(columns[place]))
        return values

    cdef tuple _all_values(self, Py_ssize_t count):
        cdef tuple values = PyTuple_New(count)
        cdef Py_ssize_t place
        for place in range(count):
            put(values, place, self._value(place))
        return values
