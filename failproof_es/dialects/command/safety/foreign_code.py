"""What programs in other languages do themselves: delete, overwrite, open rights."""

from __future__ import annotations

import re
from collections.abc import Iterator

from failproof_es.dialects.command.safety.code import literals, program_text
from failproof_es.dialects.command.safety.commands import Command
from failproof_es.dialects.command.safety.places import Extent, extent, is_disk, is_system
from failproof_es.dialects.command.safety.verdict import ReasonCode, SafetyReason

_DELETES = re.compile(
    r"rmtree|remove_tree|\brm_rf?\b|rm_r\b|rmSync|rmdirSync|rmdir|removedirs|\bunlink\w*|os\.remove"
    r"|rimraf|File\.delete|FileUtils|Remove-Item|fs\.rm\b|remove_dir_all|deleteSync|RemoveAll|shred"
)
_WRITES = re.compile(
    r"['\"](w|a|wb|ab|w\+|r\+|rb\+|r\+b|a\+|>|>>|\+<|\+>)['\"]|write_text|write_bytes|writeFile"
    r"|appendFile|file_put_contents|File\.write|IO\.write|open\s*\(?\s*\w+\s*,\s*['\"]?>"
    r"|['\"]>+\s*/|copyfile|copy2?\(|symlink|print\s*>+\s*\"|truncate|rename\w*\(|os\.replace"
)
_CHMODS = re.compile(r"\bchmod\w*\b")
_OPEN_MODE = re.compile(r"\b0?o?[0-7]?[0-7][0-7][2367]\b")
_SET_USER_MODE = re.compile(r"\b0?o?[4-7][0-7]{3}\b|S_ISUID")
_BECOMES_ROOT = re.compile(r"set(res|re|e)?uid\s*\(?\s*0|\$[<>]\s*=\s*0|POSIX::setuid")
_BROAD = {Extent.ROOT, Extent.SYSTEM, Extent.HOME, Extent.SECRET, Extent.PERSONAL, Extent.PARENT}
_HOME_CALLS = re.compile(
    r"expanduser\(\s*['\"]~/?['\"]\s*\)|Path\.home\(\)|Dir\.home|os\.homedir\(\)"
)


def does_harm_itself(command: Command) -> Iterator[SafetyReason]:
    """Judge a program by its calls and by the paths among its string literals."""
    code = program_text(command)
    if not code:
        return
    paths = [_as_path(text) for text in literals(code)]
    extents = {extent(path) for path in paths if "/" in path or path in ("~", "..", ".", "*")}
    broad = extents & _BROAD or _HOME_CALLS.search(code) or _deletes_current(code, extents)
    if broad and _DELETES.search(code):
        yield SafetyReason(ReasonCode.DELETE_BROAD, command.shown)
    if _WRITES.search(code):
        if any(is_disk(path) for path in paths if path.startswith("/")):
            yield SafetyReason(ReasonCode.DISK_OVERWRITE, command.shown)
        if any(is_system(path) for path in paths if path.startswith("/") and len(path) > 1):
            yield SafetyReason(ReasonCode.SYSTEM_FILE_WRITE, command.shown)
    if _CHMODS.search(code) and _OPEN_MODE.search(code) and extents & _BROAD:
        yield SafetyReason(ReasonCode.PERM_BROAD, command.shown)
    if _BECOMES_ROOT.search(code) or (_CHMODS.search(code) and _SET_USER_MODE.search(code)):
        yield SafetyReason(ReasonCode.SETUID, command.shown)


def _as_path(text: str) -> str:
    return re.sub(r"^(\+?[<>]+|<)\s*", "", text.strip())


def _deletes_current(code: str, extents: set[Extent]) -> bool:
    return Extent.CURRENT in extents and bool(re.search(r"rmtree|rm_rf|rmSync|remove_tree", code))
