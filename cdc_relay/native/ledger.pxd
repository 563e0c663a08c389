"""What other compiled modules may touch without a call."""

from libc.stdint cimport int64_t, uint64_t


cdef class Transaction:
    cdef readonly uint64_t commit_lsn
    cdef readonly int64_t commit_time_us
    cdef readonly int64_t xid
    cdef public uint64_t end_lsn
    cdef public int64_t record_count
    cdef public int64_t open_count


cdef class Ledger:
    cdef public uint64_t safe_lsn
    cdef public uint64_t settled_lsn
    cdef public uint64_t ceiling_lsn
    cdef public uint64_t received_lsn
    cdef uint64_t _reported_lsn
    cdef uint64_t _last_lsn
    cdef object _queue
    cdef readonly Transaction current

    cdef void pass_by(self, uint64_t lsn) noexcept
    cdef Transaction open(self, uint64_t commit_lsn, int64_t commit_time_us, int64_t xid)
    cdef void close(self, uint64_t end_lsn) except *
    cdef void settle_one(self, Transaction transaction) except *
    cdef void _advance(self) except *


cdef class Window:
    cdef public int64_t record_limit
    cdef public int64_t byte_limit
    cdef public int64_t record_count
    cdef public int64_t byte_count

    cpdef void take(self, int64_t size_bytes) noexcept
    cpdef void release(self, int64_t size_bytes) except *
