"""The part of librdkafka's C interface that a producer needs, called by address: its header file is in no wheel.

Layouts and numbers are those of librdkafka 1.x and 2.x, which it keeps for programs that are not compiled anew.
"""

from libc.stdint cimport int32_t, int64_t

ctypedef void Client  # rd_kafka_t
ctypedef void Conf
ctypedef void Topic
ctypedef void Headers
ctypedef void Error

cdef enum:
    PRODUCER_TYPE = 0
    CONF_OK = 0
    PURGE_QUEUE = 1
    PURGE_IN_FLIGHT = 2
    PURGE_WITHOUT_WAITING = 4
    DESTROY_AND_WAIT = 0  # until its threads have ended, which read the values
    TEXT_BYTES = 512  # for what librdkafka says

cdef enum:  # of the parts of a record
    V_RKT = 2
    V_PARTITION = 3
    V_VALUE = 4
    V_KEY = 5
    V_OPAQUE = 6
    V_TIMESTAMP = 8
    V_HEADERS = 10


cdef struct Memory:
    const void* start
    size_t size


cdef union PartValue:
    void* pointer
    int32_t i32
    int64_t i64
    Memory memory
    char padding[64]


cdef struct Part:  # rd_kafka_vu_t
    int kind
    PartValue u


cdef struct Message:  # rd_kafka_message_t
    int err
    Topic* topic
    int32_t partition
    void* payload
    size_t size
    void* key
    size_t key_size
    int64_t offset
    void* opaque


cdef struct BrokerInfo:
    int32_t id
    char* host
    int port


cdef struct PartitionInfo:
    int32_t id
    int err
    int32_t leader
    int replica_count
    int32_t* replicas
    int in_sync_count
    int32_t* in_sync


cdef struct TopicInfo:
    char* name
    int partition_count
    PartitionInfo* partitions
    int err


cdef struct Metadata:
    int broker_count
    BrokerInfo* brokers
    int topic_count
    TopicInfo* topics
    int32_t origin_id
    char* origin_name


ctypedef void (*OnReport)(Client*, const Message*, void*) noexcept nogil
ctypedef void (*OnError)(Client*, int, const char*, void*) noexcept nogil
ctypedef int (*OnStatistics)(Client*, char*, size_t, void*) noexcept nogil
ctypedef void (*OnLog)(const Client*, int, const char*, const char*) noexcept nogil


cdef struct Library:
    Conf* (*conf_new)() noexcept nogil
    void (*conf_destroy)(Conf*) noexcept nogil
    int (*conf_set)(Conf*, const char*, const char*, char*, size_t) noexcept nogil
    void (*conf_set_opaque)(Conf*, void*) noexcept nogil
    void (*conf_set_dr_msg_cb)(Conf*, OnReport) noexcept nogil
    void (*conf_set_error_cb)(Conf*, OnError) noexcept nogil
    void (*conf_set_stats_cb)(Conf*, OnStatistics) noexcept nogil
    void (*conf_set_log_cb)(Conf*, OnLog) noexcept nogil
    Client* (*new)(int, Conf*, char*, size_t) noexcept nogil
    void (*destroy_flags)(Client*, int) noexcept nogil
    int (*set_log_queue)(Client*, void*) noexcept nogil
    void* (*opaque)(const Client*) noexcept nogil
    const char* (*name)(const Client*) noexcept nogil
    int (*last_error)() noexcept nogil
    const char* (*err2str)(int) noexcept nogil
    int (*fatal_error)(Client*, char*, size_t) noexcept nogil
    Topic* (*topic_new)(Client*, const char*, void*) noexcept nogil
    void (*topic_destroy)(Topic*) noexcept nogil
    const char* (*topic_name)(const Topic*) noexcept nogil
    Headers* (*headers_new)(size_t) noexcept nogil
    void (*headers_destroy)(Headers*) noexcept nogil
    int (*header_add)(Headers*, const char*, Py_ssize_t, const void*, Py_ssize_t) noexcept nogil
    int (*header_get_all)(const Headers*, size_t, const char**, const void**, size_t*) noexcept nogil
    int (*message_detach_headers)(const Message*, Headers**) noexcept nogil
    Error* (*produceva)(Client*, const Part*, size_t) noexcept nogil
    int (*error_code)(const Error*) noexcept nogil
    void (*error_destroy)(Error*) noexcept nogil
    const char* (*message_produce_errstr)(const Message*) noexcept nogil
    int (*poll)(Client*, int) noexcept nogil
    int (*flush)(Client*, int) noexcept nogil
    int (*purge)(Client*, int) noexcept nogil
    int (*outq_len)(Client*) noexcept nogil
    int (*metadata)(Client*, int, Topic*, const Metadata**, int) noexcept nogil
    void (*metadata_destroy)(const Metadata*) noexcept nogil


cdef Library library

cdef object decode(const char* text)
cdef const char* text_of(object text) except NULL
