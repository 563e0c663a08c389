"""What each path answers: a table from path to page. Knows no sockets; later pages are added here."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import cache
from http import HTTPStatus
from typing import NamedTuple

from cdc_relay.http.health import Health, judge_live, judge_ready, take_snapshot
from cdc_relay.http.status import describe
from cdc_relay.logs import redact_all
from cdc_relay.stats import Stats

__all__ = ["Page", "Response", "answer", "build_pages"]


class Response(NamedTuple):
    status: HTTPStatus
    content_type: str
    body: bytes


Page = Callable[[str], Response]  # takes the Accept header


def build_pages(stats: Stats) -> dict[str, Page]:
    return {
        "/livez": lambda _accept: _health_page(judge_live(take_snapshot(stats), time.monotonic())),
        "/readyz": lambda _accept: _health_page(judge_ready(take_snapshot(stats), time.monotonic())),
        "/metrics": _metrics_page(stats),
        "/status": lambda _accept: _status_page(stats),
    }


def answer(pages: dict[str, Page], target: str, accept: str) -> Response:
    page = pages.get(target.partition("?")[0])
    if page is None:
        return _json_response(HTTPStatus.NOT_FOUND, {"status": "not found", "paths": sorted(pages)})
    return page(accept)


def _health_page(health: Health) -> Response:
    status = HTTPStatus.OK if health.ok else HTTPStatus.SERVICE_UNAVAILABLE
    return _json_response(status, health.as_json())


def _status_page(stats: Stats) -> Response:
    return _json_response(HTTPStatus.OK, describe(stats, now=time.monotonic(), wall=time.time()))


def _metrics_page(stats: Stats) -> Page:
    @cache
    def build() -> Page:
        """At the first visit: its library would make every start later, and costs 1 MB."""
        from prometheus_client.exposition import choose_encoder

        from cdc_relay.http.metrics import build_registry

        registry = build_registry(stats)

        def page(accept: str) -> Response:
            encode, content_type = choose_encoder(accept)
            return Response(HTTPStatus.OK, content_type, encode(registry))

        return page

    return lambda accept: build()(accept)


def _json_response(status: HTTPStatus, content: dict[str, object]) -> Response:
    return Response(status, "application/json", json.dumps(redact_all(content)).encode() + b"\n")
