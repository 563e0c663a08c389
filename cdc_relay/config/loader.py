"""A configuration file to a RelayConfig, or one ConfigError with every problem on its own line. Opens no connection."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from cdc_relay.config.document import Document, parse_document
from cdc_relay.config.keys import keep_known_keys
from cdc_relay.config.models import RelayConfig
from cdc_relay.config.problems import Problem, translate
from cdc_relay.config.substitution import Substitution
from cdc_relay.errors import ConfigError

__all__ = ["load", "parse"]

_LARGEST_BYTES = 1 << 20


def load(path: Path) -> RelayConfig:
    return parse(_read(path), file=str(path), environment=os.environ, folder=path.parent)


def parse(text: str, *, file: str, environment: Mapping[str, str], folder: Path) -> RelayConfig:
    """The text of a file; environment and folder are what ${…} looks into."""
    document = parse_document(text)
    config = _build(document, Substitution(environment, folder)) if document.root is not None else None
    if config is None or document.problems:
        raise ConfigError(
            "\n".join(problem.show(file) for problem in sorted(set(document.problems), key=Problem.order))
        )
    return config


def _build(document: Document, substitution: Substitution) -> RelayConfig | None:
    substitution.apply(document)
    known = keep_known_keys(document, document.root, RelayConfig)
    try:
        return RelayConfig.model_validate(known)
    except ValidationError as exc:
        problems = [(path, text) for path, text in translate(exc) if not document.reported(path)]
    for path, text in problems:
        document.report(path, text)
    return None


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_BYTES + 1)
    except OSError as exc:
        raise ConfigError(f"{path}: cannot read the configuration file: {exc.strerror}") from exc
    if len(content) > _LARGEST_BYTES:
        raise ConfigError(f"{path}: larger than 1 MiB; that is no configuration of cdc-relay")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = content.count(b"\n", 0, exc.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8 text") from None
