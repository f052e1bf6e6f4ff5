"""Commands as processes of their own that need not import the program again.

A test that runs a command to its end spends most of that on an interpreter that starts and
imports. Here a process that has imported it forks for each command: a process with its own
environment, folder, output and exit code as any other. It is used where nothing is asked of
the interpreter's own start: `usable` says so.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import runpy
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
from typing import Any

import orjson

PRELOADED = (
    "failproof_es.cli.commands.start_resume", "failproof_es.cli.commands.show",
    "failproof_es.cli.commands.results",
    "failproof_es.cli.commands.prove.verify", "failproof_es.cli.commands.replay",
    "failproof_es.engine.lifecycle",
    "failproof_es.models.openai.provider", "failproof_es.dialects.failproof.dialect",
    "failproof_es.store.embedded.server",
)  # fmt: skip
_READ_AT_START = ("PYTHON", "LC_", "LD_", "LANG", "TZ", "SSL_")
"""How variables begin that an interpreter or a library reads once."""
_LONGEST_REQUEST = 2**20


def usable(environment: Mapping[str, str]) -> bool:
    """Whether a forked process is no different with this environment."""
    return hasattr(os, "pidfd_open") and not any(
        name.startswith(_READ_AT_START) for name in environment
    )


class WarmProcess:
    """The process that forks; started when it is first asked, gone with this one."""

    def __init__(self) -> None:
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
            [sys.executable, "-m", __name__, f"{self._folder}/socket"],
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
    ) -> subprocess.CompletedProcess[str]:
        """As `subprocess.run` with captured text. Raises `subprocess.TimeoutExpired`."""
        request = {
            "arguments": [os.fsencode(each).hex() for each in arguments],
            "environment": dict(environment),
            "cwd": str(Path.cwd() if cwd is None else cwd),
        }
        with (
            tempfile.TemporaryFile("w+b") as out,
            tempfile.TemporaryFile("w+b") as err,
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking,
        ):
            asking.settimeout(timeout_s)
            asking.connect(self._place())
            with Path(os.devnull).open("rb") as nothing:
                socket.send_fds(
                    asking,
                    [orjson.dumps(request)],
                    [nothing.fileno(), out.fileno(), err.fileno()],
                )
            pid = int(asking.recv(64))
            try:
                code = int(asking.recv(64))
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(list(arguments), timeout_s) from None
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(
                list(arguments), code, _text(out.read()), _text(err.read())
            )


def _text(raw: bytes) -> str:
    return raw.decode().replace("\r\n", "\n").replace("\r", "\n")


def _serve(place: str) -> dict[str, Any]:
    """Fork for each request. Returns in the forked process, with what it is to do."""
    for name in PRELOADED:
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
                if (pid := os.fork()) == 0:
                    listening.close()
                    asking.close()
                    selector.close()
                    for descriptor, (_, other) in running.items():
                        os.close(descriptor)
                        other.close()
                    for number, descriptor in enumerate(handed):
                        os.dup2(descriptor, number)
                        os.close(descriptor)
                    request: dict[str, Any] = orjson.loads(raw)
                    return request
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
                sys.exit()


def main() -> None:
    """Be the process that forks, and in each that it forks, the program."""
    request = _serve(sys.argv[1])
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    sys.path[0] = request["cwd"]
    importlib.invalidate_caches()
    gc.unfreeze()
    sys.argv[1:] = [os.fsdecode(bytes.fromhex(each)) for each in request["arguments"]]
    runpy.run_module("failproof_es.cli", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
