"""Batches the questions of many threads, so that one process answers several of them.

Starting a process costs more than reading most texts. Threads that ask at the same time share a
process. No thread waits for more questions to come: a batch is the questions that have gathered
while earlier batches ran.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

Answer = TypeVar("Answer")

CORES = os.cpu_count() or 1

MOST = 64
"""Most texts in one batch: starting the process is then a tenth of the cost. If a text ends the
process, so many others are read again."""
_WORTH_A_PROCESS = 16
"""If so many texts wait, another batch is begun beside a running one, on another core."""
_PATIENCE = 0.5
"""Seconds after which a running batch delays no other: it has a text that is slow to read."""
_REMEMBERED = 1024
_REMEMBERED_BYTES = 32 * 1024 * 1024
"""Limits of the cache, in answers and bytes; the least recently asked are dropped."""


def answer_in_parts(
    answer: Callable[[Sequence[str]], Sequence[Answer]], texts: Sequence[str]
) -> list[Answer]:
    """The answer to each text, in order; in several threads if they are more than one batch.

    `answer` gets at most `MOST` texts at a time and returns an answer for each.
    """
    parts = [texts[at : at + MOST] for at in range(0, len(texts), MOST)]
    if len(parts) < 2:
        return [one for part in parts for one in answer(part)]
    with ThreadPoolExecutor(1 + CORES) as pool:
        return [one for answers in pool.map(answer, parts) for one in answers]


@dataclass(eq=False, slots=True)
class _Question(Generic[Answer]):
    """A text that waits for its answer."""

    text: str
    done: bool = False
    answer: Answer | None = None
    error: Exception | None = None


class Batcher(Generic[Answer]):
    """Answers texts with a function that answers many at once; may be used by any thread.

    `run` gets at most `MOST` texts and returns an answer for each, in order. It runs in the
    callers' threads, at most once at a time for each core (slow batches are not counted). `size`
    returns the bytes of an answer, or `None` for an answer that must not be cached.
    """

    def __init__(
        self,
        run: Callable[[Sequence[str]], Sequence[Answer]],
        size: Callable[[Answer], int | None],
    ) -> None:
        self._run = run
        self._size = size
        self._cores = CORES
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        """Drop all questions and answers. A forked child lacks the threads that would answer."""
        self._changed = threading.Condition()
        self._waiting: deque[_Question[Answer]] = deque()
        self._running: dict[int, float] = {}
        self._known: OrderedDict[str, tuple[Answer, int]] = OrderedDict()
        self._bytes = 0

    def ask(self, texts: Sequence[str]) -> list[Answer]:
        """The answer to each text, in order.

        Raises the exception that `run` raised for a batch with one of the texts.
        """
        answers: dict[str, Answer] = {}
        questions: dict[str, _Question[Answer]] = {}
        with self._changed:
            for text in texts:
                if text in self._known:
                    self._known.move_to_end(text)
                    answers[text], _ = self._known[text]
                elif text not in questions:
                    questions[text] = _Question(text)
            self._waiting.extend(questions.values())
        mine = list(questions.values())
        try:
            self._answer_all(mine)
        except BaseException:
            own_ids = set(map(id, mine))
            with self._changed:  # nobody waits for the other questions
                self._waiting = deque(
                    question for question in self._waiting if id(question) not in own_ids
                )
            raise
        for question in mine:
            if question.error is not None:
                raise question.error
            answers[question.text] = question.answer  # type: ignore[assignment]  # it is done
        return [answers[text] for text in texts]

    def forget(self) -> None:
        """Clear the cache of answers."""
        with self._changed:
            self._known.clear()
            self._bytes = 0

    def _answer_all(self, mine: Sequence[_Question[Answer]]) -> None:
        """Answer batches until `mine`, the caller's questions, are answered.

        More than one batch is answered in several threads, at most one for each core.
        """
        batches = -(-len(mine) // MOST)
        if batches <= 1:
            self._answer_batches(mine)
            return
        threads = min(self._cores, batches)
        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(self._answer_batches, mine) for _ in range(threads)]:
                done.result()

    def _answer_batches(self, mine: Sequence[_Question[Answer]]) -> None:
        """Answer batches of any caller's questions until `mine` are answered."""
        batch: list[_Question[Answer]] = [*mine]
        while batch:
            batch = []
            try:
                self._fill_batch(batch, mine)
                answers = self._run([question.text for question in batch]) if batch else ()
                for question, answer in zip(batch, answers, strict=True):
                    question.answer = answer
                    question.done = True
            except Exception as error:
                for question in batch:
                    question.error = error
                    question.done = True
            finally:
                self._finish_batch(batch)

    def _fill_batch(
        self, batch: list[_Question[Answer]], mine: Sequence[_Question[Answer]]
    ) -> None:
        """Fill the empty list `batch` with waiting questions, unless `mine` are answered already.

        Waits while enough other batches run.
        """
        with self._changed:
            while not all(question.done for question in mine):
                if self._waiting and self._may_start():
                    self._running[id(batch)] = time.monotonic()
                    batch.extend(islice(self._waiting, MOST))
                    for _ in batch:
                        self._waiting.popleft()
                    return
                self._changed.wait(_PATIENCE)

    def _may_start(self) -> bool:
        """Whether to start a batch now rather than let it grow while others run."""
        soon = time.monotonic() - _PATIENCE
        quick = sum(began > soon for began in self._running.values())
        return quick < (self._cores if len(self._waiting) >= _WORTH_A_PROCESS else 1)

    def _finish_batch(self, batch: Sequence[_Question[Answer]]) -> None:
        """Cache the answers of a batch; requeue its questions if the thread was interrupted."""
        with self._changed:
            self._running.pop(id(batch), None)
            self._waiting.extendleft(question for question in reversed(batch) if not question.done)
            for question in batch:
                if question.done and question.error is None and question.text not in self._known:
                    self._remember(question.text, question.answer)  # type: ignore[arg-type]  # it is done
            self._changed.notify_all()

    def _remember(self, text: str, answer: Answer) -> None:
        size = self._size(answer)
        if size is None:
            return
        self._known[text] = (answer, size)
        self._bytes += size
        while len(self._known) > _REMEMBERED or self._bytes > _REMEMBERED_BYTES:
            _, (_, forgotten) = self._known.popitem(last=False)
            self._bytes -= forgotten
