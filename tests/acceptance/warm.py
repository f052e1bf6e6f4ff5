"""Commands as processes of their own that need not import the program again.

A test that runs a command spends most of that on an interpreter that starts and imports. Here a
process that has imported it forks for each command: a process with its own environment, folder,
output and exit code as any other. It is used where nothing is asked of the interpreter's own
start: `usable` says so. The servers of the tests start in the same way.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import runpy
import select
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, NoReturn, Self

import orjson

PROGRAM = "failproof_es.cli"
PRELOADED = (
    "failproof_es.cli.commands.start_resume", "failproof_es.cli.commands.show",
    "failproof_es.cli.commands.results",
    "failproof_es.cli.commands.prove.verify", "failproof_es.cli.commands.replay",
    "failproof_es.engine.lifecycle",
    "failproof_es.models.providers.openai.provider",
    "failproof_es.dialects.shipped.failproof.dialect",
    "failproof_es.store.embedded.server", "aiohttp.web", "tests.acceptance.used_early",
)  # fmt: skip
OWN_CHILDREN = "TEST_OWN_CHILDREN"
"""A variable. A forked process that has it starts what runs beside it as its own children."""
_PYTHONPATH = os.environ.get("PYTHONPATH")
_READ_AT_START = ("PYTHON", "LC_", "LD_", "LANG", "TZ", "SSL_")
"""How variables begin that an interpreter or a library reads once."""
_LONGEST_REQUEST = 2**20
FOLLOW_AT_THE_END = (3600.0,)
"""For `Follower.__init__.__defaults__` in commands that a test runs to their end.

They take in what they wrote when they are done, as any run does that is over within two seconds.
Beside a longer one a process follows, which takes a second of the processor to begin: whether it
came depended on how busy the machine was. What a test begins and looks at meanwhile has one, and
so have storms, and tests of following.
"""


_SCRIPT = """#!{python} -IS
import json, os, socket, sys

asking = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
asking.connect({place!r})
request = {{
    "arguments": [os.fsencode(argument).hex() for argument in sys.argv[1:]],
    "environment": dict(os.environ),
    "cwd": os.getcwd(),
    "module": {program!r},
    "grouped": False,
}}
socket.send_fds(asking, [json.dumps(request).encode()], [0, 1, 2])
asking.recv(64)
code = int(asking.recv(64) or -9)
sys.exit(code if code >= 0 else 128 - code)
"""


def usable(environment: Mapping[str, str]) -> bool:
    """Whether a forked process is no different with this environment."""
    return hasattr(os, "pidfd_open") and not any(
        name.startswith(_READ_AT_START) for name in environment
    )


class ForkedProcess:
    """A process that was forked, in a process group of its own: what is used of `Popen`."""

    stdin: BinaryIO | None = None

    def __init__(
        self, pid: int, asking: socket.socket, stdout: BinaryIO | None, stderr: BinaryIO | None
    ) -> None:
        self.pid = pid
        self.stdout, self.stderr = stdout, stderr
        self.returncode: int | None = None
        self._asking = asking
        self._reading = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()

    def __del__(self) -> None:
        self._asking.close()

    def poll(self) -> int | None:
        """The exit code, `None` while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, for each thread that waits. Raises `subprocess.TimeoutExpired`."""
        ended = select.poll()
        with self._reading:
            if self.returncode is not None:
                return self.returncode
            ended.register(self._asking, select.POLLIN)
        if not ended.poll(None if timeout is None else timeout * 1000):
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        with self._reading:
            if self.returncode is None:
                # Nothing comes where the process that forks has ended: it has killed this one.
                self.returncode = int(self._asking.recv(64) or -signal.SIGKILL)
                self._asking.close()
            return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        """What it said until its end. Raises `subprocess.TimeoutExpired`."""
        said: dict[BinaryIO | None, bytes] = {}
        threads = []
        for stream in (self.stdout, self.stderr):
            if stream is not None and not stream.closed:

                def read(stream: BinaryIO = stream) -> None:
                    said[stream] = stream.read()

                threads.append(threading.Thread(target=read, daemon=True))
                threads[-1].start()
        self.wait(timeout)
        for thread in threads:
            thread.join(timeout)
            if thread.is_alive():
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        return said.get(self.stdout, b""), said.get(self.stderr, b"")

    def send_signal(self, number: int) -> None:
        """Nothing where it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """At once."""
        self.send_signal(signal.SIGKILL)


class WarmProcess:
    """The process that forks; started when it is first asked, gone with this one."""

    def __init__(self, python: str = sys.executable, preloaded: Sequence[str] = PRELOADED) -> None:
        """Run by that interpreter; it has imported those modules."""
        self._python, self._preloaded = python, preloaded
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = ""

    def _place(self) -> str:
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._begin()
            return f"{self._folder}/socket"

    def _begin(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="failproof-es-warm-")
        variables = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self._process = subprocess.Popen(
            [self._python, "-m", __name__, f"{self._folder}/socket", *self._preloaded],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=variables,
            cwd=Path(__file__).parents[2],
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"
        atexit.register(self._end, self._process, self._folder)

    @staticmethod
    def _end(process: subprocess.Popen[bytes], folder: str) -> None:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)

    def run(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        cwd: Path | None,
        timeout_s: float,
        *,
        module: str = PROGRAM,
    ) -> subprocess.CompletedProcess[str]:
        """As `subprocess.run` with captured text. Raises `subprocess.TimeoutExpired`."""
        with tempfile.TemporaryFile("w+b") as out, tempfile.TemporaryFile("w+b") as err:
            pid, asking = self._asked(
                arguments, environment, cwd, out.fileno(), err.fileno(), module=module
            )
            process = ForkedProcess(pid, asking, None, None)
            try:
                code = process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(
                list(arguments), code, _text(out.read()), _text(err.read())
            )

    def begin(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        cwd: Path | None,
        *,
        module: str = PROGRAM,
        stdin: int | None = None,
        stdout: bool = False,
        stderr: bool = False,
        together: bool = False,
    ) -> ForkedProcess:
        """As `subprocess.Popen`, in a process group of its own, with these streams as pipes.

        `stdin` is a descriptor to read from; nothing can be read without one. `together` is
        errors on standard output too.
        """
        ours: list[BinaryIO | None] = []
        theirs: list[int] = []
        for piped in (stdout, stderr):
            if piped:
                reading, writing = os.pipe()
                ours.append(os.fdopen(reading, "rb"))
            else:
                writing = os.open(os.devnull, os.O_WRONLY)
                ours.append(None)
            theirs.append(writing)
        if together:
            os.dup2(theirs[0], theirs[1])
        try:
            pid, asking = self._asked(
                arguments, environment, cwd, *theirs, module=module, grouped=True, stdin=stdin
            )
        finally:
            for each in theirs:
                os.close(each)
        return ForkedProcess(pid, asking, *ours)

    def write_program(self, file: Path) -> None:
        """Write a script that runs the program as `run` does, for shells and hooks."""
        file.write_text(_SCRIPT.format(python=self._python, place=self._place(), program=PROGRAM))
        file.chmod(0o755)

    def _asked(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        cwd: Path | None,
        out: int,
        err: int,
        *,
        module: str = PROGRAM,
        grouped: bool = False,
        stdin: int | None = None,
    ) -> tuple[int, socket.socket]:
        """The id of a new process, and where its exit code will come."""
        request = {
            "arguments": [os.fsencode(each).hex() for each in arguments],
            "environment": dict(environment),
            "cwd": str(Path.cwd() if cwd is None else cwd),
            "module": module,
            "grouped": grouped,
        }
        asking = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            asking.settimeout(60)
            asking.connect(self._place())
            with Path(os.devnull).open("rb") as nothing:
                read = nothing.fileno() if stdin is None else stdin
                socket.send_fds(asking, [orjson.dumps(request)], [read, out, err])
            return int(asking.recv(64)), asking
        except BaseException:
            asking.close()
            raise

    def sidecar(
        self, command: Sequence[str], *, pass_fds: Sequence[int] = (), **options: Any
    ) -> subprocess.Popen[bytes] | ForkedProcess:
        """As `subprocess.Popen` of `[..., "-m", MODULE]`.

        One that is given descriptors, or modules of others, is no fork.
        """
        if pass_fds or os.environ.get("PYTHONPATH") != _PYTHONPATH:
            return subprocess.Popen(command, pass_fds=pass_fds, **options)
        return self.begin_child(command[-1], stdout=options["stdout"] == subprocess.PIPE)

    def begin_child(self, module: str, *, stdout: bool = True) -> ForkedProcess:
        """Run a module that reads its task from `stdin`, in the environment of this process."""
        reading, writing = os.pipe()
        try:
            process = self.begin((), os.environ, None, module=module, stdin=reading, stdout=stdout)
        except BaseException:
            os.close(writing)
            raise
        finally:
            os.close(reading)
        process.stdin = os.fdopen(writing, "wb")
        return process


class _ParentProcess(WarmProcess):
    """The process that forked this one."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self._known = place

    def _place(self) -> str:
        return self._known


def _text(raw: bytes) -> str:
    return raw.decode().replace("\r\n", "\n").replace("\r", "\n")


def _serve(place: str, preloaded: Sequence[str]) -> dict[str, Any]:
    """Fork for each request. Returns in the forked process, with what it is to do."""
    for name in preloaded:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    selector = selectors.DefaultSelector()
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(place)
    listening.listen(64)
    selector.register(listening, selectors.EVENT_READ)
    selector.register(sys.stdin.fileno(), selectors.EVENT_READ)
    os.write(1, b"ready\n")
    running: dict[int, tuple[int, socket.socket]] = {}
    while True:
        for key, _ in selector.select():
            if key.fileobj is listening:
                asking, _ = listening.accept()
                raw, handed, _, _ = socket.recv_fds(asking, _LONGEST_REQUEST, 3)
                if not raw:
                    asking.close()
                    continue
                request: dict[str, Any] = orjson.loads(raw)
                if (pid := os.fork()) == 0:
                    if request["grouped"]:
                        os.setpgid(0, 0)
                    listening.close()
                    asking.close()
                    selector.close()
                    for descriptor, (_, other) in running.items():
                        os.close(descriptor)
                        other.close()
                    for number, descriptor in enumerate(handed):
                        os.dup2(descriptor, number)
                        os.close(descriptor)
                    return request
                if request["grouped"]:  # before anybody kills the group
                    with contextlib.suppress(OSError):  # it has done so, and more
                        os.setpgid(pid, pid)
                for descriptor in handed:
                    os.close(descriptor)
                with contextlib.suppress(OSError):  # whoever asked may have gone
                    asking.send(b"%d" % pid)
                ended = os.pidfd_open(pid)
                running[ended] = pid, asking
                selector.register(ended, selectors.EVENT_READ)
            elif key.fd in running:
                pid, asking = running.pop(key.fd)
                selector.unregister(key.fd)
                os.close(key.fd)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with asking, contextlib.suppress(OSError):  # whoever asked may have gone
                    asking.send(b"%d" % code)
            else:  # standard input has ended, and with it whoever asks
                for pid, _ in running.values():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                sys.exit()


def forking_sidecars(warm: WarmProcess) -> SimpleNamespace:
    """In place of `subprocess` in the module of sidecars: they are forked too."""
    return SimpleNamespace(
        Popen=warm.sidecar,
        PIPE=subprocess.PIPE,
        DEVNULL=subprocess.DEVNULL,
        TimeoutExpired=subprocess.TimeoutExpired,
    )


def main() -> None:
    """Be the process that forks, and in each that it forks, the program."""
    request = _serve(sys.argv[1], sys.argv[2:])
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    sys.path[0] = request["cwd"]
    importlib.invalidate_caches()
    following = sys.modules.get("projections.follower")
    if following is not None and not request["grouped"]:
        following.Follower.__init__.__defaults__ = FOLLOW_AT_THE_END
    sidecar = sys.modules.get("failproof_es.support.machine.sidecar")
    if sidecar is not None and OWN_CHILDREN not in os.environ:
        sidecar.subprocess = forking_sidecars(_ParentProcess(sys.argv[1]))  # type: ignore[attr-defined]
    sys.argv[1:] = [os.fsdecode(bytes.fromhex(each)) for each in request["arguments"]]
    try:
        runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            with contextlib.suppress(OSError):  # nobody reads: the interpreter says so
                _leave(end.code or 0)
        raise


def _leave(code: int) -> NoReturn:
    """End as an interpreter does, but for freeing one by one what the operating system frees.

    That writes to every page that is shared with the process that forks, and each is copied first.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 0xFF)


if __name__ == "__main__":
    main()
