"""Asks the user before a secret goes to an unexpected host; without a terminal, refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import click

from failproof_es.cli.app.process import at_a_terminal
from failproof_es.cli.rendering.output import say
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
from failproof_es.support.untrusted_text import one_line


def permitted(
    demands: Iterable[Demand | ClassDemand],
    allow: Sequence[str],
    allow_class: Sequence[str] = (),
    *,
    own: bool,
    also: Permissions = Permissions(),  # noqa: B008 - it is frozen
    placed: Callable[[Problem], Problem] = lambda problem: problem,
) -> Permissions:
    """The permissions of a configuration with these demands, after asking for missing ones.

    They come from the options `allow` and `allow_class`, the user's file, the user's answers and
    `also`. `own`: the user names the configuration, so its own variables go to its servers. Asks
    once for each missing demand, and remembers a yes. `placed` adds the place in a file to a
    problem. Raises `InvalidInput` with every option to give, without a terminal or after a no.
    """
    here = permissions_here(allow, allow_class, own=own)
    permissions = here.and_also(also.pairs, also.classes)
    refused = []
    for demand in permissions.missing(demands):
        if at_a_terminal() and _confirm(demand, placed):
            permissions = _remember_answer(permissions, demand)
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
    """The problems with demands that `permitted` would ask about or refuse; asks nobody.

    The parameters are those of `permitted`. Empty if everything is permitted.
    """
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
    """The permissions for a recorded run, and those that processes driving it are granted.

    `settings`, `allow` and `allow_class` are the options of `resume`; `branching`: a new run is
    planned from this one. Anybody who can write to the log may have written its configuration; only
    a server that `settings` name is the user's own. A run that cannot be resumed is permitted
    nothing: resuming it reports why. Raises `InvalidInput` as `permitted` does.
    """
    from failproof_es.engine.branching import configured_again

    try:
        resolved, changed = configured_again(run, settings)
        configuration = configuration_from_resolved(resolved)
    except InvalidInput:
        return Permissions(), Permissions()
    granted = granted_for(configuration)
    if run.ended and not branching:  # nothing more is sent
        return granted, granted
    also = with_own_servers(Permissions(), configuration, changed)
    permissions = permitted(demands_of(configuration), allow, allow_class, own=False, also=also)
    return permissions, granted


def _remember_answer(permissions: Permissions, demand: Demand | ClassDemand) -> Permissions:
    try:
        remember(demand)
        say(f"remembered in {file_of_permissions()}")
    except OSError as error:
        say(f"warning: the answer is not remembered: {error}")
    if isinstance(demand, ClassDemand):
        return permissions.and_also(classes=[demand.class_name])
    return permissions.and_also(pairs=[demand.pair])


def _confirm(demand: Demand | ClassDemand, placed: Callable[[Problem], Problem]) -> bool:
    place = placed(problem_of(demand))
    where = ":".join(str(part) for part in (place.path, place.line) if part is not None)
    question = one_line(f"{where or demand.field}: {demand.reason}. Allow it, now and later?")
    return click.confirm(question, default=False, err=True)
