"""The compiled twin of sinks.client_producer: librdkafka without its Python client in between.

librdkafka is the client's own, known by the addresses of its functions. Its callbacks run inside poll() and flush(),
without the interpreter where a record was delivered, and only lay down what they hear: Python hears of it afterwards.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, realloc

from cdc_relay.native.header_stock cimport Bundle, HeaderStock
from cdc_relay.native.metadata cimport read_metadata
from cdc_relay.native.rdkafka cimport *
from cdc_relay.native.rdkafka cimport decode, library, text_of

import logging
from collections import deque

from confluent_kafka import KafkaError, KafkaException

from cdc_relay.model import Record

cdef enum:
    SHEET = 1024  # letters are made by so many
    MOST_TOPICS = 4096  # whose handles are kept
    QUEUE_FULL = -184
    FATAL = -150

_LEVELS = {3: logging.ERROR, 4: logging.WARNING, 5: logging.INFO, 6: logging.INFO, 7: logging.DEBUG}  # of syslog

cdef object _record = Record


cdef struct Letter:
    PyObject* slip
    PyObject* value  # librdkafka reads it where it is, until its report
    int64_t timestamp_ms
    int32_t partition  # as it was asked for
    Bundle* bundle  # its headers, if it has any
    Letter* next


cdef struct Tray:  # what callbacks see
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
    cdef Tray _tray
    cdef size_t _room  # for delivered letters
    cdef Letter** _sheets
    cdef size_t _sheet_count
    cdef Letter* _free
    cdef size_t _open_count
    cdef HeaderStock _stock
    cdef dict _topics  # handles by name
    cdef object _last_name
    cdef Topic* _last_topic
    cdef object _returned  # deques: of what failed, and of calls that the callbacks ask for
    cdef object _heard
    cdef bint _is_deaf  # a report could not be noted: its record would stay open for ever

    def __cinit__(self):
        self._tray.owner = <PyObject*>self
        self._topics = {}
        self._stock = HeaderStock()

    def __init__(self, dict properties not None, *, fail, on_error, on_statistics=None, logger):
        if library.new is NULL:
            raise RuntimeError("librdkafka is not connected")
        if self._client is not NULL:
            raise RuntimeError("a producer is made once")
        self.delivered, self._returned, self._heard = [], deque(), deque()
        self._fail, self._on_error, self._on_statistics, self._log = fail, on_error, on_statistics, logger.log
        self._open(properties)

    cdef int _open(self, dict properties) except -1:
        cdef char text[TEXT_BYTES]
        cdef Conf* conf = library.conf_new()
        try:
            for name, value in {**properties, "log.queue": "true"}.items():
                if library.conf_set(conf, text_of(name), text_of(value), text, TEXT_BYTES) != CONF_OK:
                    raise KafkaException(KafkaError(KafkaError._INVALID_ARG, decode(text)))
            library.conf_set_opaque(conf, &self._tray)
            library.conf_set_dr_msg_cb(conf, _on_report)
            library.conf_set_error_cb(conf, _on_error)
            library.conf_set_stats_cb(conf, _on_statistics)
            library.conf_set_log_cb(conf, _on_log)
            self._client = library.new(PRODUCER_TYPE, conf, text, TEXT_BYTES)
            if self._client is NULL:
                raise KafkaException(KafkaError(library.last_error(), f"Failed to create producer: {decode(text)}"))
            conf = NULL  # it is the client's now
        finally:
            if conf is not NULL:
                library.conf_destroy(conf)
        library.set_log_queue(self._client, NULL)
        return 0

    def __dealloc__(self):
        cdef Client* client = self._client
        cdef size_t sheet, index
        cdef Letter* letter
        self._tray.owner = NULL  # no callback may bring us back to life
        if client is not NULL:
            self._forget_topics()
            with nogil:
                library.purge(client, PURGE_QUEUE | PURGE_IN_FLIGHT | PURGE_WITHOUT_WAITING)
                library.destroy_flags(client, DESTROY_AND_WAIT)
        for sheet in range(self._sheet_count):  # whatever never got a report: nobody reads the values any more
            for index in range(SHEET):
                letter = &self._sheets[sheet][index]
                if letter.slip is not NULL:
                    Py_DECREF(<object>letter.slip)
                    Py_DECREF(<object>letter.value)
                if letter.bundle is not NULL:
                    letter.bundle.headers = NULL  # they went with the record
                    self._stock.give_back(letter.bundle)
            free(self._sheets[sheet])
        free(self._sheets)
        free(self._tray.delivered)

    def __len__(self):
        return library.outq_len(self._client)

    @property
    def header_counts(self):
        """How many sets of headers are kept, and how often one was used."""
        return self._stock.kept_count, self._stock.reused_count

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
        parts[0].kind, parts[0].u.pointer = V_RKT, self._find_topic(record[0])
        parts[1].kind, parts[1].u.i32 = V_PARTITION, record[7]
        parts[2].kind, parts[2].u.i64 = V_TIMESTAMP, record[4]
        if value is not None:
            _put_memory(&parts[count], V_VALUE, value)
            count += 1
        if key is not None:
            _put_memory(&parts[count], V_KEY, key)
            count += 1
        letter = self._write_letter(slip, value)
        try:
            letter.bundle = self._stock.take(record[3])
        except:  # whatever it is, it is not ours to keep
            self._drop_letter(letter)
            raise
        if letter.bundle is not NULL:
            parts[count].kind, parts[count].u.pointer = V_HEADERS, letter.bundle.headers
            count += 1
        letter.timestamp_ms, letter.partition = parts[2].u.i64, parts[1].u.i32
        parts[3].kind, parts[3].u.pointer = V_OPAQUE, letter
        return self._send(parts, count, letter)

    def poll(self, double timeout_seconds):
        self._make_room()
        cdef int timeout_ms = _milliseconds(timeout_seconds)
        with nogil:
            library.poll(self._client, timeout_ms)
        self._take_in()

    def flush(self, double timeout_seconds):
        self._make_room()
        cdef int timeout_ms = _milliseconds(timeout_seconds)
        with nogil:
            library.flush(self._client, timeout_ms)
        self._take_in()

    def purge(self, *, bint waits):
        """Whatever is out; `waits` until the broker threads have let go of it. The reports come with the next poll()."""
        cdef int flags = PURGE_QUEUE | PURGE_IN_FLIGHT | (0 if waits else PURGE_WITHOUT_WAITING)
        with nogil:
            library.purge(self._client, flags)

    def list_topics(self, topic=None, *, double timeout):
        """May be called from another thread."""
        cdef const Metadata* metadata = NULL
        cdef Topic* only = NULL
        cdef int timeout_ms = _milliseconds(timeout)
        cdef int is_all = topic is None
        cdef int code
        if topic is not None:
            only = self._make_topic(topic)
        with nogil:
            code = library.metadata(self._client, is_all, only, &metadata, timeout_ms)
            if only is not NULL:
                library.topic_destroy(only)
        if code:
            raise KafkaException(self._error(code))
        try:
            return read_metadata(metadata)
        finally:
            library.metadata_destroy(metadata)

    cdef bint _send(self, const Part* parts, size_t count, Letter* letter) except -1:
        cdef int code
        cdef Error* error = library.produceva(self._client, parts, count)
        if error is NULL:
            return True
        code = library.error_code(error)
        library.error_destroy(error)
        self._drop_letter(letter)
        if code == QUEUE_FULL:
            return False
        raise KafkaException(self._error(code))

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
        if letter.bundle is not NULL:
            self._stock.give_back(letter.bundle)
        letter.slip = letter.value = NULL
        letter.bundle = NULL
        letter.next, self._free = self._free, letter
        self._open_count -= 1
        Py_DECREF(<object>slip)
        Py_DECREF(<object>value)

    cdef int _make_room(self) except -1:
        """No more can be delivered than are open: the callback never has to ask for memory."""
        cdef Letter** delivered
        if self._open_count > self._room:
            delivered = <Letter**>realloc(self._tray.delivered, 2 * self._open_count * sizeof(Letter*))
            if delivered is NULL:
                raise MemoryError
            self._tray.delivered, self._room = delivered, 2 * self._open_count
        return 0

    cdef int _take_in(self) except -1:
        cdef list delivered = self.delivered
        cdef size_t index, count = self._tray.delivered_count
        self._tray.delivered_count = 0
        for index in range(count):
            delivered.append(<object>self._tray.delivered[index].slip)
            self._drop_letter(self._tray.delivered[index])
        while self._returned:  # what is raised leaves the rest for the next time
            self._fail(*self._returned.popleft())
        while self._heard:
            call, arguments = self._heard.popleft()
            call(*arguments)
        if self._is_deaf:
            raise MemoryError("a record came back and could not be noted: it is published again")
        return 0

    cdef Topic* _find_topic(self, object name) except NULL:
        if name is self._last_name and self._last_topic is not NULL:
            return self._last_topic
        found = self._topics.get(name)
        if found is None:
            if len(self._topics) >= MOST_TOPICS:
                self._forget_topics()
            self._topics[name] = found = <size_t>self._make_topic(name)
        self._last_name, self._last_topic = name, <Topic*><size_t>found
        return self._last_topic

    cdef Topic* _make_topic(self, object name) except NULL:
        cdef Topic* topic = library.topic_new(self._client, text_of(name), NULL)
        if topic is NULL:
            raise KafkaException(self._error(library.last_error()))
        return topic

    cdef int _forget_topics(self) except -1:
        for found in self._topics.values():
            library.topic_destroy(<Topic*><size_t>found)
        self._topics.clear()
        self._last_name, self._last_topic = None, NULL
        return 0

    cdef object _error(self, int code):
        """A producer that is broken for good says so whatever it is asked for, by one code or another."""
        cdef char text[TEXT_BYTES]
        cdef int fatal = library.fatal_error(self._client, text, TEXT_BYTES)
        return KafkaError(fatal, decode(text), True) if fatal else KafkaError(code, decode(library.err2str(code)))

    cdef void _note_failure(self, const Message* message) noexcept:
        cdef Letter* letter = <Letter*>message.opaque
        cdef object value = <object>letter.value
        cdef object key = None
        try:
            if message.key is not NULL:
                key = PyBytes_FromStringAndSize(<char*>message.key, message.key_size)
            topic = decode(library.topic_name(message.topic)) if message.topic is not NULL else ""
            reason = decode(library.message_produce_errstr(message)) or decode(library.err2str(message.err))
            error = KafkaError(message.err, reason)
            slip = <object>letter.slip
            self._returned.append((slip, (topic, key, value), letter.timestamp_ms, letter.partition, error))
        except BaseException:  # no memory; and nothing is raised out of a callback
            self._is_deaf = True
        finally:
            if letter.bundle is not NULL:
                letter.bundle.headers = NULL  # librdkafka frees them with the record
            self._drop_letter(letter)


cdef void _on_report(Client* client, const Message* message, void* opaque) noexcept nogil:
    cdef Tray* tray = <Tray*>opaque
    cdef Letter* letter = <Letter*>message.opaque
    if not message.err:
        if letter.bundle is not NULL and library.message_detach_headers(message, &letter.bundle.headers):
            letter.bundle.headers = NULL  # they are not to be had
        tray.delivered[tray.delivered_count] = letter
        tray.delivered_count += 1
    elif tray.owner is not NULL:
        with gil:
            (<Producer>tray.owner)._note_failure(message)


cdef void _on_error(Client* client, int code, const char* reason, void* opaque) noexcept with gil:
    if (<Tray*>opaque).owner is NULL:
        return
    cdef Producer producer = <Producer>(<Tray*>opaque).owner
    error = producer._error(code) if code == FATAL else KafkaError(code, decode(reason))
    producer._heard.append((producer._on_error, (error,)))


cdef int _on_statistics(Client* client, char* text, size_t size, void* opaque) noexcept with gil:
    if (<Tray*>opaque).owner is NULL:
        return 0
    cdef Producer producer = <Producer>(<Tray*>opaque).owner
    if producer._on_statistics is not None:
        producer._heard.append((producer._on_statistics, (text[:size].decode("utf-8", "replace"),)))
    return 0  # librdkafka frees it


cdef void _on_log(const Client* client, int level, const char* facility, const char* text) noexcept with gil:
    cdef Tray* tray = <Tray*>library.opaque(client)
    if tray is NULL or tray.owner is NULL:
        return
    cdef Producer producer = <Producer>tray.owner
    line = f"{decode(facility)} [{decode(library.name(client))}] {decode(text)}"
    producer._heard.append((producer._log, (_LEVELS.get(level, logging.CRITICAL), "%s", line)))


cdef inline int _milliseconds(double seconds) noexcept:
    return <int>(min(max(seconds, 0.0), 1e6) * 1000)


cdef inline int _put_memory(Part* part, int kind, object content) except -1:
    if type(content) is not bytes:
        raise TypeError(f"expected bytes, found {type(content).__name__}")
    part.kind = kind
    part.u.memory.start = PyBytes_AS_STRING(content)
    part.u.memory.size = PyBytes_GET_SIZE(content)
    return 0
