"""Where librdkafka's functions are, and texts to it and from it."""

from libc.string cimport strlen

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

NAMES = (
    "conf_new", "conf_destroy", "conf_set", "conf_set_opaque", "conf_set_dr_msg_cb", "conf_set_error_cb",
    "conf_set_stats_cb", "conf_set_log_cb", "new", "destroy_flags", "set_log_queue", "opaque", "name", "last_error",
    "err2str", "fatal_error", "topic_new", "topic_destroy", "topic_name", "headers_new", "headers_destroy", "header_add",
    "header_get_all", "message_detach_headers", "produceva", "error_code", "error_destroy", "message_produce_errstr",
    "poll", "flush", "purge", "outq_len", "metadata", "metadata_destroy",
)  # in the order of Library, each with rd_kafka_ before it


def connect(list addresses):
    """Of NAMES, once per process."""
    cdef size_t* places = <size_t*>&library
    if len(addresses) * sizeof(size_t) != sizeof(Library) or not all(addresses):
        raise ValueError("expected the address of each function")
    for index in range(len(addresses)):
        places[index] = addresses[index]


cdef object decode(const char* text):
    return "" if text is NULL else text[:strlen(text)].decode("utf-8", "replace")


cdef const char* text_of(object text) except NULL:
    """Valid while the text lives."""
    cdef Py_ssize_t size
    cdef const char* start = PyUnicode_AsUTF8AndSize(text, &size)
    if strlen(start) != <size_t>size:
        raise ValueError("embedded null character")
    return start
