"""The reliability of labels that several people gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence


def krippendorff_alpha(units: Iterable[Sequence[Hashable]]) -> float | None:
    """Krippendorff's alpha of nominal labels (K. Krippendorff, "Computing Krippendorff's
    Alpha-Reliability", 2011): 1 is agreement, 0 is chance.

    `units` has the labels of each unit, one by each person that labelled it. Units with one label
    do not count. `None` if all labels are of one kind, or no unit has two. The package
    `krippendorff` is under the GPL, and others with it need pandas.
    """
    labels: Counter[Hashable] = Counter()
    disagreement = 0.0
    for unit in units:
        count = len(unit)
        if count > 1:
            own = Counter(unit)
            labels += own
            agreeing = sum(number * (number - 1) for number in own.values())
            disagreement += (count * (count - 1) - agreeing) / (count - 1)
    total = labels.total()
    expected = total * (total - 1) - sum(number * (number - 1) for number in labels.values())
    return 1 - (total - 1) * disagreement / expected if expected else None
