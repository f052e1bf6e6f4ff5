"""Ctrl-C ends every command with exit code 130 and without a traceback, at any moment."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from failproof_es.cli import main
from tests.acceptance.commands import environment, write_configuration, write_suite
from tests.acceptance.conftest import RecordedLog
from tests.examples import stride
from tests.selection import slow_except

_EVERY_S = 0.05
_LONGEST_S = 4.0
_VALUES = {
    **dict.fromkeys(("run", "runs", "left", "right"), "1"),
    "config": "run.yaml",
    "paths": "suite.jsonl",
    "kind": "csv",
    "path": "cases.csv",
    "file": "file.jsonl",
    "case": "case-00000",
    "output": "out.evidence",
    "folder": ".",
    "shell": "bash",
    "model": "smollm2",
    "collection": "mine",
    "reason": "why",
    "key": "key.pub",
    "key_file": "key",
    **dict.fromkeys(("log_key", "log_keys"), "key.pub"),
    "seen": "seen",
    "labels": "20",
    "width": "0.1",
    "evaluations": "500",
    "passed": "0.8",
    "queue_name": "audit",
    "accounts": "accounts",
    "name": "ann",
    "project": "alpha",
    "person": "ann",
    "role": "reader",
    "login": "ann",
}
_MORE = {"console": ["--port", "0"], "export": ["1", "--format", "csv", "-o", "out"]}
SERVING = {
    "console": "stop it with Ctrl-C",
    "watch": "no longer watching",
    "worker": "leaving after",
}
"""Commands that wait for Ctrl-C, with what they say then: it is how one ends them, so they are
done."""
_PROGRAM = """
import os, signal, sys, weakref
kind, _, trigger = sys.argv.pop(1).rpartition(" ")
def interrupt():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        os.write(2, b"raised\\n")
        raise
def is_initialising(name):
    return name in sys.modules and not hasattr(sys.modules[name], "__version__")
class Trigger:
    def find_spec(self, name, path=None, target=None):
        if name != trigger:
            return
        if kind == "weak":
            referred = {0}
            weak = weakref.ref(referred, lambda _: interrupt())
            del referred
        elif kind == "hidden":
            try:
                interrupt()
            except KeyboardInterrupt as error:
                from pydantic_core import SchemaError
                raise SchemaError(f"Error building a validator: {error!r}") from None
        elif not kind or is_initialising(kind):
            interrupt()
if trigger:
    sys.meta_path.insert(0, Trigger())
from failproof_es.cli.entry import main
stand = signal.signal
def announce(number, handler):
    signal.signal = stand
    stand(number, handler)
    os.write(1, b".")
signal.signal = announce
main()
"""
"""Writes a full stop once its handler stands: before that Ctrl-C is Python's. Says on stderr if an
interrupt at an import was raised."""
TRIGGERS = (
    "click.shell_completion",  # imported by no command
    *("psycopg", "psycopg.errors", "orjson", "pydantic"),
    *("failproof_es.store.store", "failproof_es.cli.rendering.output", "failproof_es.problems"),
)
LATE_TRIGGER = "failproof_es.assurance.signing.opened_store"
"""Imported while a command runs: an interrupt is raised there, else the process ends at once."""


class Interrupted(NamedTuple):
    code: int
    errors: str
    alone: bool
    """Whether it ended before the signal."""


def _commands(
    command: click.Command = main, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, list[str]]]:
    """Every command of the program, with arguments that it wants."""
    if isinstance(command, click.Group):
        context = click.Context(main)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _commands(found, (*path, name))
        return
    named = " ".join(path)
    words = [*path, *_MORE.get(named, [])]
    for parameter in command.params:
        if parameter.required:
            option = parameter.opts[:1] if isinstance(parameter, click.Option) else []
            words += [*option, _VALUES[str(parameter.name)]]
    yield named, words


COMMANDS = dict(_commands())


@pytest.fixture(scope="module")
def recorded_log(record_log: Callable[[], RecordedLog]) -> RecordedLog:
    """One of this file's own: a command that is interrupted may have begun a run."""
    return record_log()


@pytest.fixture
def folder(recorded_log: RecordedLog, mock_url: str, tmp_path: Path) -> Path:
    write_suite(tmp_path, 100)
    write_configuration(tmp_path, mock_url)
    (tmp_path / "cases.csv").write_text("question,answer\nCapital of Norway?,Oslo\n")
    return tmp_path


def interrupt(
    words: list[str], folder: Path, url: str, after_s: float, trigger: str = ""
) -> Interrupted:
    """Run a command and send it SIGINT: `after_s` from its first line on, or at an import."""
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, trigger, *words],
        env={**environment(url), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    with process:
        os.read(process.stdout.fileno(), 1)
        try:
            _, errors = process.communicate(timeout=600 if trigger else after_s)
            alone = True
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
            _, errors = process.communicate(timeout=120)
            alone = False
        return Interrupted(process.returncode, errors.decode(), alone)


def check(name: str, done: Interrupted, natural: int | None = None) -> None:
    for word in ("Traceback", "Exception ignored", "AttributeError", "ImportError", "Aborted!"):
        assert word not in done.errors, done
    if name in SERVING and SERVING[name] in done.errors:
        assert done.code in (0, 130), done
    elif natural is None or done.code != natural:
        assert done.code == 130, done


@pytest.mark.parametrize("name", slow_except(("runs", "db init", "verify"), COMMANDS))
@pytest.mark.thinned(fast=1, whole=3)
def test_an_interrupt_at_an_import_ends_every_command_with_130(
    name: str, folder: Path, recorded_log: RecordedLog
) -> None:
    """The moments at which a module is there and what it holds is not yet."""
    trigger = TRIGGERS[1:][list(COMMANDS).index(name) % len(TRIGGERS[1:])]
    done = interrupt(COMMANDS[name], folder, recorded_log.url, _LONGEST_S, trigger)
    if "interrupted" in done.errors:
        check(name, done)
    else:  # it imports no such module
        assert "Traceback" not in done.errors


@pytest.mark.parametrize("trigger", TRIGGERS)
@pytest.mark.thinned(fast=3, whole=5)
def test_an_interrupt_at_each_import_ends_a_command_with_130(
    trigger: str, folder: Path, recorded_log: RecordedLog
) -> None:
    done = interrupt(["runs"], folder, recorded_log.url, _LONGEST_S, trigger)
    if trigger == "click.shell_completion":
        assert done.code == 0
    else:
        check("runs", done)


def test_an_interrupt_where_none_can_be_raised_is_not_lost(
    folder: Path, recorded_log: RecordedLog
) -> None:
    """In the callback of a weak reference, as the import system has them."""
    done = interrupt(["runs"], folder, recorded_log.url, _LONGEST_S, "weak " + LATE_TRIGGER)
    check("runs", done)
    assert "raised" in done.errors


_SWALLOWING = """
import os, signal, sys, time, types, weakref
from failproof_es.cli import entry
def program(prog_name):
    with entry.interrupts_raise():
        referred = {0}
        weak = weakref.ref(referred, lambda _: os.kill(os.getpid(), signal.SIGINT))
        del referred
        try:
            time.sleep(float(sys.argv[1]))
        except KeyboardInterrupt:
            sys.exit(4)
    sys.exit(0)
sys.modules["failproof_es.cli.app.command_table"] = types.SimpleNamespace(main=program)
entry.main()
"""


@pytest.mark.parametrize(("lasts_s", "code"), [("0", 130), ("1", 4)])
def test_an_interrupt_that_was_swallowed_ends_what_is_over_and_what_goes_on_ends_by_itself(
    lasts_s: str, code: int
) -> None:
    """A command that is interrupted has an exit code of its own: paused, or served to its end."""
    arguments = [sys.executable, "-c", _SWALLOWING, lasts_s]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    assert ("interrupted" in done.stderr) is (code == 130)


def test_an_interrupt_that_another_error_came_out_of_is_one(
    folder: Path, recorded_log: RecordedLog
) -> None:
    """As of pydantic's core, when it builds a class."""
    done = interrupt(["runs"], folder, recorded_log.url, _LONGEST_S, "hidden " + LATE_TRIGGER)
    check("runs", done)
    assert "raised" in done.errors


def test_an_interrupt_while_a_native_module_initialises_is_not_raised(
    folder: Path, recorded_log: RecordedLog
) -> None:
    """orjson imports json meanwhile: raised there, an interrupt crashes the interpreter."""
    done = interrupt(["runs"], folder, recorded_log.url, _LONGEST_S, "orjson json")
    check("runs", done)
    assert "raised" not in done.errors


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.thinned(fast=1, whole=3)
def test_an_interrupt_at_every_50_ms_ends_every_command_with_130(
    name: str, folder: Path, recorded_log: RecordedLog
) -> None:
    """Together at every moment; in the profile `search` each at each."""
    every = stride(40)
    first = list(COMMANDS).index(name) % every
    natural: int | None = None
    untouched = shutil.copytree(folder, folder.with_name(f"{folder.name}-untouched"))
    for step in range(first, int(_LONGEST_S / _EVERY_S), every):
        done = interrupt(COMMANDS[name], folder, recorded_log.url, step * _EVERY_S)
        if done.alone:
            natural = done.code
        elif name not in SERVING and done.code not in (130, natural):  # the signal came too late
            natural = interrupt(COMMANDS[name], untouched, recorded_log.url, 60).code
        check(name, done, natural)
        if done.alone:
            break
