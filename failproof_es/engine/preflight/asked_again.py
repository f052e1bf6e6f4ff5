"""Says how much a run asks whose cases were chosen by their results in another run."""

from __future__ import annotations

from collections.abc import Iterator

from failproof_es.configuration.loading import LoadedConfiguration
from failproof_es.problems import Problem
from failproof_es.support.plurals import plural


def asked_again(loaded: LoadedConfiguration, evaluations: int) -> Iterator[Problem]:
    """A remark with the number of `evaluations` beside that of the results that chose the cases.

    None with one model, or if no results chose. A case that one model failed is asked of all.
    """
    models = len(loaded.configuration.models)
    chose = [
        f"{pattern} is {plural(count, 'result')}"
        for pattern, count in loaded.results_by_pattern.items()
        if pattern in (loaded.configuration.selection.only or ())
    ]
    if chose and models > 1:
        which = "all" if models == loaded.of_models else "the chosen"
        yield Problem(
            "remark",
            f"{', '.join(chose)}; their cases are asked of {which} {models} models: "
            f"{plural(evaluations, 'evaluation')} "
            "(--model KEY asks one model, for its own results)",
            severity="remark",
        )
