"""Measures whether work grows as fast as what is read, in processor time.

Twice the text may take `MOST` times the work: more than twice, because large texts leave the
processor's caches; far less than four times, which is what the square takes. One doubling is too
little to tell the two apart on a busy machine, so that several are taken together: work over k of
them may grow by `MOST ** k`. Other processes only ever add to what is measured, so that before
anything fails the least of several measurements counts, and the text is doubled once more: a square
goes on growing, and a disturbance does not.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from resource import RUSAGE_CHILDREN, getrusage
from time import thread_time

from tests.growth.texts import HostileText

MOST = 2.3
"""So much more work for twice the text."""
NEGLIGIBLE_S = 0.000_1
"""What takes less counts as this: a clock's tick, the first page of a cache."""
_TOO_LONG_S = 0.3
"""What grew too fast is not doubled further from here."""
_AGAIN = 4

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Reader:
    """What reads a text: a function, or several that read what is made of one text."""

    name: str
    prepare: Callable[[str], Mapping[str, Work]]
    """Makes of a text the works that are measured, by their names."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """From which size on a text is doubled, and how often: an odd number of times."""

    first: int
    doublings: int


@dataclass(frozen=True, slots=True)
class Excess:
    """Work that grows faster than it may."""

    work: str
    text: str
    sizes: tuple[int, int]
    seconds: tuple[float, float]

    def __str__(self) -> str:
        (small, large), (short, long) = self.sizes, self.seconds
        return (
            f"{self.work} reads {self.text}: {large // small} times the text takes "
            f"{long / short:.0f} times the work ({short * 1000:.1f} ms for {small:,} characters, "
            f"{long * 1000:.0f} ms for {large:,})"
        )


def assert_grows_as_its_text(reader: Reader, texts: Iterable[HostileText], sizes: Sizes) -> None:
    """Fails with every work of the reader, and text, for which the work grows too fast."""
    found = excesses(reader, texts, sizes)
    assert not found, "\n".join(map(str, found))


def excesses(reader: Reader, texts: Iterable[HostileText], sizes: Sizes) -> list[Excess]:
    """Every work of the reader, and text, for which the work grows too fast."""
    with _without_collections():
        return [excess for text in texts for excess in _excesses_of(reader, text, sizes)]


def _excesses_of(reader: Reader, text: HostileText, sizes: Sizes) -> Iterator[Excess]:
    _measure(reader, text, sizes.first)  # what a reader makes once, such as a compiled expression
    first = _measure(reader, text, sizes.first)
    pending = set(first)
    for doubling in range(1, sizes.doublings + 1, 2):
        size = sizes.first << doubling
        last = _measure(reader, text, size, pending)
        too_long = {
            work
            for work in pending
            if last[work] > first[work] * _most(doubling)
            and (last[work] > _TOO_LONG_S or doubling == sizes.doublings)
        }
        for work in sorted(too_long):
            pending.remove(work)
            name = f"{reader.name}.{work}" if work else reader.name
            measured = [
                Excess(name, text.label, (sizes.first, sizes.first << doublings), seconds)
                for doublings in (doubling, doubling + 1)
                if (seconds := _too_much(reader, text, sizes.first, doublings, work))
            ]
            if len(measured) == 2:
                yield measured[0]


def _most(doublings: int) -> float:
    """How many times the work so many doublings may take. Caches alone make 2.7 of a single one."""
    return MOST**doublings if doublings > 1 else 2 * MOST


def _too_much(
    reader: Reader, text: HostileText, first: int, doublings: int, work: str
) -> tuple[float, float] | None:
    """The seconds for both sizes, the least of several measurements, where they are too many."""

    def least(size: int, times: int) -> float:
        return min(_measure(reader, text, size, {work})[work] for _ in range(times))

    short, long = least(first, 3 * _AGAIN), least(first << doublings, _AGAIN)
    return (short, long) if long > short * _most(doublings) else None


def _measure(
    reader: Reader, text: HostileText, size: int, works: Collection[str] | None = None
) -> dict[str, float]:
    """The processor time of each work. A reader may refuse a text, and may not break."""
    seconds = {}
    for name, work in reader.prepare(text.of(size)).items():
        if works is None or name in works:
            began = _processor_time()
            try:
                work()
            except (RecursionError, MemoryError):
                raise
            except Exception:  # refused
                pass
            seconds[name] = max(_processor_time() - began, NEGLIGIBLE_S)
    return seconds


def _processor_time() -> float:
    """Of this thread, and of all children of this process that have ended.

    Other threads are other tests' servers: no reader starts one.
    """
    children = getrusage(RUSAGE_CHILDREN)
    return thread_time() + children.ru_utime + children.ru_stime


@contextmanager
def _without_collections() -> Iterator[None]:
    """A collection looks at all objects of a process: it would be measured with a few texts."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
