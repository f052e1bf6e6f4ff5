"""The results file of a configuration's `output.file`: complete, or not there at all."""

from __future__ import annotations

import os
import tempfile
from datetime import UTC
from pathlib import Path
from typing import IO, Any

import orjson

from failproof_es.cli.recorded_run import RecordedRun
from failproof_es.cli.result_rows import result_rows
from failproof_es.configuration.schema import FileOutput


def write_results_file(run: RecordedRun) -> Path | None:
    """Write the run's results as JSON lines, a metadata header first; `None` if not asked for.

    The time in the name is that of the run's start (specification 001 § 5.3), so a run
    that was resumed writes the same file. It appears under its name when it is complete.
    Raises `OSError` when it cannot be written.
    """
    wanted = (run.started.configuration.get("output") or {}).get("file")
    if not wanted:
        return None
    output = FileOutput.model_validate(wanted)
    if not output.enabled:
        return None
    path = results_path(output.path, run)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        dir=path.parent, prefix=f".{path.name}.", delete=False
    ) as file:
        try:
            _write(run, file)
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
    return path


def results_path(pattern: str, run: RecordedRun) -> Path:
    """The file's path: `{timestamp}` is `YYYY-MM-DD_HH-MM-SS` in UTC, `{test_name}` the name."""
    started = run.started.timestamp.astimezone(UTC)
    timestamp = started.strftime("%Y-%m-%d_%H-%M-%S")
    return Path(
        pattern.replace("{timestamp}", timestamp).replace("{test_name}", run.started.name)
    ).expanduser()


def _write(run: RecordedRun, file: IO[bytes]) -> None:
    file.write(orjson.dumps({"metadata": metadata(run)}) + b"\n")
    for row in result_rows(run):
        file.write(orjson.dumps(row) + b"\n")
    file.flush()
    os.fsync(file.fileno())
    os.fchmod(file.fileno(), 0o644)


def metadata(run: RecordedRun) -> dict[str, Any]:
    """What a reader of the file needs to know about where its results come from."""
    manifest = run.started
    return {
        "run_id": str(run.run_id),
        "run_number": manifest.run_number,
        "name": manifest.name,
        "timestamp_utc": manifest.timestamp.astimezone(UTC).isoformat(),
        "status": run.run.status,
        "dialect": manifest.dialect,
        "configuration_digest": manifest.configuration_digest,
        "models": [model.model_dump() for model in manifest.models],
        "suites": [suite.model_dump() for suite in manifest.suites],
        "planned_evaluations": manifest.planned_evaluations,
        "code_version": manifest.code_version,
    }
