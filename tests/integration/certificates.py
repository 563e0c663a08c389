"""Certificates for 127.0.0.1 and localhost, made by openssl, also such as have expired."""

from __future__ import annotations

import subprocess
from pathlib import Path

__all__ = ["make_certificate"]


def make_certificate(certificate: Path, *, days: int) -> Path:
    """Self-signed; its key's file. With days below 0 it ended before now."""
    key, names = certificate.with_suffix(".key"), certificate.with_suffix(".names")
    request = certificate.with_suffix(".request")
    names.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:true\n")
    asked = ["req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", key, "-out", request]
    signed = ["x509", "-req", "-in", request, "-signkey", key, "-days", str(days), "-extfile", names]
    for command in (asked, [*signed, "-out", certificate]):
        subprocess.run(["openssl", *map(str, command)], check=True, capture_output=True, timeout=60)
    certificate.chmod(0o644)
    key.chmod(0o600)
    return key
