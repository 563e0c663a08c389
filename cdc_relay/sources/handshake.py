"""Why a server's certificate is not trusted: libpq and librdkafka say that it is not, and no more.

A handshake of our own, with the same authorities and the same name, has OpenSSL say its reason. It sends nothing else,
decides nothing, and waits within limits.
"""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SSL_REQUEST", "Peer", "find_fault"]

SSL_REQUEST = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"  # Postgres speaks TLS only when it is asked to
_LIMIT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Peer:
    """A server, and what a client was told to hold its certificate against."""

    host: str
    port: int
    name: str = ""  # that the certificate must have; empty: any
    authorities: str = ""  # a file or a folder; empty: those of the system
    authorities_pem: str = ""
    is_postgres: bool = False


def find_fault(peer: Peer) -> str:
    """`certificate has expired`, in OpenSSL's words; empty where nothing is wrong, or nobody can say."""
    try:
        context = _context(peer)
        with socket.create_connection((peer.host, peer.port), timeout=_LIMIT_SECONDS) as line:
            if peer.is_postgres and not _is_willing(line):
                return ""
            with context.wrap_socket(line, server_hostname=peer.name or None):
                return ""
    except ssl.SSLCertVerificationError as exc:
        return exc.verify_message.rstrip(".")
    except (OSError, ValueError):  # away, refuses us for another reason, or its authorities cannot be read
        return ""


def _is_willing(line: socket.socket) -> bool:
    line.sendall(SSL_REQUEST)
    return line.recv(1) == b"S"


def _context(peer: Peer) -> ssl.SSLContext:
    """Not Python's default one, which from 3.13 on is stricter than the clients are."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = bool(peer.name)
    if peer.authorities_pem:
        context.load_verify_locations(cadata=peer.authorities_pem)
    elif not peer.authorities:
        context.load_default_certs()
    elif Path(peer.authorities).is_dir():
        context.load_verify_locations(capath=peer.authorities)
    else:
        context.load_verify_locations(cafile=peer.authorities)
    return context
