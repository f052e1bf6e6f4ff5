"""Harm by code in other languages: delete, overwrite, empty, widen permissions.

A program is judged by its calls, by the paths among its literals, by its operands, and by the
paths that a pipe lists for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.files.places import Extent, extent, is_disk, is_system
from failproof_es.shell_analysis.safety.text import marks
from failproof_es.shell_analysis.safety.text.code import language, literals, program_text
from failproof_es.shell_analysis.safety.text.output import listing
from failproof_es.shell_analysis.safety.verdict import ReasonCode

_DELETES = re.compile(
    r"rmtree|remove_tree|\brm_rf?\b|rm_r\b|rmSync|rmdirSync|rmdir|removedirs|\bunlink\w*|os\.remove"
    r"|rimraf|File\.delete|FileUtils|Remove-Item|fs\.rm\b|remove_dir_all|deleteSync|RemoveAll|shred"
    r"|\.delete\b|\bremoveSync\b"
)
_DELETES_TREES = re.compile(r"rmtree|rm_rf?\b|rm_r\b|rmSync|remove_tree|rimraf|RemoveAll")
_EMPTIES = re.compile(
    r"truncate\w*\s*\(?|(write\w*|File\.write)\s*\([^,()]*,?\s*(''|\"\")\s*\)"
    r"|open\s*\(\s*[\w$]+\s*,\s*['\"](w\+?b?|>)['\"]\s*\)\s*(\.close|[\]};]|for\b|$)"
    r"|open\s*\(?\s*\w+\s*,\s*['\"]>['\"]\s*,\s*\$\w+\s*\)?\s*(;|\}|$|for)"
    r"|file_put_contents\s*\(\s*\$\w+\s*,\s*(''|\"\")\s*\)"
)
_WRITES = re.compile(
    r"['\"](w|a|wb|ab|w\+|r\+|rb\+|r\+b|a\+|>|>>|\+<|\+>)['\"]|write_text|write_bytes|writeFile"
    r"|appendFile|file_put_contents|File\.write|IO\.write|open\s*\(?\s*\w+\s*,\s*['\"]?>"
    r"|['\"]>+\s*/|copyfile|copy2?\(|symlink|print\s*>+\s*\"|truncate|rename\w*\(|os\.replace"
)
_CHMODS = re.compile(r"\bchmod\w*\b")
_OPEN_MODE = re.compile(r"\b0?o?[0-7]?[0-7][0-7][2367]\b|S_IWOTH|S_IRWXO")
_SET_USER_MODE = re.compile(r"\b0?o?[4-7][0-7]{3}\b|S_ISUID")
_BECOMES_ROOT = re.compile(r"set(res|re|e)?uid\s*\(?\s*0|\$[<>]\s*=\s*0|POSIX::setuid")
_BROAD = {Extent.ROOT, Extent.SYSTEM, Extent.HOME, Extent.SECRET, Extent.PERSONAL, Extent.PARENT}
_HOME_CALLS = re.compile(
    r"expanduser\(\s*['\"]~/?['\"]\s*\)|Path\.home\(\)|Dir\.home|os\.homedir\(\)"
)
_LISTS = re.compile(
    r"\bi?r?glob\w*|listdir|scandir|iterdir|\bwalk\b|readdir|\bDir\b|File::Find|\bfind\s*\("
)
_LISTS_CURRENT = re.compile(r"(listdir|scandir|Path|getcwd|\.cwd)\(\s*\)|Dir\.pwd")
_PICKS = re.compile(
    r"\bif\b|\bunless\b|=~|endswith|startswith|endsWith|startsWith|fnmatch|\.match|\.select|grep"
    r"|\.filter|\.suffix|extname|\?\s"
)
_PERL_GLOB = re.compile(r"<([^<>\s=;]*[*?][^<>\s;]*)>")
_TAKES_WORDS = re.compile(r"\bARGV\b|\bargv\b|\bshift\b|\bargs\b")
_TAKES_LINES = re.compile(r"\bSTDIN\b|\bstdin\b|<>|\bgets\b|\$_|\binput\(|\$<")
_DOES = re.compile("|".join((_DELETES.pattern, _EMPTIES.pattern, _CHMODS.pattern)))
_PATTERN = re.compile(r"(?<![\w)\]'\"])/(?:[^/\n\\]|\\.)*/")
_GLOB = str.maketrans({"*": marks.STAR, "?": marks.QUESTION})


def does_harm_itself(command: ShellCommand) -> Iterator[ReasonCode]:
    """The reasons that a program in another language gives by its calls, its literal paths and its
    input paths."""
    code = program_text(command)
    if not code:
        return
    paths = [_as_path(text) for text in [*literals(code), *_PERL_GLOB.findall(code)]]
    extents = {extent(path) for path in paths if "/" in path or path in _SHORT}
    input_extents = {extent(path, command.cwd) for path in _collect_input_paths(code, command)} - {
        Extent.NARROW
    }
    broad = (
        extents & _BROAD
        or input_extents
        or _HOME_CALLS.search(code)
        or _reaches_current(code, paths)
    )
    if broad and (
        _DELETES.search(code) or (_EMPTIES.search(code) and _reaches_many(code, input_extents))
    ):
        yield ReasonCode.DELETE_BROAD
    if _WRITES.search(code):
        if any(is_disk(path) for path in paths if path.startswith("/")):
            yield ReasonCode.DISK_OVERWRITE
        if any(is_system(path) for path in paths if path.startswith("/") and len(path) > 1):
            yield ReasonCode.SYSTEM_FILE_WRITE
    if broad and _CHMODS.search(code) and _OPEN_MODE.search(code):
        yield ReasonCode.PERM_BROAD
    if _BECOMES_ROOT.search(code) or (_CHMODS.search(code) and _SET_USER_MODE.search(code)):
        yield ReasonCode.SETUID


_SHORT = frozenset({marks.HOME, "~", "..", ".", marks.STAR})


def _as_path(text: str) -> str:
    path = re.sub(r"^(\+?[<>]+|<)\s*", "", text.strip()).translate(_GLOB)
    return marks.HOME + path[1:] if path == "~" or path.startswith("~/") else path


def _reaches_many(code: str, input_extents: set[Extent]) -> bool:
    return bool(input_extents or _LISTS.search(code) or _PERL_GLOB.search(code))


def _reaches_current(code: str, paths: list[str]) -> bool:
    """Whether the code reaches the tree or the whole listing of the current directory."""
    here = any(extent(path) is Extent.CURRENT for path in paths if path in _SHORT or "/" in path)
    if here and _DELETES_TREES.search(code):
        return True
    some = any(not marks.GLOBS.isdisjoint(path) and extent(path) is Extent.NARROW for path in paths)
    if some or _PICKS.search(code):
        return False
    lists = _LISTS.search(code) or _PERL_GLOB.search(code)
    return bool((here and lists) or _LISTS_CURRENT.search(code))


def _collect_input_paths(code: str, command: ShellCommand) -> list[str]:
    """The paths that the program gets as operands, or as lines from a pipe."""
    if language(command.name) == "awk":
        return []
    by_line = any(re.fullmatch(r"-\w*[np]\w*", word) for word in command.arguments)
    paths = []
    if not _DOES.search(_PATTERN.sub("", code)):
        return []  # such words occur only in its patterns
    if _TAKES_WORDS.search(code) or by_line:
        paths += [word for word in command.operands if marks.plain(word) not in code]
    if command.feed.upstream and (by_line or _TAKES_LINES.search(code)):
        paths += listing(command.feed.upstream)
    return [] if _PICKS.search(code) else paths
