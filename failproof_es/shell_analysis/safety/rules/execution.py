"""Running code that the command does not show: REMOTE_EXEC, DECODED_EXEC, DYNAMIC_COMMAND."""

from __future__ import annotations

import re
from collections.abc import Iterator

from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.files.places import key, locate, program_keys
from failproof_es.shell_analysis.safety.text import marks
from failproof_es.shell_analysis.safety.text.code import (
    language,
    program_text,
    reads_feed_as_program,
    reads_network,
    runs_input,
)
from failproof_es.shell_analysis.safety.text.makefiles import (
    MAKES,
    makefile_texts,
    reads_standard_input,
)
from failproof_es.shell_analysis.safety.text.output import taint
from failproof_es.shell_analysis.safety.verdict import ReasonCode
from failproof_es.shell_analysis.safety.wrapping.wrappers import SHELLS, assigned


def runs_unknown_program(command: ShellCommand) -> Iterator[ReasonCode]:
    """The reasons if a command's name, script or program input is unknown, remote or decoded."""
    yield from _judge_loading(command)
    if command.name == "=" or not command.name:
        return
    if not marks.is_known(command.path):
        yield from _codes_by_origin(_name_origin(command))
    elif not marks.GLOBS.isdisjoint(command.path):
        yield ReasonCode.DYNAMIC_COMMAND
    contents = (command.files.get(place, "") for place in program_keys(command.path, command.cwd))
    if taints := marks.taints("".join(contents)):
        yield from _codes_by_origin(taints)
    yield from _judge_script_file(command)
    yield from _judge_input(command)


def _name_origin(command: ShellCommand) -> str:
    """The marks for the origin of an unknown name.

    A known last component in an unknown folder counts as known.
    """
    taints = marks.taints(command.path)
    if not taints and marks.is_known(command.name) and "/" in command.path:
        return marks.GENERATED
    return taints or marks.ANY


def _codes_by_origin(taints: str) -> Iterator[ReasonCode]:
    if marks.REMOTE in taints:
        yield ReasonCode.REMOTE_EXEC
    if marks.DECODED in taints:
        yield ReasonCode.DECODED_EXEC
    if marks.REMOTE not in taints and marks.DECODED not in taints and taints != marks.GENERATED:
        yield ReasonCode.DYNAMIC_COMMAND


def _judge_script_file(command: ShellCommand) -> Iterator[ReasonCode]:
    """The reasons if a shell, an interpreter or `make` runs a file whose text is unknown, remote or
    decoded."""
    if command.name in MAKES:
        for text in makefile_texts(command):
            if taints := marks.taints(text):
                yield from _codes_by_origin(taints)
        return
    runs = command.name in SHELLS or command.name in (".", "source")
    if not runs and (language(command.name) is None or language(command.name) == "awk"):
        return
    if command.has("c") and command.name in SHELLS:
        return
    for path in command.operands[:1]:
        content = command.files.get(key(path, command.cwd), "")
        taints = marks.taints(content + path)
        if taints or (path.startswith("/dev/fd/") and not marks.is_known(content)):
            yield from _codes_by_origin(taints or marks.ANY)
        elif path.startswith(("/dev/tcp/", "http://", "https://")):
            yield ReasonCode.REMOTE_EXEC


def _judge_input(command: ShellCommand) -> Iterator[ReasonCode]:
    """The reasons if a shell or an interpreter reads an unknown program from standard input, or
    runs lines of it that are remote or decoded."""
    if command.name in SHELLS:
        takes = (not command.operands and not command.has("c")) or command.has("s")
        takes = takes or command.operands[:1] in (("-",), ("/dev/stdin",), ("/proc/self/fd/0",))
    elif command.name in (".", "source"):
        takes = command.operands[:1] in (("/dev/stdin",), ("/proc/self/fd/0",))
    elif command.name in ("at", "batch"):
        takes = not command.has("flrc")
    elif command.name == "crontab":
        takes = command.operands in ((), ("-",)) and not command.has("ler")
    elif command.name in MAKES:
        takes = reads_standard_input(command)
    else:
        takes = reads_feed_as_program(command)
    if not takes and not runs_input(command):
        return
    feed = command.feed
    if feed.text is not None:
        taints = marks.taints(feed.text)
        ruleless = command.name in MAKES and marks.ANY in feed.text and ":" not in feed.text
        if (taints and taints != marks.GENERATED) or ruleless:
            yield from _codes_by_origin(taints or marks.ANY)
    elif feed.upstream:
        taints = taint(feed.upstream)
        local = feed.path is not None or all(c.name in ("cat", "tee", "pv") for c in feed.upstream)
        keeps_table = command.name == "crontab" and any(c.name == "crontab" for c in feed.upstream)
        if marks.REMOTE in taints or marks.DECODED in taints:
            yield from _codes_by_origin(taints)
        elif takes and not local and not keeps_table:
            yield from _codes_by_origin(marks.ANY)


def _judge_loading(command: ShellCommand) -> Iterator[ReasonCode]:
    """The reasons for loaded code: kernel modules, preloaded libraries, Windows programs that run
    remote code."""
    if command.name in ("insmod", "kldload", "kextload") or _preloads(command):
        yield ReasonCode.DYNAMIC_COMMAND
    if command.name in ("mshta", "regsvr32", "rundll32", "certutil"):
        yield ReasonCode.REMOTE_EXEC


_SETTERS = frozenset({"=", "export", "declare", "typeset", "readonly", "local"})
_PRELOAD = re.compile(r"(?:LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES)\+?=(.*)", re.DOTALL)
_LOADER = re.compile(r"ld-(linux|musl)[\w.-]*|ld(64)?\.so[\w.]*")
_INSTALLED = frozenset({"usr", "lib", "lib32", "lib64", "nix"})


def _preloads(command: ShellCommand) -> bool:
    """Whether a library that is not installed is preloaded into programs."""
    assignments = command.arguments if command.name in _SETTERS else ()
    assignments = (*assignments, *assigned(command.name, command.arguments))
    libraries = [match[1] for word in assignments if (match := _PRELOAD.fullmatch(word))]
    if _LOADER.fullmatch(command.name):
        libraries += command.values("", "--preload", "--audit")
    searched = any(word.startswith("LD_LIBRARY_PATH=") for word in assignments)
    return any(
        not _is_installed(path) if "/" in path or not marks.is_known(path) else searched
        for value in libraries
        for path in re.split(r"[\s:]+", marks.plain(value))
        if path
    )


def _is_installed(path: str) -> bool:
    """Whether a library is in a folder of the system."""
    place = locate(path)
    return place.base == "/" and place.parts[:1] != () and place.parts[0] in _INSTALLED


_EVALUATES = re.compile(
    r"\b(exec|eval|system|popen|subprocess|loadstring|load|instance_eval|compile|runpy|Function"
    r"|iex|Invoke-Expression|os\.execute|spawn\w*|execSync|assert|create_function|do)\b\s*[(\s]"
    r"|\|\s*iex|\biex\b|\(\s*(eval|exec)\s*\)"
)
_DECODES = re.compile(
    r"b64decode|b32decode|base64|fromhex|unhexlify|atob\(|pack\s*\(|pack\s*['\"]|decode_base64"
    r"|rot.?13|zlib|marshal|codecs\.decode|Buffer\.from|FromBase64String|bytes\(\[|fromCharCode"
    r"|gzinflate|str_rot13|unpack|\[::-1\]"
)


def runs_unknown_code(command: ShellCommand) -> Iterator[ReasonCode]:
    """The reasons if a program in another language runs code that it downloads or decodes."""
    code = program_text(command)
    if not code or language(command.name) == "awk":
        return
    if command.name in ("pwsh", "powershell") and command.has("", "-enc", "-EncodedCommand"):
        yield ReasonCode.DECODED_EXEC
    if not _EVALUATES.search(code):
        return
    if reads_network(code):
        yield ReasonCode.REMOTE_EXEC
    if _DECODES.search(code):
        yield ReasonCode.DECODED_EXEC
