"""The compiled twin of sinks.client_producer: librdkafka without its Python client in between.

librdkafka is the client's own, known by the addresses of its functions. Its callbacks run inside poll() and flush(),
without the interpreter where a record was delivered, and only lay down what they hear: Python hears of it afterwards.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport strlen

from cdc_relay.native.rdkafka cimport *

import logging

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin._metadata import BrokerMetadata, ClusterMetadata, PartitionMetadata, TopicMetadata

from cdc_relay.model import Record

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef enum:
    SHEET = 1024  # letters are made by so many
    MOST_TOPICS = 4096  # whose handles are kept
    QUEUE_FULL = -184
    FATAL = -150

_LEVELS = {3: logging.ERROR, 4: logging.WARNING, 5: logging.INFO, 6: logging.INFO, 7: logging.DEBUG}  # of syslog

cdef object _record = Record
cdef Library _library
NAMES = (
    "conf_new", "conf_destroy", "conf_set", "conf_set_opaque", "conf_set_dr_msg_cb", "conf_set_error_cb",
    "conf_set_stats_cb", "conf_set_log_cb", "new", "destroy_flags", "set_log_queue", "opaque", "name", "last_error",
    "err2str", "fatal_error", "topic_new", "topic_destroy", "topic_name", "headers_new", "headers_destroy", "header_add",
    "produceva", "error_code", "error_destroy", "message_produce_errstr", "poll", "flush", "purge", "outq_len",
    "metadata", "metadata_destroy",
)  # in the order of Library, each with rd_kafka_ before it


def connect(list addresses):
    """Of NAMES, once per process."""
    cdef size_t* places = <size_t*>&_library
    if len(addresses) * sizeof(size_t) != sizeof(Library) or not all(addresses):
        raise ValueError("expected the address of each function")
    for index in range(len(addresses)):
        places[index] = addresses[index]


cdef struct Letter:
    PyObject* slip
    PyObject* value  # librdkafka reads it where it is, until its report
    int64_t timestamp_ms
    int32_t partition  # as it was asked for
    Letter* next


cdef struct Desk:  # what callbacks see
    PyObject* owner
    Letter** delivered
    size_t delivered_count


@cython.no_gc_clear  # topics are given back when it goes, whoever found that nobody needs it
cdef class Producer:
    cdef public list delivered
    cdef object _fail
    cdef object _on_error
    cdef object _on_statistics
    cdef object _log
    cdef Client* _client
    cdef Desk _desk
    cdef size_t _room  # for delivered letters
    cdef Letter** _sheets
    cdef size_t _sheet_count
    cdef Letter* _free
    cdef size_t _open_count
    cdef dict _topics  # handles by name
    cdef object _last_name
    cdef Topic* _last_topic
    cdef list _returned
    cdef list _heard  # calls that the callbacks ask for

    def __cinit__(self):
        self._desk.owner = <PyObject*>self
        self._topics = {}

    def __init__(self, dict properties not None, *, fail, on_error, on_statistics=None, logger):
        if _library.new is NULL:
            raise RuntimeError("librdkafka is not connected")
        if self._client is not NULL:
            raise RuntimeError("a producer is made once")
        self.delivered, self._returned, self._heard = [], [], []
        self._fail, self._on_error, self._on_statistics, self._log = fail, on_error, on_statistics, logger.log
        self._open(properties)

    cdef int _open(self, dict properties) except -1:
        cdef char text[TEXT_BYTES]
        cdef Conf* conf = _library.conf_new()
        try:
            for name, value in {**properties, "log.queue": "true"}.items():
                if _library.conf_set(conf, _text(name), _text(value), text, TEXT_BYTES) != CONF_OK:
                    raise KafkaException(KafkaError(KafkaError._INVALID_ARG, _decode(text)))
            _library.conf_set_opaque(conf, &self._desk)
            _library.conf_set_dr_msg_cb(conf, _on_report)
            _library.conf_set_error_cb(conf, _on_error)
            _library.conf_set_stats_cb(conf, _on_statistics)
            _library.conf_set_log_cb(conf, _on_log)
            self._client = _library.new(PRODUCER_TYPE, conf, text, TEXT_BYTES)
            if self._client is NULL:
                raise KafkaException(KafkaError(_library.last_error(), f"Failed to create producer: {_decode(text)}"))
            conf = NULL  # it is the client's now
        finally:
            if conf is not NULL:
                _library.conf_destroy(conf)
        _library.set_log_queue(self._client, NULL)
        return 0

    def __dealloc__(self):
        cdef Client* client = self._client
        cdef size_t sheet, index
        cdef Letter* letter
        self._desk.owner = NULL  # no callback may bring us back to life
        if client is not NULL:
            self._forget_topics()
            with nogil:
                _library.purge(client, PURGE_QUEUE | PURGE_IN_FLIGHT | PURGE_WITHOUT_WAITING)
                _library.destroy_flags(client, DESTROY_NOW)
        for sheet in range(self._sheet_count):  # whatever never got a report: nobody reads the values any more
            for index in range(SHEET):
                letter = &self._sheets[sheet][index]
                if letter.slip is not NULL:
                    Py_DECREF(<object>letter.slip)
                    Py_DECREF(<object>letter.value)
            free(self._sheets[sheet])
        free(self._sheets)
        free(self._desk.delivered)

    def __len__(self):
        return _library.outq_len(self._client)

    @property
    def handle(self):
        """librdkafka's own, for faults that only it can plant."""
        return <size_t>self._client

    def hand_out(self, sent, slip not None):
        """False when librdkafka's queue is full."""
        if type(sent) is not _record:
            raise TypeError(f"expected a Record, found {type(sent).__name__}")
        cdef tuple record = <tuple>sent
        cdef Part parts[7]
        cdef size_t count = 4
        cdef object key = record[1], value = record[2]
        cdef Letter* letter
        cdef int code
        parts[0].kind, parts[0].u.pointer = V_RKT, self._find_topic(record[0])
        parts[1].kind, parts[1].u.i32 = V_PARTITION, record[7]
        parts[2].kind, parts[2].u.i64 = V_TIMESTAMP, record[4]
        if value is not None:
            _put_memory(&parts[count], V_VALUE, value)
            count += 1
        if key is not None:
            _put_memory(&parts[count], V_KEY, key)
            count += 1
        cdef Headers* headers = _pack_headers(record[3])
        if headers is not NULL:
            parts[count].kind, parts[count].u.pointer = V_HEADERS, headers
            count += 1
        letter = self._write_letter(slip, value)
        letter.timestamp_ms, letter.partition = parts[2].u.i64, parts[1].u.i32
        parts[3].kind, parts[3].u.pointer = V_OPAQUE, letter
        cdef Error* error = _library.produceva(self._client, parts, count)
        if error is NULL:
            return True
        code = _library.error_code(error)
        _library.error_destroy(error)
        if headers is not NULL:
            _library.headers_destroy(headers)
        self._drop_letter(letter)
        if code == QUEUE_FULL:
            return False
        raise KafkaException(self._error(code))

    def poll(self, double timeout_seconds):
        self._make_room()
        cdef int timeout_ms = <int>(timeout_seconds * 1000)
        with nogil:
            _library.poll(self._client, timeout_ms)
        self._take_in()

    def flush(self, double timeout_seconds):
        self._make_room()
        cdef int timeout_ms = <int>(timeout_seconds * 1000)
        with nogil:
            _library.flush(self._client, timeout_ms)
        self._take_in()

    def purge(self, *, bint waits):
        """Whatever is out; `waits` until the broker threads have let go of it. The reports come with the next poll()."""
        cdef int flags = PURGE_QUEUE | PURGE_IN_FLIGHT | (0 if waits else PURGE_WITHOUT_WAITING)
        with nogil:
            _library.purge(self._client, flags)

    def list_topics(self, topic=None, *, double timeout):
        """May be called from another thread."""
        cdef const Metadata* metadata = NULL
        cdef Topic* only = NULL
        cdef int timeout_ms = <int>(timeout * 1000)
        cdef int is_all = topic is None
        cdef int code
        if topic is not None:
            only = self._make_topic(topic)
        with nogil:
            code = _library.metadata(self._client, is_all, only, &metadata, timeout_ms)
            if only is not NULL:
                _library.topic_destroy(only)
        if code:
            raise KafkaException(self._error(code))
        try:
            return _read_metadata(metadata)
        finally:
            _library.metadata_destroy(metadata)

    cdef Letter* _write_letter(self, object slip, object value) except NULL:
        cdef Letter* letter = self._free
        if letter is NULL:
            letter = self._add_sheet()
        self._free = letter.next
        Py_INCREF(slip)
        Py_INCREF(value)
        letter.slip, letter.value = <PyObject*>slip, <PyObject*>value
        self._open_count += 1
        return letter

    cdef Letter* _add_sheet(self) except NULL:
        cdef Letter** sheets = <Letter**>realloc(self._sheets, (self._sheet_count + 1) * sizeof(Letter*))
        cdef size_t index
        if sheets is NULL:
            raise MemoryError
        self._sheets = sheets
        cdef Letter* sheet = <Letter*>calloc(SHEET, sizeof(Letter))
        if sheet is NULL:
            raise MemoryError
        for index in range(SHEET - 1):
            sheet[index].next = &sheet[index + 1]
        sheets[self._sheet_count] = sheet
        self._sheet_count += 1
        return sheet

    cdef void _drop_letter(self, Letter* letter) noexcept:
        cdef PyObject* slip = letter.slip
        cdef PyObject* value = letter.value
        letter.slip = letter.value = NULL
        letter.next, self._free = self._free, letter
        self._open_count -= 1
        Py_DECREF(<object>slip)
        Py_DECREF(<object>value)

    cdef int _make_room(self) except -1:
        """No more can be delivered than are open: the callback never has to ask for memory."""
        cdef Letter** delivered
        if self._open_count > self._room:
            delivered = <Letter**>realloc(self._desk.delivered, 2 * self._open_count * sizeof(Letter*))
            if delivered is NULL:
                raise MemoryError
            self._desk.delivered, self._room = delivered, 2 * self._open_count
        return 0

    cdef int _take_in(self) except -1:
        cdef list delivered = self.delivered
        cdef size_t index, count = self._desk.delivered_count
        self._desk.delivered_count = 0
        for index in range(count):
            delivered.append(<object>self._desk.delivered[index].slip)
            self._drop_letter(self._desk.delivered[index])
        if self._returned:
            returned, self._returned = self._returned, []
            for each in returned:
                self._fail(*each)
        if self._heard:
            heard, self._heard = self._heard, []
            for call, arguments in heard:
                call(*arguments)
        return 0

    cdef Topic* _find_topic(self, object name) except NULL:
        if name is self._last_name:
            return self._last_topic
        found = self._topics.get(name)
        if found is None:
            if len(self._topics) >= MOST_TOPICS:
                self._forget_topics()
            self._topics[name] = found = <size_t>self._make_topic(name)
        self._last_name, self._last_topic = name, <Topic*><size_t>found
        return self._last_topic

    cdef Topic* _make_topic(self, object name) except NULL:
        cdef Topic* topic = _library.topic_new(self._client, _text(name), NULL)
        if topic is NULL:
            raise KafkaException(self._error(_library.last_error()))
        return topic

    cdef int _forget_topics(self) except -1:
        for found in self._topics.values():
            _library.topic_destroy(<Topic*><size_t>found)
        self._topics.clear()
        self._last_name = None
        return 0

    cdef object _error(self, int code):
        """A producer that is broken for good says so whatever it is asked for, by one code or another."""
        cdef char text[TEXT_BYTES]
        cdef int fatal = _library.fatal_error(self._client, text, TEXT_BYTES)
        return KafkaError(fatal, _decode(text), True) if fatal else KafkaError(code, _decode(_library.err2str(code)))

    cdef void _note_failure(self, const Message* message) noexcept:
        cdef Letter* letter = <Letter*>message.opaque
        cdef object value = <object>letter.value
        cdef object key = None
        try:
            if message.key is not NULL:
                key = PyBytes_FromStringAndSize(<char*>message.key, message.key_size)
            topic = _decode(_library.topic_name(message.topic)) if message.topic is not NULL else ""
            reason = _decode(_library.message_produce_errstr(message)) or _decode(_library.err2str(message.err))
            error = KafkaError(message.err, reason)
            slip = <object>letter.slip
            self._returned.append((slip, (topic, key, value), letter.timestamp_ms, letter.partition, error))
        finally:
            self._drop_letter(letter)


cdef void _on_report(Client* client, const Message* message, void* opaque) noexcept nogil:
    cdef Desk* desk = <Desk*>opaque
    if not message.err:
        desk.delivered[desk.delivered_count] = <Letter*>message.opaque
        desk.delivered_count += 1
    elif desk.owner is not NULL:
        with gil:
            (<Producer>desk.owner)._note_failure(message)


cdef void _on_error(Client* client, int code, const char* reason, void* opaque) noexcept with gil:
    if (<Desk*>opaque).owner is NULL:
        return
    cdef Producer producer = <Producer>(<Desk*>opaque).owner
    error = producer._error(code) if code == FATAL else KafkaError(code, _decode(reason))
    producer._heard.append((producer._on_error, (error,)))


cdef int _on_statistics(Client* client, char* text, size_t size, void* opaque) noexcept with gil:
    if (<Desk*>opaque).owner is NULL:
        return 0
    cdef Producer producer = <Producer>(<Desk*>opaque).owner
    if producer._on_statistics is not None:
        producer._heard.append((producer._on_statistics, (text[:size].decode("utf-8", "replace"),)))
    return 0  # librdkafka frees it


cdef void _on_log(const Client* client, int level, const char* facility, const char* text) noexcept with gil:
    cdef Desk* desk = <Desk*>_library.opaque(client)
    if desk is NULL or desk.owner is NULL:
        return
    cdef Producer producer = <Producer>desk.owner
    line = f"{_decode(facility)} [{_decode(_library.name(client))}] {_decode(text)}"
    producer._heard.append((producer._log, (_LEVELS.get(level, logging.CRITICAL), "%s", line)))


cdef inline int _put_memory(Part* part, int kind, object content) except -1:
    if type(content) is not bytes:
        raise TypeError(f"expected bytes, found {type(content).__name__}")
    part.kind = kind
    part.u.memory.start = PyBytes_AS_STRING(content)
    part.u.memory.size = PyBytes_GET_SIZE(content)
    return 0


cdef Headers* _pack_headers(list headers) except? NULL:
    cdef Headers* packed
    cdef Py_ssize_t name_size, size
    cdef const char* name
    cdef const char* start
    if not headers:
        return NULL
    packed = _library.headers_new(len(headers))
    try:
        for header in headers:
            if type(header) is not tuple or len(<tuple>header) != 2:
                raise TypeError("expected a header as a tuple of two")
            name = PyUnicode_AsUTF8AndSize((<tuple>header)[0], &name_size)
            content = (<tuple>header)[1]
            start, size = NULL, 0
            if content is not None:
                if type(content) is not bytes:
                    raise TypeError(f"expected bytes in a header, found {type(content).__name__}")
                start, size = PyBytes_AS_STRING(content), PyBytes_GET_SIZE(content)
            _library.header_add(packed, name, name_size, start, size)
    except:  # whatever it is, it is not ours to keep
        _library.headers_destroy(packed)
        raise
    return packed


cdef object _read_metadata(const Metadata* metadata):
    cluster = ClusterMetadata()
    for index in range(metadata.broker_count):
        broker = BrokerMetadata()
        broker.id, broker.port = metadata.brokers[index].id, metadata.brokers[index].port
        broker.host = _decode(metadata.brokers[index].host)
        cluster.brokers[broker.id] = broker
    for index in range(metadata.topic_count):
        topic = _read_topic(&metadata.topics[index])
        cluster.topics[topic.topic] = topic
    cluster.orig_broker_id, cluster.orig_broker_name = metadata.origin_id, _decode(metadata.origin_name)
    return cluster


cdef object _read_topic(const TopicInfo* info):
    topic = TopicMetadata()
    topic.topic = _decode(info.name)
    topic.error = KafkaError(info.err) if info.err else None
    for index in range(info.partition_count):
        partition = _read_partition(&info.partitions[index])
        topic.partitions[partition.id] = partition
    return topic


cdef object _read_partition(const PartitionInfo* info):
    partition = PartitionMetadata()
    partition.id, partition.leader = info.id, info.leader
    partition.error = KafkaError(info.err) if info.err else None
    partition.replicas = [info.replicas[place] for place in range(info.replica_count)]
    partition.isrs = [info.in_sync[place] for place in range(info.in_sync_count)]
    return partition


cdef const char* _text(object text) except NULL:
    """Valid while the text lives."""
    cdef Py_ssize_t size
    cdef const char* start = PyUnicode_AsUTF8AndSize(text, &size)
    if strlen(start) != <size_t>size:
        raise ValueError("embedded null character")
    return start


cdef object _decode(const char* text):
    return "" if text is NULL else text[:strlen(text)].decode("utf-8", "replace")
