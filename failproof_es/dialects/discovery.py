"""Finds the case files that a configuration or a command line names."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from failproof_es.problems import Problems

_FIELD = "prompts.path"
_NO_UTF_8 = re.compile("[\udc80-\udcff]")
"""The surrogates by which Python represents bytes in a path that are not UTF-8."""


def case_files(
    paths: str | list[str], suffixes: Sequence[str], folders: Sequence[Path] = ()
) -> list[Path]:
    """Every case file that `paths` name, in the order named, each file once.

    A path is a file (taken whatever its suffix), a folder (searched with its subfolders
    for `suffixes`, in sorted order; hidden ones are left out), or a glob (`**` crosses
    folders). A relative path is looked for in each of `folders` in turn - the current
    directory when there are none - and the first one that has it wins.
    Raises `InvalidInput` with every path that is missing, every match that is empty, every
    file whose path is not UTF-8 and every pipe or device; its field is the configuration's, which
    is where paths come from that have folders.
    """
    problems = Problems()
    bases = list(dict.fromkeys(folders)) or [Path.cwd()]
    found: dict[str, Path] = {}
    named = [paths] if isinstance(paths, str) else paths
    if not named:
        problems.error("no path is named", field=_FIELD, remedy="name a file, a folder or a glob")
    for index, path in enumerate(named):
        place = _FIELD if isinstance(paths, str) else f"{_FIELD}[{index}]"
        field = place if folders else None
        for file in _files(path, suffixes, bases, field, problems):
            if _NO_UTF_8.search(str(file)):
                said = "the path is not UTF-8: so it cannot be recorded"
                problems.error(said, path=file, field=field, remedy="rename it")
            if not file.is_file():
                said = "this is no regular file: suites are read more than once"
                remedy = "write the cases to a file"
                problems.error(said, path=file, field=field, remedy=remedy)
            found.setdefault(os.path.realpath(file), file)
    problems.raise_errors()
    return list(found.values())


def _files(
    named: str,
    suffixes: Sequence[str],
    bases: Sequence[Path],
    field: str | None,
    problems: Problems,
) -> list[Path]:
    *others, last = suffixes
    wanted = f"{', '.join(others)} or {last}" if others else last
    if not named.strip() or "\0" in named:
        problems.error("the path is empty or holds a NUL character", field=field)
        return []
    path = Path(named).expanduser()
    for base in bases:
        candidate = base / path
        if candidate.is_dir():
            files = list(_in_folder(candidate, suffixes, problems))
            if not files:
                problems.error(f"the folder holds no {wanted} file", path=candidate, field=field)
            return files
        if candidate.exists():
            return [candidate]
    looked_in = ", ".join(str(base) for base in bases)
    if not glob.has_magic(named):
        where = "" if path.is_absolute() else f" (looked in {looked_in})"
        problems.error(
            f"no such file or folder: {named}{where}", field=field, remedy="check the path"
        )
        return []
    for base in bases:
        if files := list(_matching(str(base / path), suffixes, problems)):
            return files
    problems.error(
        f"the pattern {named!r} matches no {wanted} file (looked in {looked_in})", field=field
    )
    return []


def _matching(pattern: str, suffixes: Sequence[str], problems: Problems) -> Iterator[Path]:
    for match in sorted(glob.glob(pattern, recursive=True)):  # noqa: PTH207
        path = Path(match)
        if path.is_dir():
            yield from _in_folder(path, suffixes, problems)
        elif path.suffix.lower() in suffixes:
            yield path


def _in_folder(folder: Path, suffixes: Sequence[str], problems: Problems) -> Iterator[Path]:
    def unreadable(error: OSError) -> None:
        problems.error(f"the folder can't be read: {error.strerror}", path=Path(error.filename))

    files: list[Path] = []
    for parent, subfolders, names in os.walk(folder, onerror=unreadable):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        files.extend(
            Path(parent, name)
            for name in names
            if not name.startswith(".") and Path(name).suffix.lower() in suffixes
        )
    yield from sorted(files)
