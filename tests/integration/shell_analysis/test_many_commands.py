"""A command has the same verdict in a process of its own and in one with any others."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from failproof_es.shell_analysis import (
    Unparseable,
    check_posix,
    check_posix_many,
    compare,
    compare_many,
    judge_safety,
    judge_safety_many,
    parse_commands,
)
from failproof_es.shell_analysis.parse import programs, shell, shfmt
from failproof_es.shell_analysis.parse.batching import MOST
from failproof_es.shell_analysis.parse.shfmt import Language, Tree
from failproof_es.shell_analysis.posix import shellcheck
from tests.examples import examples, stride
from tests.integration.shell_analysis.safety.safety_corpus import DANGEROUS, HARMLESS
from tests.integration.shell_analysis.test_hostile_texts import DOUBLING, OPENED
from tests.integration.shell_analysis.test_posix_verdicts import PORTABLE, SHELL_ONLY, SINCE_2024
from tests.machine import slowness

HOSTILE = [
    "echo 'open", 'echo "open', "b' ; ls", 'b"; ls', "echo `open", "b`", "if true; then ls",
    "fi", "while :; do", "done", "{ ls", "}", "( ls", ")", "f()", "function f", "case a in", "esac",
    "ls |", "ls &&", "| ls", "&& ls", "!", "time", "coproc", "echo \\", "echo \\\\", "ls\n\\", "\\",
    "cat <<E", "E", "cat <<E\nx\nE", "cat <<E\nx", "cat <<':'", ":", "cat <<''", "cat <<''\nx\n",
    "cat <\\\n<:\nx", "cat <<<x", "\n:\n", ":\n:", ": # ours", "# nothing", "ls # said",
    "ls\n# said", "# said\nls", "ls\r", "ls\r\npwd", "echo $'", "'", "echo $((1+", "2))", "a=(",
    "echo ${x", "b)", "[[ a", "]]", "ls &", "ls;", ";", ";;", "echo é😀", "ls > x", "<name>",
    "ls\n", "\n\nls", " ls ",
    "ls\\\n -l", "a[", "alias :=rm", ":() { ls; }", "exit", "shopt -s extglob", "set -n",
    "a\0b", "\ud800", "", " ", "x" * 1100, "x" * 5000, "#" * 1_000_000, "a;" * 500, "a|" * 600,
    "(" * 900 + "a" + ")" * 900, "if " * 300, "! " * 300, "{ " * 60 + "ls" + "; }" * 60,
]  # fmt: skip
"""What reaches for what stands behind it, or looks like what divides it from that."""

CORPUS = [
    *HOSTILE, *SHELL_ONLY, *PORTABLE, *SINCE_2024, *HARMLESS[::3],
    *(command for _, command in DANGEROUS[::3]), *DOUBLING.values(), *OPENED.values(),
]  # fmt: skip


def readable(texts: Sequence[str]) -> list[str]:
    """Those that a parser is given."""
    return [text for text in texts if shell._refusal(text) is None]


def said(read: Tree | Unparseable) -> object:
    """Everything that an answer says."""
    return (read.code, read.reason) if isinstance(read, Unparseable) else read.file()


@pytest.fixture
def unread() -> Callable[[], None]:
    """Makes the programs be asked again."""

    def forget() -> None:
        for reader in shell._READERS.values():
            reader.forget()
        shellcheck._READER.forget()

    forget()
    return forget


@cache
def said_alone(text: str, language: Language) -> object:
    """What is said of a command in a process of its own, which takes some 30 ms."""
    return said(shfmt._alone(text, language))


@pytest.mark.parametrize(
    "texts", [HOSTILE, pytest.param(CORPUS, marks=pytest.mark.wide)], ids=["hostile", "corpus"]
)
@pytest.mark.parametrize("language", ["bash", "posix"])
@pytest.mark.thinned(whole=1)
def test_a_tree_is_the_one_that_the_command_has_alone(language: Language, texts: list[str]) -> None:
    texts = readable(texts)
    alone = [said_alone(text, language) for text in texts]
    for at in range(0, len(texts), MOST):
        together = shfmt.read(texts[at : at + MOST], language)
        for text, one, other in zip(texts[at:], alone[at:], map(said, together), strict=False):
            assert one == other, text


@pytest.mark.parametrize("language", ["bash", "posix"])
@pytest.mark.slow
@pytest.mark.thinned(fast=1, whole=1)
def test_no_command_changes_the_one_behind_it(language: Language) -> None:
    texts = readable(HOSTILE)[:: stride(3)]
    alone = {text: said_alone(text, language) for text in ("ls -l | wc", *texts)}
    for text in texts:
        group = ["ls -l | wc", text, "ls -l | wc", text, text, "ls -l | wc"]
        assert [said(each) for each in shfmt.read(group, language)] == [alone[t] for t in group]


FRAGMENTS = [
    "'", '"', "`", "$(", ")", "(", "{", "}", "if", "then", "fi", "while", "do", "done", "case",
    "in", "esac", ";;", "\\", "\\\n", "#", "# c\n", "<<", "<<E\n", "<<''\n", "<<<", "&&", "||",
    "|", "&", ";", "!", "a", "ls", "echo", "f()", "function f", "[[", "]]", "((", "))", "$((",
    "${x", "=(", "[", "]", "*", ":", "\n:\n", ">", "<(", ">(", "2>&1", "$'", "time", "é", "~",
    "=", "E\n", "\n", "\r", "\r\n", "\t", "$", "0",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=6).map(" ".join) | st.lists(
    st.sampled_from(FRAGMENTS), min_size=1, max_size=6
).map("".join)


@settings(max_examples=examples(0.4), suppress_health_check=list(HealthCheck))
@given(st.lists(TEXTS | st.sampled_from(CORPUS), min_size=2, max_size=8), st.booleans())
@example(["echo 'a", "b'", "ls"], False)
@example(["ls\n\\", "ls"], False)
@example(["cat <<''\nx\n", "ls"], False)
def test_any_texts_are_read_as_each_alone(texts: list[str], is_posix: bool) -> None:
    language: Language = "posix" if is_posix else "bash"
    texts = readable(texts)
    alone = [said_alone(text, language) for text in texts]
    assert [said(each) for each in shfmt.read(texts, language)] == alone


@pytest.mark.slow
def test_verdicts_are_those_of_each_command_alone(unread: Callable[[], None]) -> None:
    """Also where what is asked at once is one more than a process is given."""
    commands = [*HOSTILE, *SHELL_ONLY][: 2 * MOST + 1]
    pairs = [*pairwise(commands)]
    together = check_posix_many(commands), judge_safety_many(commands), compare_many(pairs)
    unread()
    assert together[0] == [check_posix(command) for command in commands]
    assert together[1] == [judge_safety(command) for command in commands]
    assert together[2] == [compare(one, other) for one, other in pairs]


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize("count", [0, 1, MOST, MOST + 1])
def test_as_many_verdicts_as_commands(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    check_posix("ls")  # the programs' versions are known
    began: list[str] = []
    run = programs.run

    def counted(name: str, *rest: str, **more: object) -> subprocess.CompletedProcess[bytes]:
        began.append(name)
        return run(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(programs, "run", counted)
    commands = [f"ls {number} | wc -l" for number in range(count)]
    assert [verdict.compliant for verdict in check_posix_many(commands)] == [True] * count
    assert len(began) == 3 * -(-count // MOST)  # shfmt for two languages, shellcheck for one
    assert len(judge_safety_many(commands)) == len(parse_commands(commands)) == count


# -- programs that end, or take for ever ---------------------------------------------------

SLEEP = "exec /bin/sleep 60"
"""Each test with it waits until the program is given up, three times for a second."""


@pytest.fixture
def killing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, unread: Callable[[], None]
) -> Iterator[Callable[[str, str], None]]:
    """Puts programs in the place of the parsers that end, or sleep, at one text, else parse."""

    real = {name: programs.locate(name) for name in ("shfmt", "shellcheck")}

    def replace(program: str, at_text: str) -> None:
        folder = tmp_path / "programs"
        folder.mkdir(exist_ok=True)
        for name, path in real.items():
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(path)
        fake = folder / program
        fake.unlink()
        texts = "*.sh" if program == "shellcheck" else '"$text"'
        fake.write_text(
            f"#!/bin/sh\ntext={tmp_path}/text.$$\n"
            f'[ "{program}" = shellcheck ] || /bin/cat > "$text"\n'
            f"if [ $1 != --version ] && /bin/grep -q FATAL {texts}; then {at_text}; fi\n"
            + f'exec {real[program]} "$@"'
            + ("" if program == "shellcheck" else ' < "$text"')
        )
        fake.chmod(0o755)
        monkeypatch.setattr(programs, "_folders", lambda: [folder])
        programs.locate.cache_clear()

    check_posix("ls")  # the programs' versions are known
    yield replace
    programs.locate.cache_clear()
    unread()


@pytest.mark.parametrize(
    ("end", "place"),
    [
        *((end, place) for end in ("kill -9 $$", "exit 3") for place in (0, 3, 7)),
        (SLEEP, 3),
        *(pytest.param(SLEEP, place, marks=pytest.mark.wide) for place in (0, 7)),
    ],
)
@pytest.mark.parametrize("program", ["shfmt", "shellcheck"])
@pytest.mark.thinned(fast=3, whole=8)
def test_what_ends_a_program_has_only_its_own_verdict_to_lose(
    program: str,
    end: str,
    place: int,
    killing: Callable[[str, str], None],
    unread: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commands = ["ls", "[[ a ]]", "if", "let x=1", "pwd | wc", "echo $RANDOM", "ls -l"]
    commands.insert(place, "echo FATAL")
    healthy = check_posix_many(commands)
    unread()
    if "sleep" in end:
        seconds = slowness()  # the other commands are read in less, whatever else is at work
        for module, name in ((shfmt, "_SECONDS"), (shellcheck, "_BATCH_SECONDS"),
                             (programs, "SECONDS")):  # fmt: skip
            monkeypatch.setattr(module, name, seconds)
    killing(program, end)
    found = check_posix_many(commands)
    assert found[:place] + found[place + 1 :] == healthy[:place] + healthy[place + 1 :]
    assert healthy[place].compliant and not found[place].compliant
    wanted = "UNPARSEABLE.too_slow" if "sleep" in end else "UNPARSEABLE.syntax: shfmt ended"
    if program == "shellcheck":
        wanted = "SC0: shellcheck took" if "sleep" in end else "SC0: shellcheck ended"
    assert found[place].reasons[0].startswith(wanted)
    # It was no verdict on the text, so nothing remembers it.
    killing(program, ":")
    assert check_posix_many(commands) == healthy


# -- several at once -----------------------------------------------------------------------


@pytest.mark.slow
def test_two_at_once_get_each_their_own(unread: Callable[[], None]) -> None:
    halves = [HOSTILE[::8] + SHELL_ONLY[::4], HOSTILE[1::8] + PORTABLE[::4]]
    alone = [check_posix_many(half) for half in halves]
    unread()
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(check_posix_many, halves)) == alone


@pytest.mark.usefixtures("unread")
def test_single_questions_of_many_threads_share_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    check_posix("ls")  # the programs' versions are known
    began: list[str] = []
    run = programs.run

    def counted(name: str, *rest: str, **more: object) -> subprocess.CompletedProcess[bytes]:
        began.append(name)
        return run(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(programs, "run", counted)
    commands = [f"ls {number} | wc -l" for number in range(160)]
    with ThreadPoolExecutor(16) as pool:
        assert all(verdict.compliant for verdict in pool.map(check_posix, commands))
    assert len(began) < 3 * len(commands) / 3


def _children() -> set[int]:
    """The processes that this one has started and that are still there."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            found.update(map(int, (task / "children").read_text("utf-8").split()))
    return found


def _until(holds: Callable[[], bool]) -> None:
    while not holds():
        time.sleep(0.001)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks /proc")
@pytest.mark.usefixtures("unread")
def test_grading_that_is_cancelled_leaves_no_process_and_no_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = _children()
    done = threading.Event()

    def grade() -> None:
        check_posix_many([f"ls {number}" for number in range(200)])
        done.set()

    async def cancelled() -> None:
        grading = asyncio.create_task(asyncio.to_thread(grade))
        await asyncio.to_thread(_until, lambda: bool(_children() - before))
        grading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await grading

    asyncio.run(cancelled())  # waits for the thread
    assert done.is_set()
    assert _children() <= before
    assert list(tmp_path.iterdir()) == []


def test_the_first_questions_may_come_from_many_threads() -> None:
    """Python's own search for its folders is not made for that."""
    code = (
        "from concurrent.futures import ThreadPoolExecutor as Pool\n"
        "from failproof_es.shell_analysis.parse import programs\n"
        "list(Pool(16).map(lambda _: programs.locate('shfmt'), range(64)))\n"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code], check=True)
