"""What a run says of its experiment, in events that a test makes without an engine."""

from __future__ import annotations

from typing import Any

from failproof_es.events import Experiment

ASKED: dict[str, Any] = {"attempt": 1, "experiment": Experiment(digest="e", questions="q")}
