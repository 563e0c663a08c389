"""What Kafka's refusals mean to the operator of `cdc-relay topics`, and what helps. Knows librdkafka's error names."""

from __future__ import annotations

from cdc_relay.admin.topics_plan import AddPartitions, AlterProperties, CreateTopic, Obstacle, Step

__all__ = ["NO_RIGHT", "UNANSWERED", "explain"]

NO_RIGHT = ("TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED")
UNANSWERED = ("_TIMED_OUT", "_TIMED_OUT_QUEUE", "REQUEST_TIMED_OUT", "_TRANSPORT", "_WAIT_COORD", "_DESTROY")
_REPEAT = "apply can be run again: it goes on where it stopped"
_REMEDIES = {
    "INVALID_REPLICATION_FACTOR": "lower replication_factor (and min_insync_replicas), or start more brokers",
    "POLICY_VIOLATION": "a policy of the cluster forbids it: write what the policy allows, or ask whoever runs it",
    "INVALID_CONFIG": "correct the property: names and values are those of topics in this version of Kafka",
    "INVALID_PARTITIONS": "correct partitions:; or somebody added some at the same time: run plan again",
    "TOPIC_EXCEPTION": "correct the topic's name; Kafka takes . and _ for the same in two names",
    "TOPIC_ALREADY_EXISTS": "somebody else made it at the same time, or it is being deleted: run plan again",
    "REASSIGNMENT_IN_PROGRESS": "replicas of the topic are being moved: wait until that is done, then apply again",
    "THROTTLING_QUOTA_EXCEEDED": f"the cluster limits such changes: wait; {_REPEAT}",
    "UNSUPPORTED_VERSION": "this broker is too old for it: at least Kafka 2.4 is needed",
}


def explain(step: Step, code: str, message: str) -> Obstacle:
    return Obstacle(f"{_name(step)}: refused: {message} ({code})", _remedy(step, code))


def _remedy(step: Step, code: str) -> str:
    if code in NO_RIGHT:
        return f"grant the principal of sink.kafka {_right(step)}"
    if code in UNANSWERED:
        return f"no answer says nothing about the outcome: run plan again; {_REPEAT}"
    return _REMEDIES.get(code, f"see Kafka's own message; {_REPEAT}")


def _name(step: Step) -> str:
    match step:
        case CreateTopic():
            return "create"
        case AddPartitions(before=before, after=after):
            return f"partitions {before} -> {after}"
        case AlterProperties(changes=changes):
            return ", ".join(change.name for change in changes)


def _right(step: Step) -> str:
    match step:
        case CreateTopic(topic=topic):
            return f"Create on topic {topic}, or on the cluster"
        case AddPartitions(topic=topic):
            return f"Alter on topic {topic}"
        case AlterProperties(topic=topic):
            return f"AlterConfigs on topic {topic}"
