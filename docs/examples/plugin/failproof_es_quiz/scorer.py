"""The scorer `terseness`: a number beside the score of any dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failproof_es.case import Case
from failproof_es.evaluation import Classification, Transcript
from failproof_es.problems import InvalidInput


class Terseness:
    """How much shorter than `most` characters the last answer is, from 0 to 1."""

    name = "terseness"
    version = "1"

    def __init__(self, most: int = 20) -> None:
        self._most = most

    def with_options(self, options: Mapping[str, Any]) -> Terseness:
        """The scorer as a configuration's `options` want it."""
        most = options.get("most")
        if options.keys() != {"most"} or not isinstance(most, int) or most < 1:
            raise InvalidInput.because(
                "invalid-option",
                "the scorer 'terseness' has one option: `most`, in characters, from 1",
                remedy="for example {name: terseness, options: {most: 20}}",
            )
        return Terseness(most)

    def score(
        self, case: Case, transcript: Transcript, classification: Classification
    ) -> float | Mapping[str, float]:
        """One number, recorded under the scorer's name."""
        return max(0.0, 1 - len(transcript.replies[-1].text) / self._most)
