"""Finds entry points of installed packages without importing them, and loads them by name.

One group of entry points holds one kind of plugin. This program registers its own plugins like any
other package, so that all names are looked up alike.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib.metadata import Distribution, EntryPoint, entry_points
from importlib.metadata import EntryPoints as Points
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from failproof_es.problems import InvalidInput

T = TypeVar("T")
_OURS = "failproof-es"


@dataclass(frozen=True, slots=True)
class _Offer:
    package: str
    version: str
    point: EntryPoint

    def __str__(self) -> str:
        return f"{self.package} {self.version}".rstrip()


class EntryPoints(Generic[T]):
    """The plugins of one entry-point group.

    `noun` names one plugin in a sentence. `fault` describes what is wrong with a plugin that was
    loaded under a name, or returns `None`; `remedy` is where its author finds the requirements.
    `some_are_ours` states that this program registers some itself: if none is found, the installed
    metadata is older than the code. `unlisted` are plugins of this program that only it itself
    uses, by name: such a name can be loaded, but no list has it.
    """

    def __init__(
        self,
        group: str,
        noun: str,
        fault: Callable[[T, str], str | None],
        remedy: str,
        *,
        some_are_ours: bool = True,
        unlisted: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.group = group
        self._noun = noun
        self._fault = fault
        self._remedy = remedy
        self._some_are_ours = some_are_ours
        self._unlisted = unlisted
        self._offers: dict[str, list[_Offer]] | None = None
        self._loaded: dict[str, T] = {}

    def names(self) -> list[str]:
        """Every registered name, sorted; this program's own first."""
        offers = self._find_offers()
        return sorted(offers, key=lambda name: (not _is_ours(offers[name]), name))

    def __contains__(self, name: str) -> bool:
        """Whether the name can be loaded. Nothing is imported."""
        return name in self._unlisted or name in self._find_offers()

    def package_of(self, name: str) -> tuple[str, str] | None:
        """Name and version of the package that registers the plugin `name`.

        `None` if this program, several packages or no package register it.
        """
        offers = self._find_offers().get(name, [])
        if len(offers) != 1 or _is_ours(offers):
            return None
        return offers[0].package, offers[0].version

    def is_ours(self, name: str) -> bool:
        """Whether this program registers the name."""
        return _is_ours(self._find_offers().get(name, []))

    def load(self, name: str) -> T:
        """The plugin of that name, imported once.

        Raises `InvalidInput` if no package or several register the name, if the import fails, or if
        the plugin has a fault.
        """
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def forget(self) -> None:
        """Read the installed entry points again at the next use."""
        _installed.cache_clear()
        _package.cache_clear()
        self._offers = None
        self._loaded.clear()

    def _find_offers(self) -> dict[str, list[_Offer]]:
        if self._offers is None:
            self._offers = {}
            for point in _of_group(self.group):
                package = None if point.dist is None else _package(point.dist)
                offer = _Offer(*(package or (point.value, "")), point)
                self._offers.setdefault(point.name, []).append(offer)
        return self._offers

    def _load(self, name: str) -> T:
        if name in self._unlisted:
            own: T = EntryPoint(name, self._unlisted[name], self.group).load()
            return own
        offers = self._find_offers().get(name, [])
        if not offers:
            raise self._unknown(name)
        if len(offers) > 1:
            raise InvalidInput.because(
                "ambiguous-name",
                f"the {self._noun} {name!r} is offered by "
                f"{_join_words(map(str, offers), ' and by ')}",
                remedy="uninstall all of these packages but one",
            )
        offer = offers[0]
        try:
            loaded: T = offer.point.load()
        except (Exception, SystemExit) as error:  # importing foreign code may raise anything
            raise InvalidInput.because(
                "plugin-failed",
                f"the {self._noun} {name!r} of the package {offer} can't be loaded: "
                f"{type(error).__name__}: {error}",
                remedy="update or remove the package",
            ) from error
        if fault := self._fault(loaded, name):
            raise InvalidInput.because(
                "plugin-failed",
                f"the {self._noun} {name!r} of the package {offer} {fault}",
                remedy=self._remedy,
            )
        return loaded

    def _unknown(self, name: str) -> InvalidInput:
        names = self.names()
        lower = name.lower()
        close = get_close_matches(lower, names, n=1) or [
            known for known in sorted(names, key=len, reverse=True) if lower.startswith(known)
        ]
        hint = f"did you mean {close[0]!r}? " if close else ""
        if self._some_are_ours and not any(map(_is_ours, self._find_offers().values())):
            hint = f"install {_OURS} again: what is installed is older than its code; "
        return InvalidInput.because(
            "unknown-name",
            f"there is no {self._noun} {name!r}",
            remedy=f"{hint}known: {_join_words(names) or 'none'}; for another one install the "
            f"package that offers it (entry point group {self.group})",
        )


def _of_group(group: str) -> Points:
    points: Points = _installed(tuple(sys.path)).select(group=group)
    return points


@lru_cache(maxsize=1)
def _installed(_path: tuple[str, ...]) -> Any:
    """The entry points of all packages on `_path`, read once for all groups.

    Reading the metadata of every package takes milliseconds, and there are half a dozen groups.
    """
    return entry_points()


@cache
def _package(dist: Distribution) -> tuple[str, str] | None:
    """Name and version of a package, read once for all of its entry points.

    `None` if the metadata cannot be read or has no name. `None` if the metadata cannot be read or
    has no name.
    """
    try:
        metadata = dist.metadata
        name, version = (
            metadata[key] if key in metadata else None  # noqa: SIM401 - `get` is no part of its type
            for key in ("Name", "Version")
        )
    except Exception:  # damaged metadata may raise anything
        return None
    return (str(name), str(version or "")) if name else None


def _is_ours(offers: list[_Offer]) -> bool:
    return any(offer.package == _OURS for offer in offers)


def _join_words(words: Iterable[str], between: str = ", ") -> str:
    return between.join(words)
