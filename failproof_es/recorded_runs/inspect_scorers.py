"""Maps Inspect's scorers to checks that decide in the same way, and its scores to verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from failproof_es.recorded_runs.json_values import list_of, object_of
from failproof_es.recorded_runs.plain import digest_of, plain_value
from failproof_es.recorded_runs.records import Remainder

_LOCATIONS = {"begin": "starts_with", "end": "ends_with", "any": "contains", "exact": "equals"}

Checks = Callable[[Sequence[str]], list[dict[str, Any]]]
"""A function from a case's targets to its checks."""


def scorers_of(header: Mapping[str, Any]) -> list[Any]:
    """The scorers of a log; those of an older log, which names them with its results only."""
    scorers = list_of(object_of(header.get("eval")).get("scorers"))
    if scorers:
        return scorers
    scores = map(object_of, list_of(object_of(header.get("results")).get("scores")))
    by_result = [
        {"name": score.get("scorer") or score.get("name"), "options": score.get("params")}
        for score in scores
    ]
    once = {digest_of(plain_value(scorer, Remainder(), "")): scorer for scorer in by_result}
    return list(once.values())


def checks_of(scorers: Any, remainder: Remainder) -> Checks:
    """A function from a case's targets to its checks.

    It makes a check of the dialect `checks` for each of the log's `scorers` that decides in the
    same way. Other scorers are listed in `remainder`.
    """
    made = []
    for scorer in map(object_of, list_of(scorers)):
        name = str(scorer.get("name")).removeprefix("inspect_ai/")
        options = object_of(scorer.get("options"))
        check = _map_scorer(name, options)
        if check is None:
            reason = "no check here decides alike: its verdict is kept as the source's"
            remainder.add(f"the scorer {name}", reason, "eval.scorers")
        else:
            made.append(check)

    if len(made) > 1:
        reason = "each has a verdict there; here an answer passes if all of these hold"
        remainder.add("several scorers that decide alike", reason, "eval.scorers")

    def checks(targets: Sequence[str]) -> list[dict[str, Any]]:
        return [{**check, "values": list(targets)} for check in made] if any(targets) else []

    return checks


def passed_by(scores: Mapping[str, Any]) -> bool | None:
    """Whether the source's only score means correct: `C` or 1, as opposed to `I` or 0.

    `None` for other values, and for several scores.
    """
    if len(scores) != 1:
        return None
    value = object_of(next(iter(scores.values()))).get("value")
    if value in ("C", "I") and isinstance(value, str):
        return value == "C"
    return bool(value) if isinstance(value, int | float) and value in (0, 1) else None


def _map_scorer(name: str, options: Mapping[str, Any]) -> dict[str, Any] | None:
    ignore_case = options.get("ignore_case", True)
    if not isinstance(ignore_case, bool):
        return None
    case = {"ignore_case": True} if ignore_case else {}
    if name == "includes":
        return {"kind": "contains", **case}
    kind = _LOCATIONS.get(str(options.get("location", "end")))
    if name != "match" or options.get("numeric", False) is not False or kind is None:
        return None
    return {"kind": kind, **case, "trim": True, "ignore_punctuation": True}
