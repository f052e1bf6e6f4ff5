"""Prompt collections: prompts that were imported into the log, to run them from there.

A collection is a stream: every import lists its prompts. Of two prompts with the same id, the one
imported last counts, in the place of the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from failproof_es.core.case import Case, collection_id, prompt_id
from failproof_es.core.run import chunked
from failproof_es.dialects.protocol import Dialect, RebuildsCases
from failproof_es.engine.history import stored_case
from failproof_es.engine.identity import current_host, current_user
from failproof_es.engine.planning.case_warnings import CaseWarnings
from failproof_es.engine.planning.planner import (
    check_files,
    digests_of,
    require_unchanged,
    store_prompts,
    tells_files,
)
from failproof_es.events import PromptsImported
from failproof_es.problems import InvalidInput, Problem, Problems
from failproof_es.store.reading.reader import Connection, find, portions, read_streams
from failproof_es.store.store import Store
from failproof_es.store.writing.appending import append
from failproof_es.store.writing.event_header import Draft, EventHeader
from failproof_es.support.near_names import did_you_mean

_WINDOW = 500


def import_prompts(
    store: Store, dialect: Dialect, files: Sequence[Path], name: str
) -> tuple[int, tuple[Problem, ...]]:
    """Store every prompt of the files and put them into the collection `name`: all or none of them.

    Returns the number of prompts, and the warnings. Raises `InvalidInput` if a case has a defect, a
    file changes meanwhile, the dialect cannot be run from the log, or the collection has another
    dialect.
    """
    if not isinstance(dialect, RebuildsCases):
        raise InvalidInput.because(
            "unsupported-feature",
            f"the dialect {dialect.name!r} has suites, not stored prompts",
            remedy="name its files under prompts.path",
        )
    with store.lend() as connection:
        _require_fitting(connection, dialect, name)
    before = digests_of(files)
    keys, has_own = CaseWarnings(), tells_files(dialect, files)
    warnings = check_files(
        dialect, files, lambda path, case: keys.add([path] if has_own else files, case)
    )
    imports: list[tuple[Path, str, list[str]]] = []
    for file, sha256 in zip(files, before, strict=True):
        digests: list[str] = []
        cases = iter(dialect.load([file], Problems()))
        while batch := list(islice(cases, _WINDOW)):
            digests += store_prompts(
                store, [case.model_copy(update={"suite_id": name}) for case in batch]
            )
        imports.append((file, sha256, digests))
    require_unchanged(files, before)

    def fitting(connection: Connection) -> list[Draft]:
        _require_fitting(connection, dialect, name)  # somebody may have imported meanwhile
        return _imported(dialect, name, imports)

    append(store, fitting)
    return sum(len(digests) for _, _, digests in imports), (*warnings, *keys.warnings())


def _require_fitting(connection: Connection, dialect: Dialect, name: str) -> None:
    """Raise `InvalidInput` if the collection holds prompts of another dialect."""
    imports = _imports(connection, name)
    if imports and imports[-1].dialect != dialect.name:
        raise InvalidInput.because(
            "wrong-dialect",
            f"collection {name!r} is of the dialect {imports[-1].dialect!r}",
            remedy="import into another collection",
        )


def collection_names(connection: Connection) -> dict[str, tuple[str, int]]:
    """Every collection by name: its dialect, and the number of its prompts."""
    names = {
        event.collection: event.dialect
        for row in find(connection, topics=("PromptsImported",))
        if isinstance(event := row.event(), PromptsImported)
    }
    return {
        name: (dialect, len(collected_digests(connection, name)))
        for name, dialect in sorted(names.items())
    }


def collection_dialect(connection: Connection, name: str) -> str:
    """The dialect of a collection. Raises `InvalidInput` if there is no collection of this name."""
    if imports := _imports(connection, name):
        return imports[-1].dialect
    names = list(collection_names(connection))
    hint = did_you_mean(name, names)
    choices = f"there are: {', '.join(names)}" if names else "there is none"
    remedy = f"{hint}{choices}; `failproof-es prompts import FILE --collection {name}` makes one"
    reason = f"there is no collection {name!r}"
    raise InvalidInput(
        [Problem("unknown-collection", reason, field="prompts.collection", remedy=remedy)]
    )


def collected_digests(connection: Connection, name: str) -> list[str]:
    """The digests of a collection's prompts, in order. Empty if there is no such collection."""
    imported = [digest for event in _imports(connection, name) for digest in event.digests]
    newest: dict[str, str] = {}
    for digest, case in zip(imported, read_cases(connection, imported), strict=True):
        newest[case.case_id] = digest
    return list(newest.values())


def read_cases(connection: Connection, digests: Sequence[str]) -> Iterator[Case]:
    """The stored cases of these digests, in the same order; holds a few of them in memory.

    Raises `ImpossibleHistory` if the log has no case of a digest.
    """
    for prompts in portions(connection, [prompt_id(digest) for digest in digests]):
        streams = read_streams(connection, prompts)
        for prompt in prompts:
            yield stored_case(streams, prompt)


def _imports(connection: Connection, name: str) -> list[PromptsImported]:
    stream = collection_id(name)
    events = [row.event() for row in read_streams(connection, [stream]).get(stream, [])]
    return [event for event in events if isinstance(event, PromptsImported)]


def _imported(
    dialect: Dialect, name: str, imports: Sequence[tuple[Path, str, list[str]]]
) -> list[Draft]:
    """The events of one import.

    `imports` has the path, the SHA-256 and the cases' digests of each file.
    """
    header = EventHeader(
        collection_id(name),
        None,
        collection=name,
        dialect=dialect.name,
        who=current_user(),
        where=current_host(),
    )
    return [
        Draft(PromptsImported, header, path=str(file), sha256=sha256, digests=digests)
        for file, sha256, all_digests in imports
        for digests in chunked(all_digests)
    ]
