"""Chooses a part of the cases, by the section `selection` of a configuration."""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from failproof_es.configuration.choices import KINDS, SelectionSection, fits, parse_pattern
from failproof_es.core.case import Case
from failproof_es.core.selection import RESULT_KINDS, describe_part
from failproof_es.events import Selection as Selected
from failproof_es.problems import Problems
from failproof_es.support.plurals import plural

_MOST_LISTED = 20
"""Limit of values that an error lists."""


CasesByResult = Mapping[str, AbstractSet[tuple[str, str]]]
"""The cases with given results, like `LoadedConfiguration.cases_by_result`."""
_FORMAT = "failproof-es/sample/1"


def values_of(case: Case, kind: str) -> Sequence[str]:
    """The case's values that patterns of this kind (`id`, `tag` or `suite`) are matched with."""
    return {"id": (case.case_id,), "tag": case.tags, "suite": (case.suite_id,)}[kind]


def rank(seed: int, case: Case) -> int:
    """The rank of a case in the draw of samples: a sample of n has the n lowest ranks.

    The rank is the SHA-256 of the seed, the suite and the case's id. So it does not depend on the
    case's text, on other cases, or on the case's place.
    """
    serialized = json.dumps([_FORMAT, seed, case.suite_id, case.case_id]).encode("ascii")
    return int.from_bytes(hashlib.sha256(serialized).digest())


class Selector:
    """Decides, case by case, which cases are asked.

    If it `draws`, every case must be passed to `rank` before the first is passed to `add`.
    """

    def __init__(self, selection: SelectionSection, by_result: CasesByResult) -> None:
        self._selection = selection
        self._by_result = by_result
        self._patterns = {
            name: [
                parsed
                for pattern in patterns or ()
                if (parsed := parse_pattern(pattern)) is not None
            ]
            for name, patterns in (("only", selection.only), ("exclude", selection.exclude))
        }
        self._unmatched = {
            (name, kind, glob)
            for name, patterns in self._patterns.items()
            for kind, glob in patterns
        }
        self._there: dict[str, dict[str, None]] = {kind: {} for kind in KINDS}
        self._lowest: list[int] = []
        """A heap of the sample's ranks, negated so that the highest rank comes first."""
        self._drawn: tuple[int, int] | None = None
        """The highest rank of the sample, and the number of cases to take that have this rank."""
        self._total = self._kept = 0

    @property
    def draws(self) -> bool:
        """Whether a sample is drawn: then all cases must be ranked (`rank`) before any can be
        chosen."""
        return self._selection.sample is not None

    def rank(self, case: Case) -> None:
        """Take a case into the draw of the sample, if the patterns choose it."""
        if not self._matches_patterns(case):
            return
        place = -rank(self._selection.seed or 0, case)
        if len(self._lowest) < (self._selection.sample or 0):
            heapq.heappush(self._lowest, place)
        elif place > self._lowest[0]:
            heapq.heapreplace(self._lowest, place)

    def add(self, case: Case) -> bool:
        """Decide whether the next case is asked. Each case is passed once, in order."""
        self._total += 1
        if self._unmatched:
            self._note_values(case)
        if not self._matches_patterns(case):
            return False
        is_chosen = self._is_within_bounds(case)
        self._kept += is_chosen
        return is_chosen

    def remarks(self, problems: Problems) -> None:
        """Add to `problems` a remark that describes the selection.

        Instead adds an error for each pattern that matches no case, or if no case is left. Call it
        after the last `add`.
        """
        if not (self._patterns["only"] or self._patterns["exclude"] or self._has_bounds()):
            return
        for name, kind, glob in sorted(self._unmatched):
            problems.error(
                "no-match",
                f"no case matches {f'{kind}:{glob}'!r}",
                field=f"selection.{name}",
                remedy=self._describe_values(kind, glob),
            )
        if not self._kept and not problems.errors:
            problems.error(
                "no-cases",
                f"the patterns leave none of {plural(self._total, 'case')}",
                field="selection",
                remedy="choose patterns that leave at least one case",
            )
        if not problems.errors:
            description = describe_part(self.selected(0), self._kept, 0)
            problems.remark(f"selection: {description}")

    def selected(self, of_models: int) -> Selected:
        """The selection, as it is recorded. `of_models` is the number of configured models.

        It counts the cases that were added so far, so call it after the last `add`.
        """
        selection = self._selection
        return Selected(
            of_cases=self._total,
            of_models=of_models,
            only=tuple(selection.only or ()),
            exclude=tuple(selection.exclude or ()),
            limit=selection.limit,
            sample=selection.sample,
            seed=(selection.seed or 0) if selection.sample is not None else None,
        )

    def _has_bounds(self) -> bool:
        return self._selection.limit is not None or self._selection.sample is not None

    def _matches_patterns(self, case: Case) -> bool:
        """Whether the patterns choose the case."""
        if any(self._matches(case, kind, glob) for kind, glob in self._patterns["exclude"]):
            return False
        only = self._patterns["only"]
        return all(
            any(self._matches(case, kind, glob) for kind, glob in only if _group(kind) == group)
            for group in dict.fromkeys(_group(kind) for kind, _ in only)
        )

    def _matches(self, case: Case, kind: str, glob: str) -> bool:
        """Whether one of the case's values of this kind fits the glob, or it had such a result."""
        if kind in RESULT_KINDS:
            return (case.suite_id, case.case_id) in self._by_result.get(f"{kind}:{glob}", ())
        return any(fits(value, glob) for value in values_of(case, kind))

    def _is_within_bounds(self, case: Case) -> bool:
        """Whether a case that the patterns choose is among the first `limit` ones, or in the
        sample. Call it once for each such case, in order."""
        if self._selection.limit is not None:
            return self._kept < self._selection.limit
        if self._selection.sample is None:
            return True
        if self._drawn is None:
            highest = -self._lowest[0]
            self._drawn = highest, self._lowest.count(-highest)
        highest, remaining = self._drawn
        place = rank(self._selection.seed or 0, case)
        if place == highest and remaining:
            self._drawn = highest, remaining - 1
            return True
        return place < highest

    def _note_values(self, case: Case) -> None:
        """Note which patterns match the case, and some of the case's values for messages."""
        self._unmatched -= {
            pattern for pattern in self._unmatched if self._matches(case, pattern[1], pattern[2])
        }
        for kind, there in self._there.items():
            for value in values_of(case, kind):
                if len(there) <= _MOST_LISTED:
                    there[value] = None

    def _describe_values(self, kind: str, glob: str) -> str:
        if kind in RESULT_KINDS:
            chosen = plural(len(self._by_result.get(f"{kind}:{glob}", ())), "case")
            return f"{chosen} of run {glob} had such a result, and none of them is asked here"
        there = list(self._there[kind])
        if not there:
            return f"none of the cases has a {kind}"
        more = " and more" if len(there) > _MOST_LISTED else ""
        return f"there are: {', '.join(there[:_MOST_LISTED])}{more}"


def _group(kind: str) -> str:
    """The kind itself; all kinds of results are alternatives and have one."""
    return "result" if kind in RESULT_KINDS else kind
