"""Running the program as a person does: a process, its output, its exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click.testing
import httpx
import orjson
from click.testing import CliRunner

from failproof_es.cli import main
from failproof_es.store.store import Store
from tests.acceptance.sessions import handed_on
from tests.acceptance.warm import ForkedProcess, WarmProcess, forking_sidecars, usable

ROOT = Path(__file__).parents[2]
_WARM = WarmProcess()
PROGRAM = [sys.executable, "-m", "failproof_es.cli"]


def environment(database_url: str, **more: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": os.environ.get("HOME", "/"),
        "FAILPROOF_ES_DATABASE_URL": database_url,
        **{name: os.environ[name] for name in ("FAILPROOF_ES_HOME",) if name in os.environ},
        "NO_COLOR": "1",
        **more,
    }


def run(
    database_url: str, *arguments: str, cwd: Path | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, in a process of its own."""
    return completed(arguments, environment(database_url, **more), cwd)


def completed(
    arguments: Sequence[str],
    variables: Mapping[str, str],
    cwd: Path | None = None,
    *,
    module: str = "failproof_es.cli",
) -> subprocess.CompletedProcess[str]:
    """The same with an environment of its own, or of another program of Python."""
    if usable(variables):
        return _WARM.run(arguments, variables, cwd, timeout_s=180, module=module)
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env=variables,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


Process = subprocess.Popen[bytes] | ForkedProcess


def begin(database_url: str, *arguments: str, cwd: Path, **more: str) -> Process:
    """Begin a command in a process group of its own. What it says on `stderr` can be read."""
    return begin_reading(None, database_url, *arguments, cwd=cwd, **more)


def begin_reading(
    stdin: int | None, database_url: str, *arguments: str, cwd: Path, **more: str
) -> Process:
    """The same, and it reads from the descriptor `stdin`."""
    return begin_with(environment(database_url, **more), *arguments, cwd=cwd, stdin=stdin)


def begin_with(
    variables: Mapping[str, str], *arguments: str, cwd: Path, stdin: int | None = None
) -> Process:
    """The same with an environment of its own."""
    if usable(variables):
        return _WARM.begin(arguments, variables, cwd, stdin=stdin, stderr=True)
    return subprocess.Popen(
        [*PROGRAM, *arguments],
        env=variables,
        cwd=cwd,
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def begin_saying(database_url: str, *arguments: str, cwd: Path) -> Process:
    """Begin a command in a process group of its own. `stdout` has what it says on both streams."""
    variables = environment(database_url)
    if usable(variables):
        return _WARM.begin(arguments, variables, cwd, stdout=True, together=True)
    return subprocess.Popen(
        [*PROGRAM, *arguments],
        env={**variables, "PYTHONUNBUFFERED": "1"},
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def programs_of(folder: Path) -> str:
    """A `PATH` for shells and hooks: its `failproof-es` need not import the program again."""
    programs = folder / "warm-programs"
    programs.mkdir()
    if usable({}):
        _WARM.write_program(programs / "failproof-es")
    return os.pathsep.join((str(programs), str(Path(sys.executable).parent), os.environ["PATH"]))


def fork_child(command: Sequence[str], **_: object) -> ForkedProcess:
    """As `subprocess.Popen` of `[..., "-m", MODULE]` with both pipes, for a child of ours.

    A cold one imports for half a second before it grades or compiles anything.
    """
    return _WARM.begin_child(command[-1])


SIDECARS = forking_sidecars(_WARM)
"""In place of `subprocess` in the module of sidecars of this process."""


@contextlib.contextmanager
def within(folder: Path) -> Iterator[None]:
    """The current directory is `folder` meanwhile."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def invoke(
    database_url: str,
    *arguments: object,
    cwd: Path,
    answers: str | None = None,
    **more: str | None,
) -> click.testing.Result:
    """Run a command to its end in this process: faster, where no process is needed.

    `answers` is what it reads from standard input.
    """
    with within(cwd), handed_on():
        done = CliRunner().invoke(
            main,
            [str(argument) for argument in arguments],
            prog_name="failproof-es",
            input=answers,
            env={"FAILPROOF_ES_DATABASE_URL": database_url, "NO_COLOR": "1", **more},
        )
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception  # a traceback is never an answer
    return done


def stop_amid_requests(store: Store, *processes: Process, purpose: str = "%") -> None:
    """Stop processes that drive runs at a moment at which a request has no outcome on record.

    The request is for this purpose, if one is named: `target` or `judge`. A kill at a random
    moment may meet none, above all on a slow machine.
    """
    deadline = time.monotonic() + 60
    while True:
        for each in processes:
            each.send_signal(signal.SIGSTOP)
        with store.connect() as connection:
            if connection.execute(_OPEN_REQUEST, (purpose,)).fetchone() is not None:
                return
        assert time.monotonic() < deadline, "no request was in flight whenever they were stopped"
        for each in processes:
            assert each.poll() is None, "the run was over before a request was met in flight"
            each.send_signal(signal.SIGCONT)
        time.sleep(0.05)


_OPEN_REQUEST = """
SELECT FROM failproof.event_log AS sent
WHERE sent.event_type = 'RequestSent'
    AND coalesce(sent.payload ->> 'purpose', 'target') LIKE %s
    AND NOT EXISTS (
        SELECT FROM failproof.event_log AS later
        WHERE later.stream_id = sent.stream_id AND later.stream_version > sent.stream_version
    )
LIMIT 1
"""


def kill_group(process: Process) -> None:
    """`kill -9` of the whole process group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stderr is not None:
        process.stderr.close()


def begin_server(
    latency_ms: float, module: str = "tests.servers.mock_server", *, warm: bool = True
) -> tuple[Process, str]:
    """A server of the tests as a process of its own, forked where it is `warm`; its base URL."""
    how = ["--latency-ms", str(latency_ms)]
    variables = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    process: Process
    if warm and usable(variables):
        process = _WARM.begin(how, variables, ROOT, module=module, stdout=True)
    else:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *how], cwd=ROOT, stdout=subprocess.PIPE
        )
    assert process.stdout is not None
    with process.stdout as said:
        return process, said.readline().decode().strip()


@contextlib.contextmanager
def mock_server(
    latency_ms: float, module: str = "tests.servers.mock_server", *, warm: bool = True
) -> Iterator[str]:
    """The same until it is left; yields its base URL."""
    process, url = begin_server(latency_ms, module, warm=warm)
    try:
        yield url
    finally:
        process.kill()
        process.wait()


def asked(base_url: str) -> dict[str, int]:
    """How often the mock was asked each prompt."""
    with httpx.Client(verify=False) as client:  # a store of certificates takes 15 ms to load
        reply = client.get(base_url.removesuffix("/v1") + "/asked")
    counts: dict[str, int] = orjson.loads(reply.content)
    return counts


def hurry(base_url: str) -> None:
    """Let the mock answer at once from now on, also what waits there."""
    with httpx.Client(verify=False) as client:
        client.post(base_url.removesuffix("/v1") + "/hurry").raise_for_status()


def write_suite(folder: Path, cases: int, prompt: str = "Say {n}.") -> Path:
    """A suite of `cases` cases, each with a prompt of its own."""
    file = folder / "suite.jsonl"
    with file.open("wb") as lines:
        for n in range(cases):
            case = {
                "case_id": f"case-{n:05}",
                "suite_id": "generated",
                "prompt": prompt.replace("{n}", f"number {n}"),
                "expected_response": f"number {n}",
            }
            lines.write(orjson.dumps(case) + b"\n")
    return file


def write_configuration(folder: Path, base_url: str, **sections: Any) -> Path:
    """A configuration (JSON is YAML) for the mock and the suite beside it."""
    configuration = {
        "test_run": {"name": "acceptance"},
        "models": [{"provider": "openai", "base_url": base_url, "model": "mock"}],
        "prompts": {"path": "suite.jsonl", "dialect": "failproof"},
        "execution": {"parallel_workers": 20, "retry_attempts": 2, "retry_delay_ms": 10},
        **sections,
    }
    file = folder / "run.yaml"
    file.write_bytes(orjson.dumps(configuration))
    return file
