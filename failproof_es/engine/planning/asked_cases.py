"""The digests of a plan's cases, by which runs of the same experiment are recognised."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress

from failproof_es.core import experiment
from failproof_es.core.case import Case
from failproof_es.core.pairing import Question
from failproof_es.engine.planning.digest_sets import AT_ONCE, DIGEST_BYTES, DigestSet
from failproof_es.events import Experiment, ModelSnapshot

_IN_MEMORY = 2**20
_READ_AT_ONCE = 1_000


def question_of(case: Case, repetition: int = 1) -> Question:
    """The identity of an evaluation of the case for comparing runs: digests of what is sent and of
    what is graded, the ids of suite and case, and the repetition."""
    document = case.model_dump(mode="json", include={"dialect", "turns", "expectation", "category"})
    sent, graded = experiment.case_digests(document)
    return Question(graded, sent, case.suite_id, case.case_id, repetition)


class PlannedCases:
    """The digests of ordered cases; those of a large plan are in temporary files."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - see `close`
        """The digest and the `question_digest` of each case."""
        self._whole = DigestSet(at_once)
        self._sent = DigestSet(at_once)
        self._graded = DigestSet(at_once)
        self._cases = 0

    def __len__(self) -> int:
        return self._cases

    def add(self, digest: str, case: Case) -> None:
        """Add the next case. `digest` is the digest of the whole case."""
        question = question_of(case)
        self.add_digests(digest, question.sent, question.graded)

    def add_digests(self, digest: str, sent: str, graded: str) -> None:
        """Add the next case by its digests: of the whole case, of what is sent (`question_digest`),
        of what is sent and graded (`graded_digest`). All are in hexadecimal."""
        self._file.write(bytes.fromhex(digest + sent))
        self._whole.add(bytes.fromhex(digest))
        self._sent.add(bytes.fromhex(sent))
        self._graded.add(bytes.fromhex(graded))
        self._cases += 1

    def flush(self) -> None:
        """Write buffered digests to the files. Raises `OSError` if the temporary folder is full."""
        self._file.flush()
        self._whole.flush()
        self._sent.flush()
        self._graded.flush()

    def digests(self) -> Iterator[str]:
        """The digest of every case in order, in hexadecimal."""
        return self._read_digests(0)

    def questions(self) -> Iterator[str]:
        """The `question_digest` of every case, in the same order, in hexadecimal."""
        return self._read_digests(DIGEST_BYTES)

    def questions_asked(self) -> frozenset[str]:
        """The `question_digest` of every case, as a set in memory."""
        return frozenset(self._sent)

    def set_digest(self) -> str:
        """The `set_digest` of the digests of the whole cases."""
        return experiment.digest_of_sorted(self._whole)

    def experiment(
        self,
        configuration: dict[str, object],
        models: Sequence[ModelSnapshot],
        judges: Sequence[ModelSnapshot],
    ) -> Experiment:
        """The digests that identify the experiment of a run with these cases, models and judges.

        `configuration` is the resolved one.
        """
        conditions = experiment.conditions(
            {
                "configuration": configuration,
                "models": [model.model_dump(mode="json") for model in models],
                "judges": [judge.model_dump(mode="json") for judge in judges],
            }
        )
        return Experiment(
            digest=experiment.experiment_digest_of_sorted(conditions, self._graded),
            questions=experiment.digest_of_sorted(self._sent),
        )

    def close(self) -> None:
        """Delete the temporary files."""
        self._give_up_file()
        self._whole.close()
        self._sent.close()
        self._graded.close()

    def _give_up_file(self) -> None:
        with suppress(OSError):  # the buffer may not fit on disk; nobody reads it any more
            self._file.close()

    __del__ = _give_up_file

    def _read_digests(self, offset: int) -> Iterator[str]:
        size = 2 * DIGEST_BYTES
        for first in range(0, self._cases, _READ_AT_ONCE):
            self._file.seek(first * size)
            packed = self._file.read(_READ_AT_ONCE * size)
            for start in range(offset, len(packed), size):
                yield packed[start : start + DIGEST_BYTES].hex()
        self._file.seek(0, 2)
