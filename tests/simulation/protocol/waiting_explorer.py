"""Explores every order in which requests wait for money, tokens and a slot (`waiting_world.py`).

No state may be unsafe. And from each state, whatever went wrong before, what happens of itself can
lead to the end of the run: nobody waits for what is never given back.
"""

from __future__ import annotations

import gc
from collections import deque
from dataclasses import dataclass
from typing import Any

from tests.simulation.protocol.waiting_parts import Setting, Unsafe
from tests.simulation.protocol.waiting_world import World


class Stuck(Exception):
    """A state from which nothing leads to the end."""


@dataclass(frozen=True)
class Explored:
    """How much was explored."""

    states: int
    steps: int


def explore(setting: Setting) -> Explored:
    """Visit every state. Raises `Unsafe` or `Stuck`, with how it came to it."""
    gc.disable()  # all that is made here is kept, and holds no cycle
    try:
        return _Exploration(setting).explored()
    finally:
        gc.enable()


class _Exploration:
    def __init__(self, setting: Setting) -> None:
        begin = World(setting)
        self._numbers: dict[Any, int] = {begin.key(): 0}
        self._came: list[tuple[int, str]] = [(0, "")]
        self._leads_from: list[list[int]] = [[]]
        """By state those that lead to it of themselves."""
        self._over: list[int] = []
        self._waiting = deque([(0, begin)])

    def explored(self) -> Explored:
        steps = 0
        while self._waiting:
            number, world = self._waiting.popleft()
            try:
                world.require_safe()
                if world.over:
                    self._over.append(number)
                for did, leads_on, do in world.steps():
                    steps += 1
                    after = world.copy()
                    do(after)
                    reached = self._number(after, number, did)
                    if leads_on and reached != number:
                        self._leads_from[reached].append(number)
            except Unsafe as unsafe:
                raise Unsafe(f"{unsafe}, after\n{self._story(number)}") from None
        self._require_progress()
        return Explored(len(self._numbers), steps)

    def _number(self, world: World, before: int, did: str) -> int:
        key = world.key()
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._numbers)
            self._came.append((before, did))
            self._leads_from.append([])
            self._waiting.append((number, world))
        return number

    def _require_progress(self) -> None:
        leads = bytearray(len(self._numbers))
        waiting = list(self._over)
        for number in waiting:
            leads[number] = 1
        while waiting:
            for before in self._leads_from[waiting.pop()]:
                if not leads[before]:
                    leads[before] = 1
                    waiting.append(before)
        if (stuck := leads.find(0)) >= 0:
            raise Stuck(f"nothing leads to the end of the run, after\n{self._story(stuck)}")

    def _story(self, number: int) -> str:
        story = []
        while number:
            number, did = self._came[number]
            story.append(did)
        return "\n".join(story[::-1])
