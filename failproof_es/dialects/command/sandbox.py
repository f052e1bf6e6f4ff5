"""The optional last tier: two commands are run in a sandbox, and what they did is compared.

This is the only module that runs a command somebody else wrote. It runs nothing that
`safety.safe` does not call safe and nothing outside of `bubblewrap`: no network, no
capabilities, nothing of the host but a read-only `/usr`, all writing in memory, with limits
and a time-out. Where that can't be had, it raises `SandboxUnavailable`: never a silent pass.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from hashlib import sha256
from pathlib import Path

from failproof_es.dialects.command import fixture_trees
from failproof_es.dialects.command.equivalence import Equivalence, Verdict
from failproof_es.dialects.command.safety import safe

_SECONDS = 10
_OUTPUT = "capture/output"
_STATUS = "capture/status"

_PROGRAM = """
ulimit -t 5 -f 16384 -v 2097152 -n 256 -u 256 || exit 125
cp -a /fixture/. /home/user/ && cd /home/user || exit 125
bash -c "$1" </input >/capture/output 2>/dev/null
echo "$?" >/capture/status
exec tar -C / --format=pax --sort=name -cf - capture home/user
"""
"""What runs inside: a copy of the tree, the command in it, and a record of both."""


_CONFINEMENT = """
--unshare-all --unshare-user --disable-userns --cap-drop ALL --clearenv --new-session
--die-with-parent --uid 1000 --gid 1000 --hostname sandbox
--ro-bind /usr /usr --ro-bind-try /etc/alternatives /etc/alternatives
--symlink usr/bin /bin --symlink usr/sbin /sbin --symlink usr/lib /lib --symlink usr/lib64 /lib64
--proc /proc --dev /dev --size 33554432 --perms 1777 --tmpfs /tmp
--size 33554432 --tmpfs /home/user --size 33554432 --tmpfs /capture
--setenv PATH /usr/bin:/bin:/usr/sbin --setenv HOME /home/user --setenv USER user
--setenv LANG C.UTF-8 --setenv TZ UTC --chdir /home/user
"""
"""What bubblewrap is told: nothing of the host but programs, nothing written but memory."""


class SandboxUnavailable(Exception):
    """There is no sandbox here; the message says what is missing."""


class Code(StrEnum):
    """Why execution said what it said."""

    SAME_EFFECT = "SAME_EFFECT"
    DIFFERENT_EFFECT = "DIFFERENT_EFFECT"
    NO_EFFECT = "NO_EFFECT"
    NOT_DETERMINISTIC = "NOT_DETERMINISTIC"
    TOO_SLOW = "TOO_SLOW"
    NO_RECORD = "NO_RECORD"
    UNSAFE = "UNSAFE"


class _NoRecord(Exception):
    """The run ended without a record; the message is what was said instead."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a command did: its output, whether it succeeded, and the files it left."""

    output: bytes
    succeeded: bool
    files: frozenset[tuple[str, ...]]


def equivalent_by_execution(expected: str, actual: str) -> Equivalence:
    """Run both commands on three file trees and compare output, success and files.

    The reason begins with a `Code`. EQUAL only where every tree shows the same and at least
    one shows something: commands that do nothing there are UNDECIDED, and so are commands
    that are not judged safe, which are not run. Raises `SandboxUnavailable`.
    """
    version = bubblewrap_version()
    commands = (expected, actual)
    for command in commands:
        judged = safe(command)
        if not judged.safe:
            codes = ", ".join(sorted({str(reason.code) for reason in judged.reasons}))
            return _verdict(Verdict.UNDECIDED, Code.UNSAFE, codes, version)
    visible = False
    with tempfile.TemporaryDirectory() as scratch:
        for name in fixture_trees.NAMES:
            tree = Path(scratch) / name
            tree.mkdir()
            fixture_trees.build(tree, name, commands)
            try:
                untouched, once, again, other = (
                    _run(command, tree) for command in ("true", expected, expected, actual)
                )
            except subprocess.TimeoutExpired:
                return _verdict(Verdict.UNDECIDED, Code.TOO_SLOW, name, version)
            except _NoRecord as why:
                return _verdict(Verdict.UNDECIDED, Code.NO_RECORD, f"{name}: {why}", version)
            if once != again:
                return _verdict(Verdict.UNDECIDED, Code.NOT_DETERMINISTIC, name, version)
            if once != other:
                what = ", ".join(_differences(once, other))
                return _verdict(
                    Verdict.DIFFERENT, Code.DIFFERENT_EFFECT, f"{what} in {name}", version
                )
            visible = visible or bool(once.output) or once.files != untouched.files
    if not visible:
        return _verdict(Verdict.UNDECIDED, Code.NO_EFFECT, "nothing to see in any tree", version)
    return _verdict(Verdict.EQUAL, Code.SAME_EFFECT, "in every tree", version)


@cache
def bubblewrap_version() -> str:
    """The sandbox's version, after a trial run of all its protections.

    Raises `SandboxUnavailable` where the program is missing or the kernel refuses it.
    """
    program = _bubblewrap()
    with tempfile.TemporaryDirectory() as folder:
        try:
            effect = _run("echo ready", Path(folder))
        except subprocess.TimeoutExpired as slow:
            raise SandboxUnavailable(f"bubblewrap took longer than {_SECONDS} s") from slow
        except _NoRecord as why:
            raise SandboxUnavailable(f"bubblewrap can't run here: {why}") from why
    if effect != Effect(b"ready\n", True, effect.files):
        raise SandboxUnavailable("bubblewrap ran a command but did not give its output back")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return said.stdout.strip().replace(" ", "-")


def _bubblewrap() -> str:
    program = shutil.which("bwrap")
    if program is None:
        raise SandboxUnavailable("bubblewrap is not installed: install the package `bubblewrap`")
    return program


def _run(command: str, tree: Path) -> Effect:
    """What a command does to a copy of a tree. Raises `subprocess.TimeoutExpired`, `_NoRecord`."""
    began = time.time()
    with tempfile.NamedTemporaryFile() as standard_input:
        standard_input.write(b"one 1\ntwo 2\nthree 3\ntwo 2\n")
        standard_input.flush()
        done = subprocess.run(
            [
                *_confinement(tree, Path(standard_input.name)),
                "bash",
                "-c",
                _PROGRAM,
                "run",
                command,
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={},
            timeout=_SECONDS,
            check=False,
        )
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise _NoRecord(said or f"exit code {done.returncode}")
    try:
        return _effect(done.stdout, began)
    except tarfile.TarError as error:
        raise _NoRecord(str(error)) from error


def _confinement(tree: Path, standard_input: Path) -> tuple[str, ...]:
    """bubblewrap and its arguments, before the program to run."""
    given = ("--ro-bind", str(tree), "/fixture", "--ro-bind", str(standard_input), "/input")
    return (_bubblewrap(), *_CONFINEMENT.split(), *given)


def _effect(record: bytes, began: float) -> Effect:
    """Read the record; a time during the run is `now`, because no two runs share it."""
    output, status = b"", b""
    files: set[tuple[str, ...]] = set()
    with tarfile.open(fileobj=io.BytesIO(record)) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() else None
            content = stream.read() if stream is not None else b""
            if member.name == _OUTPUT:
                output = content
            elif member.name == _STATUS:
                status = content
            elif member.name.startswith("home/user/"):
                when = "now" if member.mtime >= began - 2 else str(int(member.mtime))
                kind = f"{member.type!r} {member.mode:o} {member.linkname}"
                files.add((member.name, kind, when, sha256(content).hexdigest()))
    return Effect(output, status.strip() == b"0", frozenset(files))


def _differences(one: Effect, other: Effect) -> Iterator[str]:
    if one.output != other.output:
        yield "output"
    if one.succeeded != other.succeeded:
        yield "success"
    if one.files != other.files:
        yield "files"


def _verdict(verdict: Verdict, code: Code, detail: str, version: str) -> Equivalence:
    return Equivalence(verdict, "execution", (f"{code}: {detail}",), version)
