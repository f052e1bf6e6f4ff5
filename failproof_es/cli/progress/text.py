"""The text of a run's progress: words and figures that are safe to show."""

from __future__ import annotations

import math

from failproof_es.cli.progress.model_progress import ModelProgressState, Pace, RateLimit
from failproof_es.cli.progress.state import Phase, ProgressState
from failproof_es.core.spend import spent_text
from failproof_es.support.percentages import percent
from failproof_es.support.untrusted_text import one_line, shortened

LONGEST_NAME = 60
_LONGEST_ERROR = 160

_ALWAYS = ("passed", "rate/s", "left")
_IF_ANY = ("unscored", "awaiting review", "cost", "answers")
_PHRASES = {"rate/s": "{}/s", "cost": "{}", "limit": "limit {}"}
"""The phrases of figures that do not stand before their names."""
_PHASES: dict[Phase, str] = {
    "planning": "checking cases and models",
    "validating": "validating the record",
    "sealing": "sealing the record",
}
"""The phases that have another name for people."""


def heading(state: ProgressState) -> str:
    """The run, its phase, its percentage and its times on one line: `run 3 smoke: ...`."""
    run = "new run" if state.run_number is None else f"run {state.run_number} {state.name}"
    phase = state.phase
    parts = [_PHASES.get(phase, phase)] if phase != "evaluating" else []
    if state.models:
        done = f"{state.finished:,} of {state.planned:,}"
        parts.append(f"{done} ({percent_done(state.finished, state.planned)})")
    parts.append(f"{duration(state.elapsed_s)} elapsed")
    if (ceiling := state.max_spend_usd) is not None:
        parts.append(f"spent {spent_text(state.total.spent, ceiling)}")
    if state.phase == "evaluating" and (seconds := state.seconds_left) is not None:
        parts.append(f"{duration(seconds)} left")
    return one_line(f"{run}: {', '.join(parts)}")


def percent_done(finished: int, planned: int) -> str:
    """The percentage as text, rounded down; `-` if `planned` is 0.

    It is `100 %` only if everything is done.
    """
    return f"{100 * finished // planned} %" if planned else "-"


def figures(state: ProgressState, *, verbose: bool = False) -> dict[str, dict[str, str]]:
    """The figures of each model by its key, each a text by name, the same names for all.

    Without `verbose` those that matter: what passed, the pace and the time left; and the others of
    `_IF_ANY` once a model has them. The pace is sampled, so call it once for each repaint.
    """
    models = {model.key: _facts(state, model) for model in list(state.models.values())}
    if verbose:
        return models
    shown = {
        name
        for cells in models.values()
        for name, value in cells.items()
        if name in _ALWAYS
        or (name in _IF_ANY and value not in ("-", "0"))
        or (name == "limit" and "held" in value)
    }
    return {key: {n: cells[n] for n in cells if n in shown} for key, cells in models.items()}


def phrases(cells: dict[str, str]) -> str:
    """A model's figures in one line: `109 passed, 30.1/s`; unknown ones are left out."""
    return ", ".join(
        _PHRASES.get(name, f"{{}} {name}").format(value)
        for name, value in cells.items()
        if value != "-"
    )


def _facts(state: ProgressState, model: ModelProgressState) -> dict[str, str]:
    """A model's figures as texts by name, in the order to show; `-` for an unknown one.

    Its pace is sampled, so call it once for each repaint.
    """
    pace = state.pace(model.key)
    group = model.group
    awaits = any(progress.group.awaiting for progress in list(state.models.values()))
    return {
        "passed": f"{group.passed:,}",
        "refused": f"{group.classes['refusal']:,}",
        "unscored": _unscored(model),
        "lost": f"{group.lost:,}",
        **({"awaiting review": f"{group.awaiting:,}"} if awaits else {}),
        "retries": f"{model.asking.retries:,}",
        "in flight": f"{len(model.in_flight):,}",
        "answers": _answers(model, pace),
        "rate/s": "-" if pace.per_second is None else f"{pace.per_second:.1f}",
        "cost": "-" if model.cost_usd is None else _cost(model),
        "left": "-" if pace.seconds_left is None else duration(pace.seconds_left),
        "limit": limit_text(state.rate_limit(model.key)),
    }


def _cost(model: ModelProgressState) -> str:
    least = "at least " if model.spent.possibly_charged else ""
    return f"{least}${model.cost_usd:.4f}"


def _answers(model: ModelProgressState, pace: Pace) -> str:
    """The number of answers, the judges' included, while evaluations end too seldom for a pace."""
    is_slow = pace.per_second is None and model.finished < model.planned
    return f"{model.asking.answers:,}" if is_slow else "-"


def _unscored(model: ModelProgressState) -> str:
    unscored, finished = model.group.missing, model.group.finished
    if not unscored:
        return "0"
    return f"{unscored:,} ({percent(unscored / finished)})"


def error_lines(state: ProgressState, limit: int) -> list[str]:
    """The latest error message, then the most frequent others, at most `limit`.

    Each has its count and model; the first begins with `waiting: ` while its server answers
    nothing. While the database is away, the first line says so instead. If there are more, a last
    line says how many. Empty without errors.
    """
    groups = state.errors.present_first(limit)
    lines = [
        f"{group.count:,}x {shortened(one_line(group.model), LONGEST_NAME)}: "
        f"{shortened(one_line(group.message), _LONGEST_ERROR)}"
        for group in groups
    ]
    if state.outage is not None and state.outage.is_away:
        lines.insert(0, "waiting: the database is away")
    elif state.errors.is_waiting and state.phase == "evaluating":
        lines[0] = f"waiting: {lines[0]}"
    if (more := state.errors.groups - len(groups)) > 0:
        lines.append(f"and {more:,} other {'kind' if more == 1 else 'kinds'} of error")
    return lines


def judges_line(state: ProgressState) -> str:
    """The changed limits of servers that only judges use, on one line; empty if there are none."""
    limits = state.judge_limits().items()
    return "; ".join(
        f"{shortened(one_line(k), LONGEST_NAME)}: limit {limit_text(v)}" for k, v in limits
    )


def limit_text(limit: RateLimit) -> str:
    """The allowed concurrent requests and the ceiling, `24/100`; `-` if there is no limit.

    While requests are held, also the rest of the `Retry-After`.
    """
    if limit.allowed is None:
        return "-"
    of = "" if limit.ceiling is None else f"/{limit.ceiling}"
    held = f", held {_brief(limit.held_s)}" if limit.held_until is not None else ""
    return f"{limit.allowed}{of}{held}"


def _brief(seconds: float) -> str:
    whole = math.ceil(seconds)
    return f"{whole} s" if whole < 60 else duration(whole)


def duration(seconds: float) -> str:
    """Seconds as text for people, `[H:]MM:SS`: `0:07`, `12:30`, `3:05:00`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
