"""Which mutants are drawn: by the seed and the source of the mutated function alone."""

from __future__ import annotations

import difflib
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.operators import Mutation, Place, Source, places

PACKAGES = ("failproof_es", "projections")


@dataclass(frozen=True, eq=False)
class Mutant:
    """A place of a file and the change of it that was drawn."""

    path: str
    """From the root of the tree."""
    place: Place
    mutation: Mutation
    source: Source
    id: str
    """Of the file, the qualified name and the change: twelve hexadecimal digits."""

    @property
    def room(self) -> str:
        """The first-level package; of a module outside of one, the package itself."""
        return room_of(self.path)

    @property
    def line(self) -> int:
        """Where the change begins, counted from 1."""
        start = min(edit.start for edit in self.mutation.edits)
        return self.source.raw.count(b"\n", 0, start) + 1

    @property
    def mutated(self) -> bytes:
        """The whole file with the change."""
        return self.source.edited(self.mutation.edits)

    @property
    def diff(self) -> str:
        """The changed lines, before and after."""
        lines = difflib.unified_diff(
            self.source.raw.decode().splitlines(),
            self.mutated.decode().splitlines(),
            n=0,
            lineterm="",
        )
        return "\n".join(line for line in list(lines)[2:] if not line.startswith("@@"))


def room_of(path: str) -> str:
    """The first-level package of a path from the root, as `failproof_es/core`."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == PACKAGES[0] and len(parts) > 2 else parts[0]


def read_sources(tree: Path, packages: Iterable[str] = PACKAGES) -> dict[str, Source]:
    """Every Python file of the packages, by its path from the root. Raises `SyntaxError`."""
    return {
        file.relative_to(tree).as_posix(): Source(file.read_bytes())
        for package in packages
        for file in sorted((tree / package).rglob("*.py"))
    }


def draw(sources: dict[str, Source], count: int, seed: int) -> list[Mutant]:
    """So many mutants: of each room in proportion to its statements, at least one.

    Statements are drawn, of a statement an operator, of an operator a change: a table of a
    thousand strings is one statement. Each choice is the least of hashes of the seed, the file, the
    function's name and its source, so that a change elsewhere leaves it as it is.
    """
    rooms: defaultdict[str, list[tuple[str, Mutant]]] = defaultdict(list)
    for path, source in sources.items():
        for order, mutant in _one_for_each_place(path, source, seed):
            rooms[mutant.room].append((order, mutant))
    drawn = []
    for room, share in shares(
        {room: len(mutants) for room, mutants in rooms.items()}, count
    ).items():
        least = sorted(rooms[room], key=lambda pair: pair[0])[:share]
        drawn += [mutant for _, mutant in least]
    return sorted(drawn, key=lambda mutant: (mutant.path, mutant.line, mutant.id))


def _one_for_each_place(path: str, source: Source, seed: int) -> Iterable[tuple[str, Mutant]]:
    identities: Counter[str] = Counter()
    for place in places(source):
        assert place.scope is not None
        origin = source.span(place.scope)[0]
        scope = source.text(place.scope).decode()
        where = source.span(place.statement)[0] - origin

        def order(
            *parts: object, name: str = place.qualified_name, scope: str = scope, where: int = where
        ) -> str:
            return _digest(seed, path, name, scope, where, *parts)

        operator = min({each.operator for each in place.mutations}, key=order)
        mutation = min(
            (mutation for mutation in place.mutations if mutation.operator == operator),
            key=lambda mutation, origin=origin, order=order: order(  # type: ignore[misc]
                *((edit.start - origin, edit.text) for edit in mutation.edits)
            ),
        )
        change = _digest(
            path, place.qualified_name, source.text(place.statement), mutation.operator,
            *((edit.start - origin - where, edit.text) for edit in mutation.edits),
        )  # fmt: skip
        identities[change] += 1
        identity = _digest(change, identities[change])[:12]
        yield order(), Mutant(path, place, mutation, source, identity)


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def shares(sizes: dict[str, int], count: int) -> dict[str, int]:
    """By largest remainder; each at least one, none more than its size."""
    total = sum(sizes.values())
    exact = {name: count * size / total for name, size in sizes.items()}
    result = {name: min(sizes[name], max(1, int(share))) for name, share in exact.items()}
    while sum(result.values()) > max(count, len(sizes)):
        result[max(result, key=lambda name: result[name])] -= 1
    by_remainder: Sequence[str] = sorted(exact, key=lambda name: int(exact[name]) - exact[name])
    while sum(result.values()) < min(count, total):
        for name in by_remainder:
            if result[name] < sizes[name] and sum(result.values()) < count:
                result[name] += 1
    return result
