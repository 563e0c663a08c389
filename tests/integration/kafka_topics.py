"""Stands in for kafka-topics.sh --create, which is not among the broker's jars: the same options, or it fails."""

from __future__ import annotations

import argparse

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--create", action="store_true", required=True)
    parser.add_argument("--bootstrap-server", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--partitions", type=int, required=True)
    parser.add_argument("--replication-factor", type=int, required=True)
    asked = parser.parse_args()
    admin = AdminClient({"bootstrap.servers": asked.bootstrap_server})
    topic = NewTopic(asked.topic, num_partitions=asked.partitions, replication_factor=asked.replication_factor)
    admin.create_topics([topic])[asked.topic].result(30)


if __name__ == "__main__":
    main()
