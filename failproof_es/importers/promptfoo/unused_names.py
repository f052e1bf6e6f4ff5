"""Gives each name once: the second `NAME` becomes `NAME-2`. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class UnusedNames:
    """The names in use, in groups."""

    _last_numbers: dict[tuple[str | None, str], int] = field(default_factory=dict)
    """For each name the last number that was appended to it: counting anew would be quadratic."""

    def take(self, name: str, group: str | None = None) -> str:
        """The name, or `NAME-2` and so on if it is in use in the group."""
        unused = name
        while (group, unused) in self._last_numbers:
            self._last_numbers[group, name] += 1
            unused = f"{name}-{self._last_numbers[group, name]}"
        self._last_numbers[group, unused] = 1
        return unused
