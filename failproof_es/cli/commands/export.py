"""`export`: runs as files that another system can import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID

import click
import psycopg
from psycopg import IsolationLevel

from failproof_es.cli.app.chosen_run import with_warning
from failproof_es.cli.app.option_values import read_assignments
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.output import (
    Column,
    Format,
    columns_of_keys,
    format_option,
    print_rows,
    print_table,
    write_file,
)
from failproof_es.cli.rendering.written_files import record_file
from failproof_es.core.case import prompt_id
from failproof_es.core.history_errors import ImpossibleHistory
from failproof_es.dialects.protocol import CollectionExport as Collections
from failproof_es.engine.history import read_chunk
from failproof_es.exports.exporter import Export, ExportedFile, Exporter, Pieces, refuse_settings
from failproof_es.exports.registry import (
    EXPORTERS,
    dialect_exports,
    exporter_named,
    shape_names,
    usable_exporters,
)
from failproof_es.problems import InvalidInput, Problems
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.connecting import lift_idle_limit
from failproof_es.store.reading.collections import documents
from failproof_es.store.reading.reader import Connection, resolve_run
from failproof_es.support.atomic_file import WrittenFile
from failproof_es.support.extras import require_for
from projections.positions import hold_positions

_LIST = ""
_SHAPES = columns_of_keys("shape", "runs", "writes")
_FILE_COLUMNS = (
    *columns_of_keys("collection"),
    *columns_of_keys("documents", right=True),
    *columns_of_keys("file"),
)
_LEFT_OUT = (
    Column("left out or changed", "left_out"),
    *columns_of_keys("count", right=True),
    *columns_of_keys("why"),
)
_ALL_RUNS = "SELECT run_id FROM failproof.run_list ORDER BY run_number"


@click.command(cls=CliCommand)
@click.argument("runs", nargs=-1, metavar="RUN...")
@click.option(
    "--shape",
    is_flag=False,
    flag_value=_LIST,
    metavar="NAME",
    help="What to export. Without a name, list the shapes.",
)
@click.option("--all", "every_run", is_flag=True, help="Export all runs, and name none.")
@click.option(
    "--with",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the exporter, for example dataset=org/name. Can be repeated.",
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
    runs: tuple[str, ...],
    shape: str | None,
    every_run: bool,
    settings: tuple[str, ...],
    output: Path | None,
    output_format: Format,
) -> None:
    """Export all data of each RUN into FOLDER, for another system.

    All files are of one moment, and each appears whole or not at all. What a shape cannot hold is
    listed after the files, with the reason. As JSON, the last file names it under `left_out`.
    """
    if shape == _LIST:
        print_rows(_shape_rows(), _SHAPES, output_format)
        return
    exporter, folder = _check_arguments(runs, shape, every_run, settings, output)
    require_for(exporter, f"the shape `{shape}`")
    with session().open_store() as store, store.connect() as connection:
        ids = _run_ids(connection, runs, every_run)
        for run_id in ids[:1]:
            # Bring the projections up to date before the read-only transaction.
            with_warning(RecordedRun.read(connection, run_id))
        connection.isolation_level = IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        made = Export(datetime.now(UTC))
        files: list[_CollectionFile] = []
        try:
            with connection.transaction():
                hold_positions(connection)
                lift_idle_limit(connection)
                recorded_runs = [RecordedRun.read(connection, run_id) for run_id in ids]
                with _blaming(exporter):
                    exported = exporter.files(recorded_runs, made)
                    files.extend(_write_files(exporter, exported, folder))
        finally:  # files written before a failure exist, too
            for file in files:
                record_file(store, ids, "export", file.path, file.written_file)
    _print(files, made.left_out.rows(), output_format)


def _shape_rows() -> Iterator[dict[str, Any]]:
    for exporter in usable_exporters():
        yield {"shape": exporter.name, "runs": "any", "writes": exporter.says}
    for name, dialect_shape in _dialect_shapes().items():
        yield {"shape": name, "runs": dialect_shape.dialect, "writes": dialect_shape.says}


def _dialect_shapes() -> dict[str, _DialectShape]:
    """The export shapes that dialects declare, by name."""
    return {
        shape: _DialectShape(shape, dialect, dialect_export)
        for shape, (dialect, dialect_export) in dialect_exports().items()
    }


def _check_arguments(
    runs: Sequence[str],
    shape: str | None,
    every_run: bool,
    settings: Sequence[str],
    output: Path | None,
) -> tuple[Exporter, Path]:
    """The exporter with its settings, and the folder to write into.

    Raises `InvalidInput` with every defect of the arguments.
    """
    problems = Problems()
    if bool(runs) == every_run:
        message = "runs are named, and --all" if runs else "no run is named"
        problems.error(
            "options-conflict" if runs else "missing-option", message, field="RUN",
            remedy="name one or more, or `latest`, or use --all",
        )  # fmt: skip
    exporter: Exporter | None = None
    if shape is not None and shape in EXPORTERS:
        exporter = exporter_named(shape)
    elif shape is not None:
        exporter = _dialect_shapes().get(shape)
    if exporter is None:
        message = "no shape is named" if shape is None else f"unknown shape {shape!r}"
        problems.error(
            "missing-option" if shape is None else "unknown-name", message, field="--shape",
            remedy=f"there are: {', '.join(shape_names())}",
        )  # fmt: skip
    if output is None:
        remedy = "name one to write into"
        problems.error("missing-option", "no folder is named", field="--output", remedy=remedy)
    form = "NAME=VALUE, for example dataset=org/name"
    setting_values = read_assignments("--with", form, settings, problems)
    problems.raise_errors()
    assert exporter is not None and output is not None
    with _blaming(exporter):
        return exporter.with_settings(setting_values), output


def _run_ids(connection: Connection, runs: Sequence[str], every_run: bool) -> list[UUID]:
    """The ids of the chosen runs, without duplicates; with `every_run` all, by number.

    Raises `InvalidInput` for an unknown run.
    """
    if every_run:
        return [row[0] for row in connection.execute(_ALL_RUNS).fetchall()]
    return list(dict.fromkeys(resolve_run(connection, reference) for reference in runs))


class _CollectionFile(NamedTuple):
    """A file that was written, with the kind and the number of its records."""

    collection: str
    documents: int
    path: Path
    written_file: WrittenFile


def _write_files(
    exporter: Exporter, files: Iterator[ExportedFile], folder: Path
) -> Iterator[_CollectionFile]:
    """Write each file into the folder before the next is made; yield it afterwards.

    Raises `InvalidInput` if one cannot be written, lies outside of the folder, or is none.
    """
    for file in files:
        _require_file(exporter, file)
        if file.name.is_absolute() or ".." in file.name.parts:
            raise InvalidInput.because(
                "plugin-failed",
                f"the exporter {exporter.name!r} names a file outside of the folder: "
                f"{str(file.name)!r}",
                remedy="update or remove the package that offers it",
            )
        path = folder.joinpath(*file.name.parts)
        written_file = write_file(path, file.pieces)
        yield _CollectionFile(file.collection, file.pieces.rows, path, written_file)


_FIELDS = (("name", PurePath), ("collection", str), ("pieces", Pieces))
"""The fields of an `ExportedFile` that are used here, and their types."""


def _require_file(exporter: Exporter, file: object) -> None:
    """Raise `InvalidInput` if what an exporter gave is no file, with the field that is wrong."""
    for name, kind in _FIELDS:
        if not isinstance(value := getattr(file, name, None), kind):
            raise InvalidInput.because(
                "plugin-failed",
                f"the exporter {exporter.name!r} gives a {type(file).__name__} whose `{name}` is "
                f"of type {type(value).__name__}",
                remedy=f"let its `files` give an ExportedFile with a {kind.__name__} as `{name}`",
            )


@contextmanager
def _blaming(exporter: Exporter) -> Iterator[None]:
    """Raise `InvalidInput`, with the exporter and its package, for an error of another package."""
    try:
        yield
    except (InvalidInput, ImpossibleHistory, OSError, psycopg.Error):
        raise
    except Exception as error:
        if (package := EXPORTERS.package_of(exporter.name)) is None:
            raise
        raise InvalidInput.because(
            "plugin-failed",
            f"the exporter {exporter.name!r} of the package {' '.join(package)} failed: "
            f"{type(error).__name__}: {error}",
            remedy="update or remove the package",
        ) from error


def _print(
    files: Sequence[_CollectionFile], left_out: list[dict[str, Any]], output_format: Format
) -> None:
    rows: list[dict[str, Any]] = [
        {"collection": file.collection, "documents": file.documents, "file": str(file.path)}
        for file in files
    ]
    if output_format is Format.TABLE:
        print_rows(rows, _FILE_COLUMNS, output_format)
        if left_out:
            print_table(left_out, _LEFT_OUT)
        return
    if left_out:
        rows = rows or [{"collection": None, "documents": 0, "file": None}]
        rows[-1]["left_out"] = left_out
    print_rows(rows, _FILE_COLUMNS, output_format)


@dataclass(frozen=True, slots=True)
class _DialectShape:
    """A dialect's own shape as an exporter: a JSON Lines file for each collection."""

    name: str
    dialect: str
    export: Collections

    @property
    def says(self) -> str:
        """The content of the files, for the help."""
        return self.export.says

    def with_settings(self, settings: Any) -> _DialectShape:
        """The exporter itself. Raises `InvalidInput` for any setting: it has none."""
        refuse_settings(self.name, settings)
        return self

    def files(self, runs: Sequence[RecordedRun], export: Export) -> Iterator[ExportedFile]:
        """A JSON Lines file for each collection.

        Raises `InvalidInput` for a run of another dialect.
        """
        problems = Problems()
        for run in runs:
            if run.started.dialect != self.dialect:
                problems.error(
                    "wrong-dialect",
                    f"run {run.started.run_number} is of the dialect {run.started.dialect!r}, "
                    "whose results have another shape",
                    remedy=f"`failproof-es results {run.started.run_number} --format jsonl`",
                )
        problems.raise_errors()
        if not runs:
            return
        ids = [run.run_id for run in runs]
        prompts = list(dict.fromkeys(prompt for run in runs for prompt in _planned_prompts(run)))
        for collection, statement in self.export.collections.items():
            lines = documents(runs[0].connection, statement, ids, prompts)
            name = PurePosixPath(f"{export.prefix}_{collection}.jsonl")
            yield ExportedFile(name, collection, Pieces(partial(_counted, lines)))


def _counted(lines: Iterator[bytes], pieces: Pieces) -> Iterator[bytes]:
    for line in lines:
        pieces.rows += 1
        yield line


def _planned_prompts(run: RecordedRun) -> Iterator[UUID]:
    for chunk in range(run.run.chunks):
        for digest in read_chunk(run.connection, run.run_id, chunk):
            yield prompt_id(digest)
