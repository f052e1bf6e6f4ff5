"""Merges stages of pipelines that are equivalent to a shorter pipeline."""

from __future__ import annotations

from failproof_es.shell_analysis.equivalence.words import Form

_SAME_ORDER_AS_SORT_UNIQUE = {"-r"}


def merge_stages(stages: tuple[Form, ...]) -> Form:
    """The normal form of a pipeline, from those of its stages.

    `sort | uniq` becomes `sort -u` if whole lines are compared. A `sort` with a file stays: if the
    file can't be read, only `sort -u` fails.
    """
    merged_stages: list[Form] = []
    for stage in stages:
        merged = _merge_sort_uniq(merged_stages[-1], stage) if merged_stages else None
        if merged is None:
            merged_stages.append(stage)
        else:
            merged_stages[-1] = merged
    return merged_stages[0] if len(merged_stages) == 1 else ("pipe", *merged_stages)


def _merge_sort_uniq(first: Form, second: Form) -> Form | None:
    match first, second:
        case (
            ("call", "sort", tuple(options), (), protected),
            ("call", "uniq", (), (), _),
        ) if {name for name, _ in options} <= _SAME_ORDER_AS_SORT_UNIQUE:
            return ("call", "sort", (*options, ("-u", None)), (), protected)
    return None
