"""Writes the report of a run for `generate_report`, the same as `failproof-es report`."""

from __future__ import annotations

from pathlib import Path

from failproof_es.engine.operations import record_operations
from failproof_es.events import FileWritten
from failproof_es.problems import InvalidInput
from failproof_es.store.reading.reader import resolve_run
from failproof_es.store.store import Store
from failproof_es.support.atomic_file import atomic_write, describe_write_error
from failproof_es.support.extras import require


def write_report(store: Store, run_id: int, folder: Path) -> str:
    """Write the HTML report of a run into the folder and record a `FileWritten`; returns the path.

    Raises `InvalidInput` if there is no such run or the file can't be written.
    """
    require("report", "a report")
    from failproof_es.report.formats.documents import document_of, file_name

    with store.lend() as connection:
        run = resolve_run(connection, str(run_id))
        name, pieces = document_of(connection, [run], "html")
        path = (folder / file_name(f"{name}_{run_id}", "html")).absolute()
        try:
            written_file = atomic_write(path, pieces)
        except OSError as error:
            raise InvalidInput.because(
                "file-unwritable", f"{path} cannot be written: {describe_write_error(path, error)}"
            ) from None
    file = {"kind": "report", "path": str(path), **written_file._asdict()}
    record_operations(store, run, [(FileWritten, file)])
    return str(path)
