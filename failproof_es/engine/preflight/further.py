"""Checks the sound part of a configuration with problems, so that one round reports them all."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

from failproof_es.configuration.choices import parse_pattern
from failproof_es.configuration.loading import LoadedConfiguration
from failproof_es.configuration.rules import without_broken_fields
from failproof_es.configuration.schema import Model
from failproof_es.configuration.usable_part import is_about, is_within
from failproof_es.configuration.yaml_tree import FROM_SETTING
from failproof_es.core.selection import result_pattern
from failproof_es.engine.drive.targets import Targets
from failproof_es.engine.preflight.checks import check
from failproof_es.models.trust.permissions import granted_for
from failproof_es.problems import InvalidInput, Problem
from failproof_es.store.store import LendsConnections

_CAUSES = {"no-judge": "judge", "price-unknown": "prices"}
"""By code of a problem, how the field begins that it may follow from."""
logger = logging.getLogger(__name__)


def sound_part(loaded: LoadedConfiguration, left_out: Sequence[str]) -> LoadedConfiguration:
    """The configuration without what breaks a rule in models, judges, patterns and prompts.

    `left_out` are the fields where a stand-in is: a model in one of them is left out, too.
    """

    def sound(models: Iterable[Model | None]) -> list[Model]:
        entries = [
            model
            for model in models
            if model and not any(is_within(model.place.entry or "", place) for place in left_out)
        ]
        return [model for model in map(without_broken_fields, entries) if model is not None]

    configuration = loaded.configuration
    selection, prompts = configuration.selection, configuration.prompts
    unused = "collection" if prompts.source == "file" else "path"
    changed = {
        "prompts": prompts.model_copy(update={unused: None}),
        "models": sound(configuration.models),
        "judge": next(iter(sound([configuration.judge])), None),
        "judges": sound(configuration.judges or ()) or None,
        "selection": selection.model_copy(
            update={
                "only": [p for p in selection.only or () if parse_pattern(p)] or None,
                "exclude": [p for p in selection.exclude or () if parse_pattern(p)] or None,
            }
        ),
    }
    return replace(loaded, configuration=configuration.model_copy(update=changed))


def without_result_patterns(loaded: LoadedConfiguration) -> LoadedConfiguration:
    """The configuration without patterns that name the results of a run, such as `failed:3`."""
    selection = loaded.configuration.selection
    changed = {
        name: [pattern for pattern in patterns or () if not result_pattern(pattern)] or None
        for name, patterns in (("only", selection.only), ("exclude", selection.exclude))
    }
    selection = selection.model_copy(update=changed)
    configuration = loaded.configuration.model_copy(update={"selection": selection})
    return replace(loaded, configuration=configuration)


async def further_problems(
    loaded: LoadedConfiguration, store: LendsConnections, places: Sequence[str]
) -> list[Problem]:
    """The problems that `check` finds in a sound part, unless they may follow from what is wrong.

    `places` are the fields with problems. Nothing is sent and no class runs.
    """
    try:
        targets = Targets(loaded.configuration, granted_for(loaded.configuration))
        try:
            await check(loaded, store, targets, offline=True, run_classes=False)
        finally:
            await targets.close()
    except InvalidInput as error:
        return [problem for problem in error.problems if not _may_follow(problem, loaded, places)]
    except Exception:  # a check may rely on what is wrong
        logger.debug("a check of the sound part failed", exc_info=True)
    return []


def _may_follow(problem: Problem, loaded: LoadedConfiguration, places: Sequence[str]) -> bool:
    """Whether a problem may follow from what is wrong at the places."""
    in_cases = problem.path not in (None, loaded.path, FROM_SETTING)
    field = "" if in_cases else problem.field or ""
    if not field or field.startswith(("prompts.filters", "selection.")):
        return any(
            place.startswith("prompts") and not place.startswith("prompts.filters")
            for place in places
        ) or is_about(field, places)
    cause = _CAUSES.get(problem.code)
    return is_about(field, places) or any(cause and place.startswith(cause) for place in places)
