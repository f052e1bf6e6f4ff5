"""Asks the user before a secret goes where it does not belong; without a terminal, refuses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence

import click

from failproof_es.cli.rendering.output import say
from failproof_es.cli.rendering.sanitise import one_line
from failproof_es.configuration.loading import configuration_from_resolved
from failproof_es.core.run import Run
from failproof_es.models.trust.permissions import (
    ClassDemand,
    Demand,
    Permissions,
    demands_of,
    granted_for,
    problem_of,
    with_own_servers,
)
from failproof_es.models.trust.remembered import (
    file_of_permissions,
    permissions_here,
    remember,
)
from failproof_es.problems import InvalidInput, Problem


def permitted(
    demands: Iterable[Demand | ClassDemand],
    allow: Sequence[str],
    allow_class: Sequence[str] = (),
    *,
    own: bool,
    also: Permissions = Permissions(),  # noqa: B008 - it is frozen
    placed: Callable[[Problem], Problem] = lambda problem: problem,
) -> Permissions:
    """What a configuration with these demands may do here: by the options, the user's file, and the
    user's answers; `also` is permitted already.

    `own`: the user names the configuration, so its own variables go to its servers. Asks once for
    each secret and host that is missing, and remembers a yes. Raises `InvalidInput` with every
    option to give where there is no terminal or the answer is no.
    """
    here = permissions_here(allow, allow_class, own=own)
    permissions = here.and_also(also.pairs, also.classes)
    refused = []
    for demand in permissions.missing(demands):
        if _at_a_terminal() and _says_yes(demand, placed):
            permissions = _with_answer(permissions, demand)
        else:
            refused.append(placed(problem_of(demand)))
    if refused:
        raise InvalidInput(refused)
    return permissions


def not_permitted(
    demands: Iterable[Demand | ClassDemand],
    allow: Sequence[str],
    *,
    own: bool,
    placed: Callable[[Problem], Problem],
) -> list[Problem]:
    """What `permitted` would ask about or refuse. Nobody is asked."""
    missing = permissions_here(allow, own=own).missing(demands)
    return [placed(problem_of(demand)) for demand in missing]


def permitted_again(
    run: Run,
    settings: Sequence[str],
    allow: Sequence[str],
    allow_class: Sequence[str],
    *,
    branching: bool,
) -> tuple[Permissions, Permissions]:
    """The same for a recorded run, whose configuration anybody may have written who could write to
    the log; and what of it processes that drive it are granted.

    A server that `settings` name is the user's own. A run that cannot be resumed is permitted
    nothing: whoever resumes it says why. Raises `InvalidInput` as `permitted` does.
    """
    from failproof_es.engine.branching import configured_again

    try:
        resolved, changed = configured_again(run, settings)
        configuration = configuration_from_resolved(resolved)
    except InvalidInput:
        return Permissions(), Permissions()
    granted = granted_for(configuration)
    if run.ended and not branching:  # nothing more is asked
        return granted, granted
    also = with_own_servers(Permissions(), configuration, changed)
    permissions = permitted(demands_of(configuration), allow, allow_class, own=False, also=also)
    return permissions, granted


def _with_answer(permissions: Permissions, demand: Demand | ClassDemand) -> Permissions:
    try:
        remember(demand)
        say(f"remembered in {file_of_permissions()}")
    except OSError as error:
        say(f"warning: the answer is not remembered: {error}")
    if isinstance(demand, ClassDemand):
        return permissions.and_also(classes=[demand.class_name])
    return permissions.and_also(pairs=[demand.pair])


def _says_yes(demand: Demand | ClassDemand, placed: Callable[[Problem], Problem]) -> bool:
    place = placed(Problem("", field=demand.field))
    where = ":".join(str(part) for part in (place.path, place.line) if part is not None)
    question = one_line(f"{where or demand.field}: {demand.reason}. Allow it, now and later?")
    return click.confirm(question, default=False, err=True)


def _at_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
