"""The results file of a configuration's `output.file`, written atomically.

Its content depends on the log only: written again after a crash, it is the same.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from datetime import UTC
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from failproof_es.cli.rendering.result_rows import result_rows
from failproof_es.cli.rendering.written_files import record_file
from failproof_es.configuration.recorded import recorded_configuration
from failproof_es.configuration.schema import FILE_SUFFIX, FileOutput
from failproof_es.exports.file_names import file_name
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.store import Store
from failproof_es.support.atomic_file import WrittenFile, atomic_write
from failproof_es.support.shipped import resolve
from failproof_es.support.timestamps import utc_text

TIMESTAMP = "{timestamp}"
_LONGEST_HEADER = 1_000_000


def write_results_file(store: Store, run: RecordedRun) -> Path | None:
    """Write the results file that the run's configuration names; return its path.

    `None` if it names none. The file has JSON lines, a metadata header first; it appears under its
    name only when it is complete. A resumed run writes the same file. Raises `OSError` if it cannot
    be written.
    """
    output = file_output(run)
    if output is None:
        return None
    path = results_path(output.path, run)
    written_file = write_lines(path, {"metadata": metadata(run)}, result_rows(run))
    record_file(store, [run.run_id], "results", path, written_file)
    return path


def file_output(run: RecordedRun) -> FileOutput | None:
    """The run's configuration of output files; `None` if there is none or it is not enabled."""
    output = recorded_configuration(run.started).output.file
    return output if output is not None and output.enabled else None


def results_path(pattern: str, run: RecordedRun) -> Path:
    """The file's path: `{timestamp}` is `YYYY-MM-DD_HH-MM-SS` in UTC, `{test_name}` the run's name,
    with `-` for characters that a file name cannot hold: `My first test` becomes `My-first-test`.

    The time is `test_run.timestamp`, or that of the run's start (specification 001 § 5.3).
    The run's number is added if a run of the same name and second already has a file, or if a
    file that holds no results has that name.
    """
    configured = recorded_configuration(run.started).test_run.timestamp
    moment = configured or run.started.timestamp
    timestamp = moment.astimezone(UTC).strftime("%Y-%m-%d_%H-%M-%S")
    name = file_name(run.started.name, ascii_only=False)
    expanded = pattern.replace(TIMESTAMP, timestamp).replace("{test_name}", name)
    path = resolve(expanded, recorded_configuration(run.started).test_run.folder)
    holders = {run_id_in(path), run_id_in(partial_results_path(path, 1))}
    is_of_another = TIMESTAMP in pattern and holders - {None, str(run.run_id)}
    if is_of_another or _is_foreign(path):
        path = path.with_name(f"{path.stem}_run-{run.started.run_number}{path.suffix}")
    return path


def partial_results_path(path: Path, number: int) -> Path:
    """The path of the partial results file of that number, in the folder of the results file."""
    return path.with_name(f"{path.stem}.checkpoint-{number:05}{path.suffix}")


def write_lines(path: Path, header: dict[str, Any], rows: Iterable[dict[str, Any]]) -> WrittenFile:
    """Write JSON lines, the header first, atomically; return the file's size and digest.

    Raises `OSError` if it cannot be written, for another suffix than `FILE_SUFFIX`, and if `path`
    is a file that holds no results: anybody who can write to the log may have recorded the path.
    """
    if path.suffix != FILE_SUFFIX:
        raise OSError(errno.EINVAL, f"not a {FILE_SUFFIX} file", str(path))
    if _is_foreign(path):
        reason = "a file that is no results file has its name"
        raise FileExistsError(errno.EEXIST, reason, str(path))
    return atomic_write(path, (orjson.dumps(row) + b"\n" for row in chain([header], rows)))


def metadata(run: RecordedRun) -> dict[str, Any]:
    """The header of a results file: the run, its models and suites, for JSON."""
    manifest = run.started
    return {
        "run_id": str(run.run_id),
        "run_number": manifest.run_number,
        "name": manifest.name,
        "timestamp_utc": utc_text(manifest.timestamp),
        "status": run.run.status,
        "dialect": manifest.dialect,
        "configuration_digest": manifest.configuration_digest,
        "models": [model.model_dump() for model in manifest.models],
        "suites": [suite.model_dump() for suite in manifest.suites],
        "planned_evaluations": manifest.planned_evaluations,
        "code_version": manifest.code_version,
    }


def _is_foreign(path: Path) -> bool:
    """Whether `path` is an existing file that holds no results of any run."""
    return path.is_file() and run_id_in(path) is None


def run_id_in(path: Path) -> str | None:
    """The run id in the header of a results file; `None` if `path` is no results file."""
    try:
        with path.open("rb") as file:
            run_id = orjson.loads(file.readline(_LONGEST_HEADER))["metadata"]["run_id"]
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
        return None
    return str(run_id)
