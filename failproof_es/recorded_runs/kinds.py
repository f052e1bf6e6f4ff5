"""The kinds of recorded runs, by the name that `failproof-es import` takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from failproof_es.recorded_runs.every_eval_ever import read_every_eval_ever
from failproof_es.recorded_runs.garak_report import read_garak_report
from failproof_es.recorded_runs.inspect_log import read_inspect_log
from failproof_es.recorded_runs.promptfoo_results import read_promptfoo_results
from failproof_es.recorded_runs.records import ForeignRun

READERS: Mapping[str, Callable[[Path], ForeignRun]] = {
    "inspect-log": read_inspect_log,
    "promptfoo-results": read_promptfoo_results,
    "garak-report": read_garak_report,
    "every-eval-ever": read_every_eval_ever,
}
