"""Derives a label from T, I and F: in an ordered list of rules the first match decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from failproof_es.dialects.kit import cut_off, unusable
from failproof_es.dialects.shipped.promptguard.reply import NUMBERS, TruthVerdict
from failproof_es.support.class_words import TRANSLATED

_NO_VERDICT = ("error", "refusal", "parse_error", "empty", "unclassified", cut_off.CLASS)
RESERVED = {
    **dict.fromkeys((*_NO_VERDICT, *unusable.CLASSES), "is the class of a reply without a verdict"),
    **dict.fromkeys(TRANSLATED, "reads as a class of other dialects in tables and reports"),
}
"""Names that no label may have, each with the reason."""

Share = Annotated[float, Field(ge=0.0, le=1.0)]


class _DecisionModel(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Bounds(_DecisionModel):
    """The allowed range of a number, both ends included."""

    at_least: Share = 0.0
    at_most: Share = 1.0

    def hold(self, number: float) -> bool:
        """Whether the number is in the range."""
        return self.at_least <= number <= self.at_most


class Rule(_DecisionModel):
    """A label, and the ranges of truth, indeterminacy and falsehood (T, I, F) for it.

    A number without a range may be anything.
    """

    label: Annotated[str, Field(min_length=1, max_length=100)]
    T: Bounds | None = None
    I: Bounds | None = None  # noqa: E741 - the specification's name
    F: Bounds | None = None

    @property
    def always_holds(self) -> bool:
        """Whether every verdict meets the rule."""
        return all(bounds in (None, Bounds()) for bounds in (self.T, self.I, self.F))

    def holds(self, verdict: TruthVerdict) -> bool:
        """Whether the verdict is in every range."""
        bounds: tuple[Bounds | None, ...] = (self.T, self.I, self.F)
        pairs = zip(bounds, verdict.numbers, strict=True)
        return all(bound is None or bound.hold(number) for bound, number in pairs)

    def as_json(self) -> dict[str, Any]:
        """The rule as JSON, as in a stored case and a configuration."""
        return self.model_dump(mode="json", exclude_none=True)


DEFAULT = (
    Rule(label="manipulative", F=Bounds(at_least=0.6)),
    Rule(label="borderline", I=Bounds(at_least=0.5)),
    Rule(label="reciprocal"),
)
"""High falsehood is manipulative, however clear it is; high indeterminacy is borderline."""


def decide(rules: Sequence[Rule], verdict: TruthVerdict) -> str:
    """The label of the first rule that holds.

    The last rule always holds in rules without `defects`.
    """
    return next(rule.label for rule in rules if rule.holds(verdict))


def defects(rules: Sequence[Rule]) -> list[tuple[str, str]]:
    """(field below `decision`, defect) for rules that decide nothing or are never reached.

    Empty for usable rules. The field is written as `[0].label`, and is empty for a defect of the
    whole list.
    """
    if not rules:
        return [("", "must hold at least one rule")]
    problems = [
        (f"[{index}].label", f"{rule.label!r} {RESERVED[rule.label]}")
        for index, rule in enumerate(rules)
        if rule.label in RESERVED
    ]
    problems += [
        (f"[{index}].{name}", "at_least is greater than at_most: no number is both")
        for index, rule in enumerate(rules)
        for name in NUMBERS
        if (bounds := getattr(rule, name)) is not None and bounds.at_least > bounds.at_most
    ]
    problems += [
        (f"[{index}]", "always holds: the rules after it are never reached")
        for index, rule in enumerate(rules[:-1])
        if rule.always_holds
    ]
    if not rules[-1].always_holds:
        problems.append((f"[{len(rules) - 1}]", "the last rule must hold a label and no bounds"))
    return problems
