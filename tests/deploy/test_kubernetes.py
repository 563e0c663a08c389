"""The manifests: valid by Kubernetes' own schemas, and what they name exists."""

from __future__ import annotations

from typing import Any

import kubernetes_validate
import pytest
import yaml
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # carries no types

from tests.deploy.files import KUBERNETES, Manifest, instruction, manifest, manifests

VERSIONS = ("1.29", "1.31", kubernetes_validate.latest_version())
LABELS = {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1}
# The part of the operator's CustomResourceDefinition that we use; anything else is a mistake.
SERVICE_MONITOR: dict[str, Any] = {
    "type": "object",
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "additionalProperties": False,
    "properties": {
        "apiVersion": {"const": "monitoring.coreos.com/v1"},
        "kind": {"const": "ServiceMonitor"},
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "required": ["endpoints", "selector"],
            "additionalProperties": False,
            "properties": {
                "selector": {"type": "object", "additionalProperties": False, "properties": {"matchLabels": LABELS}},
                "endpoints": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["port"],
                        "additionalProperties": False,
                        "properties": {
                            "port": {"type": "string"},
                            "path": {"type": "string", "pattern": "^/"},
                            "honorLabels": {"type": "boolean"},
                            "interval": {"type": "string", "pattern": "^[0-9]+(ms|s|m|h)$"},
                        },
                    },
                },
            },
        },
    },
}
WORKLOADS = [manifest("Deployment"), manifest("Job", "cdc-relay-setup")]
each_workload = pytest.mark.parametrize("workload", WORKLOADS, ids=lambda each: each["kind"])
own_kinds = [each for each in manifests() if each["kind"] != "ServiceMonitor"]


def name_of(document: Manifest) -> str:
    return f"{document['kind']}-{document['metadata']['name']}"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("document", own_kinds, ids=name_of)
def test_a_manifest_is_valid(document: Manifest, version: str) -> None:
    kubernetes_validate.validate(document, version, strict=True)


def test_the_service_monitor_is_valid() -> None:
    Draft202012Validator(SERVICE_MONITOR).validate(manifest("ServiceMonitor"))


def test_the_label_service_stays_the_relays() -> None:
    """The operator names the Kubernetes service so, and would rename ours: the alerts go by it."""
    [endpoint] = manifest("ServiceMonitor")["spec"]["endpoints"]
    assert endpoint["honorLabels"] is True


def test_every_manifest_belongs_to_a_kustomization_but_the_example_of_secrets() -> None:
    known = {path.parent / name for path in KUBERNETES.rglob("kustomization.yaml") for name in resources(path.parent)}
    there = {path for path in KUBERNETES.rglob("*.yaml") if path.name not in ("kustomization.yaml", "relay.yaml")}
    assert there - known == {KUBERNETES / "secret.example.yaml"}
    assert [path for path in known if not path.exists()] == []


def resources(folder: Any) -> list[str]:
    names: list[str] = kustomization(folder).get("resources", [])
    return names


def kustomization(folder: Any) -> Manifest:
    document: Manifest = yaml.safe_load((folder / "kustomization.yaml").read_text())
    return document


def test_the_deployment_and_the_job_have_the_same_file() -> None:
    [generated] = kustomization(KUBERNETES / "config")["configMapGenerator"]
    assert all((KUBERNETES / "config" / file).exists() for file in generated["files"])
    assert (KUBERNETES / "setup" / "../config").resolve() == KUBERNETES / "config"
    assert "config" in resources(KUBERNETES) and "../config" in resources(KUBERNETES / "setup")
    for workload in WORKLOADS:
        names = [volume["configMap"]["name"] for volume in volumes(workload) if "configMap" in volume]
        assert names == [generated["name"]]


def volumes(workload: Manifest) -> list[Manifest]:
    found: list[Manifest] = workload["spec"]["template"]["spec"]["volumes"]
    return found


@each_workload
def test_every_secret_that_is_mounted_is_in_the_example(workload: Manifest) -> None:
    examples = {each["metadata"]["name"] for each in manifests() if each["kind"] == "Secret"}
    assert {volume["secret"]["secretName"] for volume in volumes(workload) if "secret" in volume} <= examples


def test_the_examples_have_placeholders_only() -> None:
    secrets = [each["stringData"] for each in manifests() if each["kind"] == "Secret"]
    assert [value for secret in secrets for value in secret.values() if value != "CHANGE-ME"] == []


@each_workload
def test_a_mount_has_its_volume(workload: Manifest) -> None:
    [container] = workload["spec"]["template"]["spec"]["containers"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in volumes(workload)}


@each_workload
def test_a_pod_is_confined(workload: Manifest) -> None:
    pod = workload["spec"]["template"]["spec"]
    [container] = pod["containers"]
    user, _, group = instruction("USER").partition(":")
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": int(user),
        "runAsGroup": int(group),
        "fsGroup": int(group),
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


@pytest.mark.parametrize("kind", ["Service", "PodDisruptionBudget", "NetworkPolicy", "ServiceMonitor", "Deployment"])
def test_a_selector_finds_what_it_is_for(kind: str) -> None:
    spec = manifest(kind)["spec"]
    selector = spec.get("podSelector") or spec["selector"]
    found = manifest("Service") if kind == "ServiceMonitor" else manifest("Deployment")["spec"]["template"]
    assert selector.get("matchLabels", selector).items() <= found["metadata"]["labels"].items()


def test_the_setup_job_is_not_taken_for_the_relay() -> None:
    labels = WORKLOADS[1]["spec"]["template"]["metadata"]["labels"]
    assert not manifest("Deployment")["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert manifest("NetworkPolicy")["spec"]["podSelector"]["matchLabels"].items() <= labels.items()


def test_a_rollout_never_leaves_the_slot_without_a_reader_or_a_standby() -> None:
    spec = manifest("Deployment")["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}


def test_a_drain_of_nodes_does_not_wait_for_postgres() -> None:
    """While it is away both pods are unready: by the default none of them may be evicted then."""
    assert manifest("PodDisruptionBudget")["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_traffic_goes_to_the_servers_of_the_file_and_to_names_only() -> None:
    config = yaml.safe_load((KUBERNETES / "config" / "relay.yaml").read_text())
    postgres = config["source"]["dsn"].partition("//")[2].partition("/")[0]
    kafka = config["sink"]["kafka"]["bootstrap.servers"]
    wanted = {(host.partition(".")[2], int(port)) for host, port in (each.split(":") for each in (postgres, kafka))}
    rules = manifest("NetworkPolicy")["spec"]["egress"]
    assert {(namespace(rule), port["port"]) for rule in rules for port in rule["ports"]} == wanted | {
        ("kube-system", 53)
    }


def namespace(rule: Manifest) -> str:
    [target] = rule["to"]
    name: str = target["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
    return name
