"""Texts that are asked for at the same time share one answer's cost; each gets its own answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from failproof_es.shell_analysis.parse import batching
from failproof_es.shell_analysis.parse.batching import MOST, Batcher


class Recorder:
    """Answers a text with itself in capitals, and remembers the batches."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, texts: Sequence[str]) -> list[str]:
        self.batches.append(list(texts))
        self.gate.wait(20)
        if "fail" in texts:
            raise OSError("no process")
        return [text.upper() for text in texts]


def batcher(run: Recorder) -> Batcher[str]:
    return Batcher(run, lambda answer: None if answer == "PASSING" else len(answer))


@pytest.mark.parametrize("count", [0, 1, MOST - 1, MOST, MOST + 1, 5 * MOST + 3])
def test_each_text_gets_its_answer_and_no_batch_is_too_large(count: int) -> None:
    run = Recorder()
    texts = [f"text {number}" for number in range(count)]
    assert batcher(run).ask(texts) == [text.upper() for text in texts]
    assert sorted(text for batch in run.batches for text in batch) == sorted(texts)
    assert all(len(batch) <= MOST for batch in run.batches)
    assert len(run.batches) == -(-count // MOST)


def test_the_same_text_is_asked_once() -> None:
    run = Recorder()
    asking = batcher(run)
    assert asking.ask(["a", "b", "a"]) == ["A", "B", "A"]
    assert asking.ask(["b", "c"]) == ["B", "C"]
    assert run.batches == [["a", "b"], ["c"]]
    asking.forget()
    asking.ask(["a"])
    assert run.batches[-1] == ["a"]


def test_an_answer_that_does_not_last_is_asked_for_again() -> None:
    run = Recorder()
    asking = batcher(run)
    asking.ask(["passing"])
    asking.ask(["passing"])
    assert len(run.batches) == 2


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Recorder()
    asking = batcher(run)
    monkeypatch.setattr(batching, "_REMEMBERED", 2)
    asking.ask(["a", "b"])
    asking.ask(["a"])  # used last, so b goes
    asking.ask(["c"])
    asking.ask(["a", "c"])
    assert run.batches == [["a", "b"], ["c"]]
    asking.ask(["b"])
    assert run.batches[-1] == ["b"]
    monkeypatch.setattr(batching, "_REMEMBERED_BYTES", 3)
    asking.ask(["four"])
    asking.ask(["four"])
    assert run.batches[-2:] == [["four"], ["four"]]


def test_threads_that_ask_while_a_batch_is_answered_share_the_next() -> None:
    run = Recorder()
    asking = batcher(run)
    run.gate.clear()
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(asking.ask, ["first"])
        while not run.batches:
            time.sleep(0.001)
        others = [pool.submit(asking.ask, [f"other {number}"]) for number in range(8)]
        while len(asking._waiting) < 8:
            time.sleep(0.001)
        run.gate.set()
        assert first.result() == ["FIRST"]
        assert [each.result() for each in others] == [[f"OTHER {n}"] for n in range(8)]
    assert len(run.batches) == 2
    assert not asking._running


def test_an_error_reaches_everyone_in_the_batch_and_no_one_else() -> None:
    run = Recorder()
    asking = batcher(run)
    with pytest.raises(OSError, match="no process"):
        asking.ask(["fail", "a"])
    assert asking.ask(["a"]) == ["A"]
    assert not asking._running


def test_a_batch_that_takes_long_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "_PATIENCE", 0.02)
    slow = threading.Event()

    def run(texts: Sequence[str]) -> list[str]:
        if "slow" in texts:
            slow.wait(20)
        return list(texts)

    asking = Batcher(run, len)
    with ThreadPoolExecutor(4) as pool:
        stuck = [pool.submit(asking.ask, ["slow"])]
        while not asking._running:
            time.sleep(0.001)
        assert pool.submit(asking.ask, ["quick"]).result(10) == ["quick"]
        assert not stuck[0].done()
        slow.set()
        assert stuck[0].result(10) == ["slow"]


def test_who_is_told_to_stop_leaves_the_rest_to_others() -> None:
    """A thread answers for others, too; what it has not answered is not lost with it."""
    batches: list[list[str]] = []
    gate = threading.Event()

    def run(texts: Sequence[str]) -> list[str]:
        batches.append(list(texts))
        if len(batches) == 1:
            gate.wait(20)
        if len(batches) == 2:
            raise KeyboardInterrupt
        return list(texts)

    asking = Batcher(run, len)
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(asking.ask, ["first"])]
        while not batches:
            time.sleep(0.001)
        asked += [pool.submit(asking.ask, [text]) for text in ("one", "other")]
        while len(asking._waiting) < 2:
            time.sleep(0.001)
        gate.set()
        ends = [each.exception(10) or each.result() for each in asked]
    assert sorted(batches[1]) == ["one", "other"]
    assert ends[0] == ["first"]
    assert sorted(map(type, ends[1:]), key=str) == [KeyboardInterrupt, list]
    assert not asking._running and not asking._waiting
