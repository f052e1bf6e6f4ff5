"""Which dialects there are: the built-in ones, then those that installed packages offer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from failproof_es.dialects.discovery import case_files
from failproof_es.dialects.file_shapes import LOOKED_AT, Shape, shape_of_table
from failproof_es.dialects.protocol import Configurable, Dialect
from failproof_es.problems import InvalidInput, Problem, Problems

ENTRY_POINT_GROUP = "failproof_es.dialects"

_BUILT_IN: Mapping[str, str] = {
    "failproof": "FailProof",
    "promptguard": "PromptGuard",
    "redteam": "RedTeam",
    "benchmark": "Benchmark",
    "command": "Command",
}
"""The class of each, in the package of its name. Imported when it is needed: a run needs one,
and together they take half a second."""
_GENERAL_SUFFIXES = frozenset({".json", ".yaml", ".yml"})
"""Of files that are cases less often than not."""
_MEMBERS = (
    *("name", "suffixes", "recognises", "load", "messages"),
    *("classify", "judge_messages", "score", "result"),
)


def names() -> list[str]:
    """Every dialect that can be named, the built-in ones first."""
    return [*_BUILT_IN, *sorted(set(_installed()) - set(_BUILT_IN))]


def dialect_named(name: str) -> Dialect:
    """The dialect of that name. Raises `InvalidInput` when there is none, or it is broken.

    A built-in dialect can't be replaced by a package: a recorded run must mean the same
    on every machine.
    """
    if name in _BUILT_IN:
        return _built_in(name)
    if name in _installed():
        return _load(name)
    known = names()
    close = get_close_matches(name.lower(), known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise InvalidInput.because(
        f"there is no dialect {name!r}", remedy=f"{hint}known: {', '.join(known)}"
    )


def configured(dialect: Dialect, options: Mapping[str, Any]) -> Dialect:
    """The dialect with a configuration's `prompts.options`; they shape what `load` yields.

    Whatever they decide stands in the cases that are loaded: a recorded run never asks for
    them again. Raises `InvalidInput` for options that the dialect does not have.
    """
    if not options:
        return dialect
    if not isinstance(dialect, Configurable):
        reason = f"the dialect {dialect.name!r} has no options"
        raise InvalidInput([Problem(reason, field="prompts.options", remedy="take them out")])
    return dialect.with_options(options)


def recognise(
    paths: str | list[str], folders: Sequence[Path] = ()
) -> tuple[Dialect, Sequence[Path]]:
    """The one dialect that all the case files are written in, and the files.

    Raises `InvalidInput` like `recognise_each`, and when the files are of different dialects.
    """
    found = recognise_each(paths, folders)
    if len(found) > 1:
        reason = f"the files are of different dialects: {_listed(each.name for each, _ in found)}"
        remedy = "one run has one dialect: name the files of one, or prompts.dialect"
        raise InvalidInput([Problem(reason, field="prompts.path", remedy=remedy)])
    return found[0]


def recognise_each(
    paths: str | list[str], folders: Sequence[Path] = ()
) -> list[tuple[Dialect, Sequence[Path]]]:
    """The dialects that the case files are written in, each with its files.

    Where no dialect recognises a file, the first one that uses its suffix is taken, so that
    a damaged file gets its own errors; but a JSON or YAML file that was only found in a folder
    is taken for something else (a configuration, a result). Raises `InvalidInput` when a file
    fits no dialect or several, and when no file is left.
    """
    dialects = [dialect_named(name) for name in names()]
    suffixes = tuple(dict.fromkeys(suffix for each in dialects for suffix in each.suffixes))
    problems = Problems()
    chosen: dict[str, tuple[Dialect, list[Path]]] = {}
    for file in case_files(paths, suffixes, folders):
        candidates = _candidates(file, dialects, _is_named(file, paths))
        if candidates is None:
            continue
        if len(candidates) == 1:
            dialect = candidates[0]
            chosen.setdefault(dialect.name, (dialect, []))[1].append(file)
            continue
        if not candidates and (shape := _table(file)):
            problems.error(shape[0], path=file, remedy=f"{shape[1]}, in a .jsonl file")
            continue
        problems.error(
            f"the file could be of the dialects {_listed(each.name for each in candidates)}"
            if candidates
            else "the file looks like no known dialect",
            path=file,
            remedy=f"name it, prompts.dialect or --dialect; known: {_listed(names())}",
        )
    if not chosen and not problems.errors:
        problems.error(
            "no file looks like cases of a known dialect",
            remedy=f"name it, prompts.dialect or --dialect; known: {_listed(names())}",
        )
    problems.raise_errors()
    return list(chosen.values())


def refuse_other_dialects(
    dialect: Dialect, files: Sequence[Path], problems: Problems
) -> list[Path]:
    """The files that may be of this dialect; an error for each that is of another one.

    Of another dialect is a file that this one does not recognise and exactly one other does.
    """
    kept = []
    for file in files:
        others = (
            []
            if dialect.recognises(file)
            else [
                name
                for name in names()
                if name != dialect.name and dialect_named(name).recognises(file)
            ]
        )
        if len(others) == 1:
            problems.error(
                f"these look like {others[0]} cases, not like {dialect.name} ones",
                path=file,
                remedy=f"set prompts.dialect: {others[0]}, or --dialect {others[0]}",
            )
        else:
            kept.append(file)
    return kept


def _table(file: Path) -> Shape | None:
    try:
        with file.open("rb") as stream:
            return shape_of_table(stream.read(LOOKED_AT), file.suffix)
    except OSError:
        return None


def _candidates(file: Path, dialects: Iterable[Dialect], named: bool) -> list[Dialect] | None:
    """The dialects that the file may be of; `None` for one that is taken for something else."""
    recognised = [each for each in dialects if each.recognises(file)]
    if not recognised and not named and file.suffix.lower() in _GENERAL_SUFFIXES:
        return None
    return recognised or [each for each in dialects if file.suffix.lower() in each.suffixes][:1]


def _is_named(file: Path, paths: str | list[str]) -> bool:
    """Whether a path names the file itself, and not a folder or a pattern that it was found by."""
    return any(
        Path(path).name == file.name for path in ([paths] if isinstance(paths, str) else paths)
    )


def package_of_dialect(name: str) -> tuple[str, str] | None:
    """Name and version of the package that offers the dialect; `None` for one that is built in."""
    if name in _BUILT_IN or name not in _installed() or (dist := _installed()[name].dist) is None:
        return None
    return dist.name, dist.version


@cache
def _built_in(name: str) -> Dialect:
    package = import_module(f"failproof_es.dialects.{name}")
    dialect: Dialect = getattr(package, _BUILT_IN[name])()
    return dialect


@cache
def _installed() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}


@cache
def _load(name: str) -> Dialect:
    """The dialect that a package offers: a class that takes no argument, or an instance."""
    point = _installed()[name]
    package = " ".join(package_of_dialect(name) or (point.value,))
    try:
        offered = point.load()
        dialect: Dialect = offered() if isinstance(offered, type) else offered
    except Exception as error:  # whatever a foreign package's import may raise
        raise InvalidInput.because(
            f"the dialect {name!r} of the package {package} can't be loaded: "
            f"{type(error).__name__}: {error}",
            remedy="update or remove the package",
        ) from error
    missing = [member for member in _MEMBERS if not hasattr(dialect, member)]
    if missing or dialect.name != name:
        reason = f"lacks {_listed(missing)}" if missing else f"calls itself {dialect.name!r}"
        raise InvalidInput.because(
            f"the dialect {name!r} of the package {package} {reason}",
            remedy="see failproof_es/dialects/protocol.py for what a dialect has",
        )
    return dialect


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)
