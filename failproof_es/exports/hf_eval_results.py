"""`hf-eval-results`: a score for each model, as `.eval_results/*.yaml` of a Hugging Face model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import PurePosixPath
from typing import Any, Self

from ruamel.yaml import YAML

from failproof_es.core.tally import Group
from failproof_es.exports.exporter import (
    Export,
    ExportedFile,
    LeftOut,
    Pieces,
    refuse_settings,
)
from failproof_es.exports.file_names import file_name
from failproof_es.problems import Problems
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.support.untrusted_text import one_line

_SETTINGS = ("dataset", "task_id", "metric", "source_url", "revision")
_DATASET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")
_METRICS = ("accuracy", "pass_rate")


@dataclass(frozen=True, slots=True)
class HfEvalResults:
    """The exporter `hf-eval-results`: scores for model pages of the Hugging Face Hub."""

    dataset: str = ""
    task_id: str = ""
    metric: str = "accuracy"
    source_url: str | None = None
    revision: str | None = None

    @property
    def name(self) -> str:
        """`hf-eval-results`, the name for `export --shape`."""
        return "hf-eval-results"

    @property
    def says(self) -> str:
        """The content of the files, for the help."""
        return "a score for each model, as .eval_results/*.yaml for the Hugging Face Hub"

    def with_settings(self, settings: Mapping[str, str]) -> Self:
        """The exporter with these settings; `dataset` and `task_id` are required.

        `dataset` (`OWNER/NAME`) and `task_id` name the benchmark; `metric` is `accuracy` or
        `pass_rate`; `source_url` is a page about the result, `revision` one of the dataset. Raises
        `InvalidInput` with all invalid ones.
        """
        refuse_settings(self.name, settings, _SETTINGS)
        problems = Problems()
        dataset = settings.get("dataset", "")
        if not _DATASET.fullmatch(dataset):
            message = f"{dataset!r} is no dataset of the Hub" if dataset else "no dataset is named"
            remedy = "name the benchmark: --with dataset=openai/gsm8k"
            problems.error(
                "invalid-option" if dataset else "missing-option",
                message,
                field="--with dataset",
                remedy=remedy,
            )
        if not settings.get("task_id"):
            remedy = "name the task in the benchmark's eval.yaml: --with task_id=gsm8k"
            problems.error(
                "missing-option", "no task is named", field="--with task_id", remedy=remedy
            )
        if settings.get("metric", self.metric) not in _METRICS:
            message = f"there is no metric {settings['metric']!r}"
            problems.error(
                "invalid-option",
                message,
                field="--with metric",
                remedy=f"one of: {', '.join(_METRICS)}",
            )
        url = settings.get("source_url")
        if url is not None and not url.startswith(("http://", "https://")):
            message = f"{url!r} is no address of a page"
            problems.error(
                "invalid-url", message, field="--with source_url", remedy="it begins with https://"
            )
        problems.raise_errors()
        return replace(self, **settings)

    def files(self, runs: Sequence[RecordedRun], export: Export) -> Iterator[ExportedFile]:
        """One YAML file for each run and model with a score, for the repository of the model."""
        paths: set[PurePosixPath] = set()
        for run in runs:
            for number, model in enumerate(run.started.models, 1):
                group = run.summary.group(model=model.key)
                entry = self.entry_of(group, run, export.left_out)
                if entry is None:
                    export.left_out.add(f"the score of {model.key}", f"it has no {self.metric}")
                    continue
                name = f"{file_name(self.task_id)}_run-{run.started.run_number}.yaml"
                path = PurePosixPath(file_name(model.model), ".eval_results", name)
                if path in paths:  # a model that is asked in two ways
                    folder = f"{file_name(model.model)}_{number}"
                    path = PurePosixPath(folder, ".eval_results", name)
                paths.add(path)
                yield ExportedFile(path, f"score of {model.key}", Pieces(_yaml(entry)))
            export.left_out.add("single results", "a score is one number; other shapes have them")

    def entry_of(self, group: Group, run: RecordedRun, left_out: LeftOut) -> dict[str, Any] | None:
        """The content of a model's file, with its score in the run; `None` without a score.

        `group` is the model's part of the run's summary.
        """
        rate = group.bounded_accuracy if self.metric == "accuracy" else group.bounded_pass_rate
        if rate.rate is None:
            return None
        started = run.started
        dataset = {"id": self.dataset, "task_id": self.task_id}
        entry: dict[str, Any] = {
            "dataset": dataset | ({} if self.revision is None else {"revision": self.revision}),
            "value": rate.rate,
            "date": started.timestamp.isoformat(),
        }
        if self.source_url is not None:
            entry["source"] = {"url": self.source_url, "name": "failproof-es"}
        unscored = ""
        if rate.bounds is not None:
            low, high = rate.bounds
            ends = f"{low:.4f} to {high:.4f} if those had failed or passed"
            unscored = f", {group.unscored} without a score ({ends})"
        planned = run.summary.planned // len(started.models)
        entry["notes"] = one_line(
            f"failproof-es run {run.run_id} ({run.origin}), {self.metric} of "
            f"{group.finished} of {planned} evaluations{unscored}, configuration sha256 "
            f"{started.configuration_digest}"
        )
        return entry


def _yaml(entry: dict[str, Any]) -> Any:
    def write(pieces: Pieces) -> Iterator[bytes]:
        pieces.rows = 1
        text = StringIO()
        YAML(typ="safe", pure=True).dump([entry], text)
        yield text.getvalue().encode()

    return write
