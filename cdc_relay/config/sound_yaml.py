"""PyYAML's safe loader that raises nothing but its own YAMLError, whatever the text is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml
from yaml.error import Mark
from yaml.scanner import ScannerError

__all__ = ["SoundLoader"]


class SoundLoader(yaml.SafeLoader):
    """The scanner hands digits to chr() and int(), which have limits of their own: `"\\UFFFFFFFF"`, `%YAML 1.999…`."""

    def scan_flow_scalar_non_spaces(self, double: bool, start_mark: Mark) -> Any:
        return self._within_limits(super().scan_flow_scalar_non_spaces, double, start_mark)

    def scan_yaml_directive_number(self, start_mark: Mark) -> Any:
        return self._within_limits(super().scan_yaml_directive_number, start_mark)

    def _within_limits(self, scan: Callable[..., Any], *given: Any) -> Any:
        try:
            return scan(*given)
        except (ValueError, OverflowError):
            mark = self.get_mark()
            raise ScannerError(None, None, "found a number that no character or version has", mark) from None
