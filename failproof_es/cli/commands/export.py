"""`export`: runs as files that another system can import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import click
from psycopg import IsolationLevel

from failproof_es.cli.app.program import Command, session
from failproof_es.cli.rendering.output import Column, Format, format_option, print_rows, write_file
from failproof_es.cli.rendering.written_files import record_file
from failproof_es.core.case import prompt_id
from failproof_es.dialects.protocol import Export, Exporting
from failproof_es.dialects.registry import dialect_named, names
from failproof_es.engine.history import read_chunk
from failproof_es.problems import InvalidInput, Problems
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.reading.collections import documents
from failproof_es.store.reading.reader import Connection, resolve_run
from failproof_es.support.atomic_file import WrittenFile

_LIST = ""
_SHAPES = (Column("shape", "shape"), Column("writes", "writes"))
_WRITTEN = (
    Column("collection", "collection"),
    Column("documents", "documents", right=True),
    Column("file", "file"),
)


@click.command(cls=Command)
@click.argument("runs", nargs=-1, metavar="RUN...")
@click.option(
    "--shape",
    is_flag=False,
    flag_value=_LIST,
    metavar="NAME",
    help="What to export. Without a name, list the shapes.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="The folder to write to. Created if it is missing.",
)
@format_option()
def export(
    runs: tuple[str, ...], shape: str | None, output: Path | None, output_format: Format
) -> None:
    """Export all data of each RUN into FOLDER, for another system.

    All files are of one moment, and each appears whole or not at all, under a name of its
    own: YYYY-MM-DD_HH-MM-SS_COLLECTION.jsonl, by the time of the export.
    """
    if shape == _LIST:
        rows = [{"shape": name, "writes": each.export.says} for name, each in _shapes().items()]
        print_rows(rows, _SHAPES, output_format)
        return
    chosen_shape, folder = _required(runs, shape, output)
    with session().open_store() as store, store.connect() as connection:
        connection.isolation_level = IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        with connection.transaction():
            chosen = _chosen(connection, runs, chosen_shape.dialect)
            files = list(_write(connection, chosen, chosen_shape.export, folder))
        for file in files:
            run_ids = [run.run_id for run in chosen]
            record_file(store, run_ids, "export", file.path, file.written)
    print_rows(map(_row, files), _WRITTEN, output_format)


class _Shape(NamedTuple):
    """A shape that can be exported, and the dialect whose runs have it."""

    dialect: str
    export: Export


def _shapes() -> dict[str, _Shape]:
    """Every shape that can be exported, by name. Of two with one name, the first counts."""
    found: dict[str, _Shape] = {}
    for name in names():
        with suppress(InvalidInput):  # a broken dialect is told where it is named
            dialect = dialect_named(name)
            if isinstance(dialect, Exporting):
                for shape, each in dialect.exports.items():
                    found.setdefault(shape, _Shape(name, each))
    return found


def _required(runs: Sequence[str], shape: str | None, output: Path | None) -> tuple[_Shape, Path]:
    """The shape and the folder. Raises `InvalidInput` with every option that is missing."""
    shapes = _shapes()
    problems = Problems()
    if not runs:
        problems.error("no run is named", field="RUN", remedy="name one or more, or `latest`")
    if shape not in shapes:
        said = "no shape is named" if shape is None else f"unknown shape {shape!r}"
        problems.error(said, field="--shape", remedy=f"there are: {', '.join(shapes)}")
    if output is None:
        problems.error("no folder is named", field="--output", remedy="name one to write into")
    problems.raise_errors()
    assert shape is not None and output is not None
    return shapes[shape], output


def _chosen(connection: Connection, references: Sequence[str], dialect: str) -> list[RecordedRun]:
    """The chosen runs, each once. Raises `InvalidInput` for a run of another dialect."""
    ids = dict.fromkeys(resolve_run(connection, reference) for reference in references)
    found = [RecordedRun.read(connection, run_id) for run_id in ids]
    problems = Problems()
    for run in found:
        if run.started.dialect != dialect:
            problems.error(
                f"run {run.started.run_number} is of the dialect {run.started.dialect!r}, whose "
                "results have another shape",
                remedy=f"`failproof-es results {run.started.run_number} --format jsonl`",
            )
    problems.raise_errors()
    return found


class _File(NamedTuple):
    """A collection that was written."""

    collection: str
    documents: int
    path: Path
    written: WrittenFile


def _row(file: _File) -> dict[str, Any]:
    return {"collection": file.collection, "documents": file.documents, "file": str(file.path)}


def _write(
    connection: Connection, runs: Sequence[RecordedRun], export: Export, folder: Path
) -> Iterator[_File]:
    """Write each collection; yields what was written. Raises `InvalidInput` where it can't be."""
    ids = [run.run_id for run in runs]
    prompts = list(dict.fromkeys(prompt for run in runs for prompt in _planned(run)))
    moment = datetime.now(UTC).strftime("%Y-%m-%d_%H-%M-%S")
    for collection, statement in export.collections.items():
        path = folder / f"{moment}_{collection}.jsonl"
        counted = _Counted(documents(connection, statement, ids, prompts))
        written = write_file(path, counted)
        yield _File(collection, counted.count, path, written)


def _planned(run: RecordedRun) -> Iterator[UUID]:
    for chunk in range(run.run.chunks):
        for digest in read_chunk(run.connection, run.run_id, chunk):
            yield prompt_id(digest)


class _Counted:
    """Counts lines as they are read."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self.count = 0

    def __iter__(self) -> Iterator[bytes]:
        for line in self._lines:
            self.count += 1
            yield line
