"""Prints the dashboard."""

from __future__ import annotations

from tests.dashboard.grafana import dashboard_text

print(dashboard_text(), end="")
