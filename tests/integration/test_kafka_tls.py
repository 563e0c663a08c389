"""Kafka behind TLS, with SCRAM-SHA-512 and with certificates of both sides: the relay delivers with the rights of
docs/privileges.md; who or what cannot be trusted is refused with its cause, and after the repair everything arrives."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.fix_relay import MakePipeline, Pipeline, RelayProcess
from tests.fixtures.planted import KEY_PASSWORD
from tests.fixtures.process import wait_until
from tests.integration.check_rig import Check
from tests.integration.secured_kafka_rig import PRINCIPALS, SecuredKafka, secured_kafka
from tests.integration.waiting_rig import assert_it_delivers, readiness

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.real_kafka,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl on this machine"),
]


@pytest.fixture(scope="module")
def secured() -> Iterator[SecuredKafka]:
    with secured_kafka() as kafka:
        yield kafka


@pytest.fixture
def granted(secured: SecuredKafka, make_pipeline: MakePipeline) -> Pipeline:
    """Both principals may do with its topic what docs/privileges.md says, and no more."""
    pipeline = make_pipeline(kafka=secured.broker)
    for door in PRINCIPALS:
        secured.grant(pipeline.topic, "describe", "write", door=door)
    return pipeline


def refusals(pipeline: Pipeline, configs: dict[str, dict[str, Any]]) -> dict[str, str]:
    """The last words of relays that do not wait, all started at once."""
    relays = {name: pipeline.start_relay("--no-wait", ready=False, **config) for name, config in configs.items()}
    assert {name: relay.wait(60) for name, relay in relays.items()} == dict.fromkeys(configs, 3)
    return {name: relay.stderr for name, relay in relays.items()}


def findings(pipeline: Pipeline, directory: Path, **config: Any) -> dict[str, str]:
    """What `check` has against Kafka, by name."""
    topic = [{"table": "public.outbox", "routes": [{"topic": pipeline.topic}]}]
    found = Check(pipeline.config(outboxes=topic, **config), directory).findings()
    return {each["name"]: each["found"] for each in found if each["level"] == "fail" and "kafka" in each["name"]}


# --- the doors are open to whom they should


@pytest.mark.parametrize("door", PRINCIPALS)
def test_the_relay_delivers_through_the_door_with_the_documented_rights(
    granted: Pipeline, secured: SecuredKafka, door: str, tmp_path: Path
) -> None:
    assert findings(granted, tmp_path, **secured.by(door)) == {}
    relay = granted.start_relay(**secured.by(door))
    assert_it_delivers(granted, granted.insert())
    assert relay.stop() == 0


@pytest.mark.parametrize("door", PRINCIPALS)
def test_the_rights_are_those_of_who_came_in_and_of_nobody_else(
    make_pipeline: MakePipeline, secured: SecuredKafka, door: str, tmp_path: Path
) -> None:
    """The other principal's rights are none of ours."""
    pipeline = make_pipeline(kafka=secured.broker)
    [other] = PRINCIPALS.keys() - {door}
    secured.grant(pipeline.topic, "describe", "write", door=other)
    assert findings(pipeline, tmp_path, **secured.by(door)).keys() == {"kafka.topic.rights"}


def test_the_key_of_the_client_certificate_may_be_encrypted(granted: Pipeline, secured: SecuredKafka) -> None:
    """Its password is among what the suite's net looks for."""
    client = secured.authority.issue("relay", password=KEY_PASSWORD)
    granted.start_relay(**secured.by("mutual", client=client, ssl_key_password=KEY_PASSWORD))
    assert_it_delivers(granted, granted.insert())


def test_a_wrong_password_of_the_key_is_a_configuration_error_that_shows_no_password(
    granted: Pipeline, secured: SecuredKafka
) -> None:
    client = secured.authority.issue("relay", password=KEY_PASSWORD)
    wrong = secured.by("mutual", client=client, ssl_key_password="guessed-4711")
    relay = granted.start_relay(ready=False, **wrong)
    assert relay.wait(60) == 2
    assert "cdc-relay: sink.kafka: Failed to create producer: ssl.key.location failed" in relay.stderr


# --- we are not trusted


def test_who_the_broker_does_not_trust_is_refused_with_the_cause_and_after_the_repair_everything_arrives(
    granted: Pipeline, secured: SecuredKafka
) -> None:
    event_id = granted.insert()
    said = refusals(
        granted,
        {
            "a wrong password": secured.by("scram", sasl_password="guessed-4711"),
            "no certificate": secured.by("mutual", ssl_certificate_location="", ssl_key_location=""),
            "an expired one": secured.by("mutual", client=secured.authority.issue("relay", days=-1)),
            "a stranger's": secured.by("mutual", client=secured.strangers.issue("relay")),
        },
    )
    assert "Authentication failed" in said["a wrong password"]
    assert "certificate" in said["no certificate"]
    assert "certificate" in said["an expired one"]
    assert "certificate" in said["a stranger's"]
    for door in PRINCIPALS:
        assert granted.start_relay(**secured.by(door)).stop() == 0
    assert_it_delivers(granted, event_id)


# --- the broker is not trusted

CAUSES = {
    "expired": "certificate has expired",
    "unknown": "unable to get local issuer certificate",
    "selfsigned": "self-signed certificate",
    "elsewhere": "IP address mismatch, certificate is not valid for '127.0.0.1'",
}


def test_a_broker_s_certificate_that_cannot_be_trusted_is_refused_with_what_is_wrong(
    granted: Pipeline, secured: SecuredKafka
) -> None:
    event_id = granted.insert()
    said = refusals(granted, {fault: secured.by(fault) for fault in CAUSES})
    causes = {fault: f"{secured.by(fault)['sink']['kafka']['bootstrap.servers']} is not trusted: " for fault in CAUSES}
    assert {fault: causes[fault] + cause in said[fault] for fault, cause in CAUSES.items()} == dict.fromkeys(
        CAUSES, True
    )
    granted.start_relay(**secured.by("scram"))
    assert_it_delivers(granted, event_id)


def wait_for_complaint(relay: RelayProcess) -> None:
    """The running relay holds, and says why."""

    def is_said() -> bool:
        said = readiness(relay)[1]
        return said.get("state") in ("holding", "waiting") and "certificate verify failed" in said.get("reason", "")

    wait_until(is_said, timeout=60, what="/readyz says that the certificate is not trusted")


def test_a_broker_s_certificate_that_expires_under_a_running_relay_loses_nothing(
    granted: Pipeline, secured: SecuredKafka, tmp_path: Path
) -> None:
    relay = granted.start_relay(**secured.by("scram"))
    event_ids = [granted.insert()]
    assert_it_delivers(granted, event_ids[0])
    secured.show(secured.authority.issue("broker", days=-1))
    event_ids.append(granted.insert())
    wait_for_complaint(relay)
    assert CAUSES["expired"] in findings(granted, tmp_path, **secured.by("scram"))["kafka.tls"]
    assert len(granted.records()) == 1

    secured.show(secured.good)
    granted.wait_for_records(len(event_ids))
    wait_until(lambda: readiness(relay)[1]["state"] == "streaming", timeout=60, what="it streams again")
    assert [dict(each.headers() or [])["id"] for each in granted.records()] == [each.encode() for each in event_ids]
    assert granted.database.execute("SELECT 1 FROM cdc_relay.parked_records") == []
