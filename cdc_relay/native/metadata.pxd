from cdc_relay.native.rdkafka cimport Metadata


cdef object read_metadata(const Metadata* metadata)
