"""Pipelines that are known to do what a shorter one does."""

from __future__ import annotations

from failproof_es.shell_analysis.equivalence.words import Form

_SAME_ORDER_AS_SORT_UNIQUE = {"-r"}


def simplified(stages: tuple[Form, ...]) -> Form:
    """The form of a pipeline: `sort | uniq` is `sort -u` where lines are compared whole.

    Not so with a file for `sort`: where it can't be read, only `sort -u` fails.
    """
    kept: list[Form] = []
    for stage in stages:
        merged = _sort_unique(kept[-1], stage) if kept else None
        if merged is None:
            kept.append(stage)
        else:
            kept[-1] = merged
    return kept[0] if len(kept) == 1 else ("pipe", *kept)


def _sort_unique(first: Form, second: Form) -> Form | None:
    match first, second:
        case (
            ("call", "sort", tuple(options), (), protected),
            ("call", "uniq", (), (), _),
        ) if {name for name, _ in options} <= _SAME_ORDER_AS_SORT_UNIQUE:
            return ("call", "sort", (*options, ("-u", None)), (), protected)
    return None
