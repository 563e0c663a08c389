"""The real relay, set up and run as a user would: `cdc-relay setup` and `cdc-relay run` as processes of their own.

Owns the configuration file, the process and its log. Reads the relay's state from outside, through /readyz.
"""

from __future__ import annotations

import http.client
import signal
import sys
from pathlib import Path
from types import TracebackType

import yaml

from cdc_relay.demo.child import Child, log_tail, run_to_end
from cdc_relay.demo.janitor import Janitor
from cdc_relay.demo.ports import free_port
from cdc_relay.demo.stop_signals import StopSignals
from cdc_relay.errors import RelayError

__all__ = ["SLOT", "RelayProcess"]

SLOT = "demo_outbox"
_TABLE = "public.outbox"
_COMMAND = (sys.executable, "-m", "cdc_relay")
_SETUP_SECONDS = 60.0
_READY_SECONDS = 60.0
_HURRY_SECONDS = 5.0
_DRAIN_SECONDS = 40.0  # above the relay's own drain deadline of 30 s


class RelayProcess:
    """Set up and started on entering; on leaving, whatever is left of it is stopped."""

    def __init__(
        self, directory: Path, *, dsn: str, bootstrap_servers: str, janitor: Janitor, stop: StopSignals
    ) -> None:
        self._config = directory / "relay.yaml"
        self._log = directory / "relay.log"
        self._janitor = janitor
        self._stop_signals = stop
        self._http_port = free_port()
        self._settings = _settings(dsn, bootstrap_servers, self._http_port)
        self._relay: Child | None = None

    def __enter__(self) -> RelayProcess:
        self._config.touch(mode=0o600)  # it holds the password
        self._config.write_text(yaml.safe_dump(self._settings, sort_keys=False))
        self._set_up()
        self._relay = Child([*_COMMAND, "run", "-c", str(self._config)], log=self._log, janitor=self._janitor)
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._end(_DRAIN_SECONDS if kind is None else _HURRY_SECONDS)

    def wait_until_ready(self) -> None:
        def is_settled() -> bool:
            self.check()
            return self.state() == "ready"

        if not self._stop_signals.wait_until(is_settled, timeout_seconds=_READY_SECONDS):
            raise RelayError(f"the relay did not become ready. Its log ends with:\n{log_tail(self._log)}")

    def check(self) -> None:
        """Raises when the relay has ended by itself."""
        exit_code = self._child.exit_code
        if exit_code is not None:
            raise RelayError(f"the relay ended with exit code {exit_code}. Its log ends with:\n{log_tail(self._log)}")

    def state(self) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self._http_port, timeout=1)
        try:
            connection.request("GET", "/readyz")
            return "ready" if connection.getresponse().status == http.client.OK else "not ready"
        except (OSError, http.client.HTTPException):
            return "not answering"
        finally:
            connection.close()

    def stop(self) -> None:
        """SIGTERM, and the relay drains; anything but a clean end is an error."""
        self.check()
        exit_code = self._end(_DRAIN_SECONDS)
        if exit_code != 0:
            tail = log_tail(self._log)
            raise RelayError(f"the relay did not stop cleanly: exit code {exit_code}. Its log ends with:\n{tail}")

    def _end(self, seconds: float) -> int:
        return self._child.stop(((signal.SIGTERM, seconds),))

    def _set_up(self) -> None:
        args = [*_COMMAND, "setup", "-c", str(self._config)]
        if run_to_end(args, log=self._log, janitor=self._janitor, timeout_seconds=_SETUP_SECONDS) != 0:
            raise RelayError(f"`cdc-relay setup` failed. Its output ends with:\n{log_tail(self._log)}")

    @property
    def _child(self) -> Child:
        assert self._relay is not None, "entered first"
        return self._relay


def _settings(dsn: str, bootstrap_servers: str, http_port: int) -> dict[str, object]:
    return {
        "source": {"dsn": dsn, "slot": SLOT, "publication": SLOT},
        "sink": {"kafka": {"bootstrap.servers": bootstrap_servers}},
        "outboxes": [{"table": _TABLE}],
        "http": {"listen": f"127.0.0.1:{http_port}"},
    }
