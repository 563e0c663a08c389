"""A configuration file to a RelayConfig, or one ConfigError with every problem on its own line. Opens no connection."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from cdc_relay.config.document import Document, parse_document
from cdc_relay.config.models import RelayConfig
from cdc_relay.config.places import Places
from cdc_relay.config.problems import Problem
from cdc_relay.config.secrets import secrets_of
from cdc_relay.config.substitution import Substitution
from cdc_relay.config.validation import validate
from cdc_relay.errors import ConfigError
from cdc_relay.logs import learn_secrets

__all__ = ["load", "parse"]

_LARGEST_BYTES = 1 << 20
_SHOWN_PROBLEMS = 50


def load(path: Path) -> RelayConfig:
    """Whoever has it cannot print its secrets any more: the logger knows them."""
    config = parse(_read(path), file=str(path), environment=os.environ, folder=path.parent)
    learn_secrets([*secrets_of(config), os.environ.get("PGPASSWORD", "")])
    return config


def parse(text: str, *, file: str, environment: Mapping[str, str], folder: Path) -> RelayConfig:
    """The text of a file; environment and folder are what ${…} looks into."""
    document = parse_document(text)
    config = _build(document, Substitution(environment, folder)) if document.root is not None else None
    if config is None or document.problems:
        raise ConfigError("\n".join(_show(document, file)))
    return config.remember(Places(file, document.places))


def _show(document: Document, file: str) -> list[str]:
    found = sorted(set(document.problems), key=Problem.order)
    hidden = len(found) - _SHOWN_PROBLEMS
    lines = [problem.show(file) for problem in found[:_SHOWN_PROBLEMS]]
    return [*lines, f"{file}: and {hidden} problems more"] if hidden > 0 else lines


def _build(document: Document, substitution: Substitution) -> RelayConfig | None:
    substitution.apply(document)
    return validate(document, document.root, RelayConfig)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_BYTES + 1)
    except OSError as exc:
        remedy = "name a YAML file with -c, or in the environment variable CDC_RELAY_CONFIG"
        raise ConfigError(f"{path}: cannot read the configuration file: {exc.strerror}", remedy=remedy) from exc
    if len(content) > _LARGEST_BYTES:
        raise ConfigError(f"{path}: larger than 1 MiB; that is no configuration of cdc-relay")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = content.count(b"\n", 0, exc.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8 text") from None
