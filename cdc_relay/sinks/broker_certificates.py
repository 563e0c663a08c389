"""What is wrong with a broker's certificate: librdkafka only says that it could not be verified. Blocks in limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdc_relay.sources.handshake import Peer, find_fault

__all__ = ["explain"]

_UNTRUSTED = "certificate verify failed"
_BOOTSTRAP = ("bootstrap.servers", "metadata.broker.list")
_ASKED_BROKERS = 3  # each may take seconds, and one is enough to know


def explain(complaint: str, properties: Mapping[str, str]) -> str:
    """To be said after it; empty where the complaint is another one, or nobody can tell."""
    if _UNTRUSTED not in complaint:
        return ""
    for peer in list(_peers(properties))[:_ASKED_BROKERS]:
        if fault := find_fault(peer):
            return f"; the certificate of {peer.host}:{peer.port} is not trusted: {fault}"
    return ""


def _peers(properties: Mapping[str, str]) -> Iterator[Peer]:
    """As librdkafka sees them: a name is asked for unless the file says none."""
    given = next((properties[name] for name in _BOOTSTRAP if name in properties), "")
    has_name = properties.get("ssl.endpoint.identification.algorithm", "https") != "none"
    for server in given.split(","):
        host, _, port = server.strip().rpartition("://")[2].rpartition(":")
        if host and port.isdecimal():
            yield Peer(
                host.strip("[]"),
                int(port),
                name=host.strip("[]") if has_name else "",
                authorities=properties.get("ssl.ca.location", ""),
                authorities_pem=properties.get("ssl.ca.pem", ""),
            )
