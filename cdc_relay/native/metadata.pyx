"""A cluster's metadata as the Python client would tell it."""

from cdc_relay.native.rdkafka cimport Metadata, PartitionInfo, TopicInfo, decode

from confluent_kafka import KafkaError
from confluent_kafka.admin._metadata import BrokerMetadata, ClusterMetadata, PartitionMetadata, TopicMetadata


cdef object read_metadata(const Metadata* metadata):
    cluster = ClusterMetadata()
    for index in range(metadata.broker_count):
        broker = BrokerMetadata()
        broker.id, broker.port = metadata.brokers[index].id, metadata.brokers[index].port
        broker.host = decode(metadata.brokers[index].host)
        cluster.brokers[broker.id] = broker
    for index in range(metadata.topic_count):
        topic = _read_topic(&metadata.topics[index])
        cluster.topics[topic.topic] = topic
    cluster.orig_broker_id, cluster.orig_broker_name = metadata.origin_id, decode(metadata.origin_name)
    return cluster


cdef object _read_topic(const TopicInfo* info):
    topic = TopicMetadata()
    topic.topic = decode(info.name)
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
