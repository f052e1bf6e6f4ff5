"""The registry of dialects: all that installed packages offer, the built-in ones included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from failproof_es.dialects.discovery import case_files
from failproof_es.dialects.kit.file_shapes import LOOKED_AT, Shape, shape_of_table
from failproof_es.dialects.kit.looking import has_yaml_key, head_of
from failproof_es.dialects.protocol import (
    Dialect,
    TakesADialect,
    taken_by_default,
    with_options,
)
from failproof_es.problems import InvalidInput, Problems
from failproof_es.support.entry_points import EntryPoints
from failproof_es.support.plugins import instance, plugin_problem
from failproof_es.support.plurals import plural

ENTRY_POINT_GROUP = "failproof_es.dialects"

MEMBERS = (
    *("name", "suffixes", "recognises", "load", "messages"),
    *("classify", "judge_messages", "score", "result"),
)
"""The attributes that every dialect must have."""


def _fault(offered: Any, name: str) -> str | None:
    return plugin_problem(offered, name, MEMBERS)


DIALECTS: EntryPoints[Any] = EntryPoints(
    ENTRY_POINT_GROUP,
    "dialect",
    _fault,
    "see docs/how-to/extending.md for what a dialect has",
    unlisted={"judge_probe": "failproof_es.dialects.judge_probe:JudgeProbe"},
)
"""All installed dialects, each imported when it is needed: a run needs one, and together they
take half a second."""
_made: dict[str, Dialect] = {}
_GENERAL_SUFFIXES = frozenset({".json", ".yaml", ".yml"})
"""Suffixes of files that usually are not case files."""
_MOST_NAMED = 20


def names() -> list[str]:
    """The names of all installed dialects, built-in ones first."""
    return DIALECTS.names()


def dialect_named(name: str) -> Dialect:
    """The dialect of that name. Raises `InvalidInput` if there is none, or if it is broken."""
    if name not in _made:
        _made[name] = instance(DIALECTS.load(name))
    return _made[name]


def all_suffixes() -> tuple[str, ...]:
    """The suffixes of case files of all installed dialects, without broken ones."""
    suffixes: dict[str, None] = {}
    for name in names():
        with suppress(InvalidInput):
            suffixes |= dict.fromkeys(dialect_named(name).suffixes)
    return tuple(suffixes)


def default_dialect(command: TakesADialect) -> str:
    """The name of the default dialect for this use.

    Raises `InvalidInput` if no installed dialect is the default for it.
    """
    for name in names():
        with suppress(InvalidInput):  # a broken one must not keep another from use
            if taken_by_default(dialect_named(name), command):
                return name
    raise InvalidInput.because(
        "unknown-dialect",
        f"no dialect is meant for `{command}`",
        remedy=f"name one with --dialect; known: {', '.join(names())}",
    )


def configured(dialect: Dialect, options: Mapping[str, Any]) -> Dialect:
    """The dialect with a configuration's `prompts.options`, which shape the cases from `load`.

    Every effect of the options is stored in the loaded cases: a recorded run needs no options
    again. Raises `InvalidInput` for options that the dialect does not have.
    """
    return with_options(dialect, "dialect", options, "prompts.options")


def recognise(
    paths: str | list[str], folder: Path | None = None, warnings: Problems | None = None
) -> tuple[Dialect, Sequence[Path]]:
    """The one dialect that all the case files are written in, and the files.

    `warnings` receives what is skipped. Raises `InvalidInput` like `recognise_each`, and when the
    files are of different dialects.
    """
    groups = recognise_each(paths, folder, warnings)
    if len(groups) > 1:
        dialect_names = ", ".join(dialect.name for dialect, _ in groups)
        reason = f"the files are of different dialects: {dialect_names}"
        remedy = "one run has one dialect: name the files of one, or prompts.dialect"
        raise InvalidInput.because("mixed-dialects", reason, field="prompts.path", remedy=remedy)
    return groups[0]


def recognise_each(
    paths: str | list[str], folder: Path | None = None, warnings: Problems | None = None
) -> list[tuple[Dialect, Sequence[Path]]]:
    """The dialects that the case files are written in, each with its files.

    A file that no dialect recognises goes to a dialect that uses its suffix, so that a damaged file
    gets its own errors. But an unrecognised JSON or YAML file that was only found in a folder is
    skipped, with one of `warnings` unless it is a configuration. Raises `InvalidInput` when a file
    fits no dialect or several, and when no file is left.
    """
    dialects = [dialect_named(name) for name in names()]
    remedy = f"name it, prompts.dialect or --dialect; known: {', '.join(names())}"
    problems = Problems()
    skipped: list[Path] = []
    groups: dict[str, tuple[Dialect, list[Path]]] = {}
    for file in case_files(paths, all_suffixes(), folder):
        candidates = _candidates(file, dialects, _is_named(file, paths))
        if candidates is None:
            skipped.append(file)
            continue
        if len(candidates) == 1:
            dialect = candidates[0]
            groups.setdefault(dialect.name, (dialect, []))[1].append(file)
            continue
        if not candidates and (shape := _table(file)):
            problems.error("foreign-format", shape[0], path=file, remedy=shape[1])
            continue
        candidate_names = ", ".join(candidate.name for candidate in candidates)
        message = f"the file could be of the dialects {candidate_names}"
        if not candidates:
            message = "the file looks like no known dialect"
        problems.error("unknown-dialect", message, path=file, remedy=remedy)
    if not groups and not problems.errors:
        message = "no file looks like cases of a known dialect"
        problems.error("unknown-dialect", message, remedy=remedy)
    problems.raise_errors()
    if warnings is not None:
        _warn_of_skipped(skipped, warnings)
    return list(groups.values())


def _warn_of_skipped(files: Sequence[Path], warnings: Problems) -> None:
    """Warn of files that look like no cases; configurations often stand beside cases."""
    foreign = [
        file for file in files if not has_yaml_key(head_of(file, _GENERAL_SUFFIXES), [b"test_run"])
    ]
    for file in foreign[:_MOST_NAMED]:
        message, remedy = "looks like no cases, so it is skipped", "name the file if it has cases"
        warnings.warning("file-skipped", message, path=file, remedy=remedy)
    if len(foreign) > _MOST_NAMED:
        more = len(foreign) - _MOST_NAMED
        warnings.warning("file-skipped", f"{plural(more, 'more file')} look like no cases, too")


def refuse_other_dialects(
    dialect: Dialect, files: Sequence[Path], problems: Problems
) -> list[Path]:
    """The files that can be of this dialect; any other file is an error in `problems`.

    A file is of another dialect if this one does not recognise it and exactly one other does.
    """
    own_files = []
    for file in files:
        other_names = (
            [] if _recognises(dialect, file) else list(_find_other_dialects(dialect, file))
        )
        if len(other_names) == 1:
            problems.error(
                "wrong-dialect",
                f"these look like {other_names[0]} cases, not like {dialect.name} ones",
                path=file,
                remedy=f"set prompts.dialect: {other_names[0]}, or --dialect {other_names[0]}",
            )
        else:
            own_files.append(file)
    return own_files


def _find_other_dialects(dialect: Dialect, file: Path) -> Iterator[str]:
    """The names of other dialects that the file looks like; broken dialects are skipped."""
    for name in names():
        with suppress(InvalidInput):
            if name != dialect.name and _recognises(dialect_named(name), file):
                yield name


def _table(file: Path) -> Shape | None:
    try:
        with file.open("rb") as stream:
            return shape_of_table(stream.read(LOOKED_AT), file.suffix)
    except OSError:
        return None


def _candidates(file: Path, dialects: Iterable[Dialect], is_named: bool) -> list[Dialect] | None:
    """The dialects that the file may be of, all that recognise it or else one by its suffix.

    `None` for a file to skip: an unrecognised JSON or YAML file that no path names itself
    (`is_named`). Empty if no dialect uses the suffix.
    """
    recognised = [dialect for dialect in dialects if _recognises(dialect, file)]
    if not recognised and not is_named and file.suffix.lower() in _GENERAL_SUFFIXES:
        return None
    by_suffix = [dialect for dialect in dialects if file.suffix.lower() in dialect.suffixes]
    by_suffix.sort(key=lambda dialect: not taken_by_default(dialect, "a file that is damaged"))
    return recognised or by_suffix[:1]


def _recognises(dialect: Dialect, file: Path) -> bool:
    """Whether the file looks like the dialect. Raises `InvalidInput` if its check raises."""
    try:
        return dialect.recognises(file)
    except Exception as error:  # a foreign package's code
        package = " ".join(package_of_dialect(dialect.name) or ("of ours",))
        raise InvalidInput.because(
            "plugin-failed",
            f"the dialect {dialect.name!r} ({package}) can't look at {file}: "
            f"{type(error).__name__}: {error}",
            remedy="name the dialect of the files, prompts.dialect or --dialect",
        ) from error


def _is_named(file: Path, paths: str | list[str]) -> bool:
    """Whether one of `paths` names the file itself, not its folder or a glob."""
    return any(
        Path(path).name == file.name for path in ([paths] if isinstance(paths, str) else paths)
    )


def package_of_dialect(name: str) -> tuple[str, str] | None:
    """Name and version of the package that offers the dialect.

    `None` for a built-in dialect, and if several packages or none offer it.
    """
    return DIALECTS.package_of(name)


def forget() -> None:
    """Forget the dialects that were found; the next call looks for installed ones again."""
    DIALECTS.forget()
    _made.clear()
