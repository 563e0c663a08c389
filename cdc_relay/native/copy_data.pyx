"""The compiled twin of sources.copy_data.PsycopgCopyData: the frames that libpq has received, many at a time.

libpq is psycopg's own, known by the addresses of two of its functions; the connection stays psycopg's. Nothing here waits.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.buffer cimport PyBuffer_FillInfo

from psycopg import OperationalError

ctypedef int (*GetCopyData)(void* connection, char** buffer, int is_async) noexcept
ctypedef void (*FreeMemory)(void* buffer) noexcept

cdef enum:
    BATCH_FRAMES = 128
    BATCH_BYTES = 1 << 18


cdef class _Frame:
    """A frame too large to be copied: libpq's memory, given back with the last view of it."""

    cdef char* _data
    cdef int _size
    cdef FreeMemory _free

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self._data, self._size, 1, flags)

    def __dealloc__(self):
        if self._data is not NULL:
            self._free(self._data)


cdef class CopyData:
    cdef object _pgconn
    cdef GetCopyData _get
    cdef FreeMemory _free
    cdef int _big_bytes
    cdef bint _is_broken
    cdef readonly bint is_over

    def __init__(self, pgconn, *, size_t get_copy_data, size_t free_memory, int big_bytes):
        self._pgconn = pgconn
        self._get = <GetCopyData>get_copy_data
        self._free = <FreeMemory>free_memory
        self._big_bytes = big_bytes

    def read(self):
        cdef list frames = []
        cdef void* connection = self._connect()
        cdef char* data = NULL
        cdef int size = 1
        cdef Py_ssize_t total = 0
        if self._is_broken:
            raise self._failure()
        while not self.is_over and len(frames) < BATCH_FRAMES and total < BATCH_BYTES:
            size = self._get(connection, &data, 1)
            if size <= 0:
                break
            frames.append(self._wrap(data, size))
            total += size
        self._note_end(size)
        if not frames and self._is_broken:
            raise self._failure()
        frames.reverse()
        return frames

    cdef object _failure(self):
        """In psycopg's words."""
        return OperationalError(f"receiving copy data failed: {self._pgconn.get_error_message()}")

    cdef void* _connect(self) except NULL:
        """Asked for each time: a connection that was closed has no address any more."""
        address = self._pgconn.pgconn_ptr
        if address is None:
            raise self._failure()
        return <void*><size_t>address

    cdef void _note_end(self, int size) noexcept:
        """Frames that came before the end are read first; the end is told with the next look."""
        if size == -1:
            self.is_over = True
        elif size < 0:
            self._is_broken = True

    cdef object _wrap(self, char* data, int size):
        cdef _Frame frame
        if size >= self._big_bytes:
            frame = _Frame.__new__(_Frame)
            frame._data, frame._size, frame._free = data, size, self._free
            return memoryview(frame)
        try:
            return PyBytes_FromStringAndSize(data, size)
        finally:
            self._free(data)
