"""Finds the case files that a configuration or a command line names."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from failproof_es.problems import InvalidInput, Problems, unreadable_problem
from failproof_es.support import shipped
from failproof_es.support.shipped import resolve

_FIELD = "prompts.path"
_NO_UTF_8 = re.compile("[\udc80-\udcff]")
"""The surrogates by which Python represents bytes in a path that are not UTF-8."""


def case_files(
    paths: str | list[str], suffixes: Sequence[str], folder: Path | None = None
) -> list[Path]:
    """Every case file that `paths` name, in the order named, each file once.

    A path is a file (with any suffix), a folder (searched with its subfolders for `suffixes`, in
    sorted order, without hidden ones; links are followed), a glob (`**` crosses folders), or
    `shipped:NAME`. A relative path starts from `folder`, which is the configuration's; on the
    command line `folder` is `None` and paths start from the current folder. Raises `InvalidInput`
    with every path that is missing, every match that is empty, every file whose path is not UTF-8
    and every pipe or device. With a `folder`, each problem names the configuration's field.
    """
    problems = Problems()
    files: dict[str, Path] = {}
    path_list = [paths] if isinstance(paths, str) else paths
    if not path_list:
        problems.error(
            "empty-value",
            "no path is named",
            field=_FIELD,
            remedy="name a file, a folder or a glob",
        )
    for index, path in enumerate(path_list):
        place = _FIELD if isinstance(paths, str) else f"{_FIELD}[{index}]"
        field = place if folder else None
        for file in _files(path, suffixes, folder, field, problems):
            if _NO_UTF_8.search(str(file)):
                message = "the path is not UTF-8: so it cannot be recorded"
                problems.error("path-not-utf8", message, path=file, field=field, remedy="rename it")
            _check_regular(file, field, problems)
            files.setdefault(os.path.realpath(file), file)
    problems.raise_errors()
    return list(files.values())


def _files(
    path_text: str,
    suffixes: Sequence[str],
    folder: Path | None,
    field: str | None,
    problems: Problems,
) -> list[Path]:
    *other_suffixes, last = sorted(suffixes)
    suffix_text = f"{', '.join(other_suffixes)} or {last}" if other_suffixes else last
    if not path_text.strip() or "\0" in path_text:
        problems.error("invalid-path", "the path is empty or holds a NUL character", field=field)
        return []
    try:
        path = shipped.suites(path_text) or resolve(path_text, folder)
    except InvalidInput as error:
        problems.problems.extend(replace(problem, field=field) for problem in error.problems)
        return []
    try:
        exists, is_folder = path.exists(), path.is_dir()
    except OSError as error:  # a name that is too long, or a folder without permission
        message = f"{path_text[:60]!r} {unreadable_problem(path, error).message}"
        remedy = "name a file, a folder or a glob"
        problems.error("file-unreadable", message, field=field, remedy=remedy)
        return []
    if is_folder:
        files = list(_in_folder(path, suffixes, problems))
        if not files:
            problems.error(
                "no-cases", f"the folder holds no {suffix_text} file", path=path, field=field
            )
        return files
    if exists:
        return [path]
    if not glob.has_magic(path_text):
        where = "" if Path(path_text).is_absolute() else f" (looked in {folder or Path.cwd()})"
        problems.error(
            "file-not-found",
            f"no such file or folder: {path_text}{where}",
            field=field,
            remedy=_remedy(path_text),
        )
        return []
    if files := list(_matching(_pattern(path_text, folder), suffixes, problems)):
        return files
    problems.error(
        "no-cases",
        f"the pattern {path_text!r} matches no {suffix_text} file "
        f"(looked in {folder or Path.cwd()})",
        field=field,
    )
    return []


def _check_regular(file: Path, field: str | None, problems: Problems) -> None:
    """Report a file that is missing, out of reach, or no regular file."""
    try:
        is_regular = stat.S_ISREG(file.stat().st_mode)
    except OSError as error:
        problem = unreadable_problem(file, error, field=field)
        if os.path.islink(file):  # noqa: PTH114 - it never raises
            remedy = "remove the link, or restore what it points to"
            problem = replace(problem, message=f"the link {problem.message}", remedy=remedy)
        problems.problems.append(problem)
        return
    if not is_regular:
        message = "this is no regular file: suites are read more than once"
        remedy = "write the cases to a file"
        problems.error("not-a-file", message, path=file, field=field, remedy=remedy)


def _remedy(path_text: str) -> str:
    """The remedy for a missing path: names a shipped suite of that name, if there is one."""
    path = PurePath(path_text)
    words = {path.as_posix(), path.with_suffix("").as_posix(), path.stem}
    words |= {word.removeprefix("suites/") for word in words}
    ships = sorted(words & set(shipped.suite_names()), key=len)
    return (
        f"check the path, or name what ships: {shipped.PREFIX}{ships[-1]}"
        if ships
        else ("check the path")
    )


def _pattern(path_text: str, folder: Path | None) -> str:
    """The glob `path_text`, made absolute; the name of `folder` in it is escaped.

    `None` means the current folder.
    """
    start = glob.escape(str(folder or Path.cwd()))
    return os.path.join(start, os.path.expanduser(path_text))  # noqa: PTH111, PTH118 - not a path


def _matching(pattern: str, suffixes: Sequence[str], problems: Problems) -> Iterator[Path]:
    for match in sorted(glob.glob(pattern, recursive=True)):  # noqa: PTH207
        path = Path(match)
        if path.is_dir():
            yield from _in_folder(path, suffixes, problems)
        elif path.suffix.lower() in suffixes:
            yield path


def _in_folder(folder: Path, suffixes: Sequence[str], problems: Problems) -> Iterator[Path]:
    def unreadable(error: OSError) -> None:
        problems.error(
            "file-unreadable",
            f"the folder can't be read: {error.strerror}",
            path=Path(error.filename),
        )

    files: list[Path] = []
    visited: set[str] = set()
    for parent, subfolders, names in os.walk(folder, onerror=unreadable, followlinks=True):
        if (place := os.path.realpath(parent)) in visited:  # a link back or to a sibling
            subfolders.clear()
            continue
        visited.add(place)
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        files.extend(
            Path(parent, name)
            for name in names
            if not name.startswith(".") and Path(name).suffix.lower() in suffixes
        )
    yield from sorted(files)
