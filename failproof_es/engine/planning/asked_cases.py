"""The digests of a plan's cases, by which runs of the same experiment are recognised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from failproof_es.core import experiment
from failproof_es.core.case import Case
from failproof_es.core.pairing import Question
from failproof_es.events import Experiment, ModelSnapshot

_DIGEST_BYTES = 32


def question_of(case: Case, repetition: int = 1) -> Question:
    """The question of an evaluation of the case, as `pairing` compares it."""
    document = case.model_dump(mode="json", include={"dialect", "turns", "expectation", "category"})
    return Question(
        experiment.graded_digest(document),
        experiment.question_digest(document),
        case.suite_id,
        case.case_id,
        repetition,
    )


class PlannedCases:
    """The digests of ordered cases, as 32 bytes each: as text, 100,000 would take 12 MB."""

    def __init__(self) -> None:
        self._digests = bytearray()
        self._questions = bytearray()
        self._graded = bytearray()

    def __len__(self) -> int:
        return len(self._digests) // _DIGEST_BYTES

    def add(self, digest: str, case: Case) -> None:
        """Add the next case, with its digest."""
        asked = question_of(case)
        self._digests += bytes.fromhex(digest)
        self._questions += bytes.fromhex(asked.sent)
        self._graded += bytes.fromhex(asked.graded)

    def digests(self) -> Iterator[str]:
        """The digest of every case in order, in hexadecimal."""
        return _unpacked(self._digests)

    def questions(self) -> Iterator[str]:
        """The digest of what is sent of every case, in the same order."""
        return _unpacked(self._questions)

    def plan(self) -> experiment.Plan:
        """The cases as sets."""
        return experiment.Plan(frozenset(self.digests()), frozenset(self.questions()))

    def experiment(
        self,
        configuration: dict[str, object],
        models: Sequence[ModelSnapshot],
        judges: Sequence[ModelSnapshot],
    ) -> Experiment:
        """The experiment of these cases, models and judges."""
        conditions = experiment.conditions(
            {
                "configuration": configuration,
                "models": [each.model_dump(mode="json") for each in models],
                "judges": [each.model_dump(mode="json") for each in judges],
            }
        )
        return Experiment(
            digest=experiment.experiment_digest(conditions, _unpacked(self._graded)),
            questions=experiment.set_digest(self.questions()),
        )


def _unpacked(packed: bytearray) -> Iterator[str]:
    for start in range(0, len(packed), _DIGEST_BYTES):
        yield packed[start : start + _DIGEST_BYTES].hex()
