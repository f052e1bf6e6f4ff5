"""Warns of parameters whose names are probably misspelt: any name is sent as it is."""

from __future__ import annotations

from collections.abc import Iterator

from failproof_es.configuration.schema import Configuration
from failproof_es.configuration.variants import OWN
from failproof_es.models.trust.permissions import models_of
from failproof_es.problems import Problem
from failproof_es.support.near_names import is_one_edit

_COMMON = (*sorted(OWN), "frequency_penalty", "presence_penalty")


def misspelt_parameters(configuration: Configuration) -> Iterator[Problem]:
    """A warning for each parameter that is one edit away from a common one. Vendors have others."""
    of_matrix = (configuration.matrix and configuration.matrix.parameters) or {}
    places = {
        f"matrix.parameters.{name}" if name in of_matrix else f"{field}.parameters.{name}": name
        for field, model in models_of(configuration)
        for name in model.parameters
    }
    for field, name in places.items():
        for common in _COMMON:
            if is_one_edit(name, common):
                yield Problem(
                    "unknown-field",
                    "is no common parameter, and is sent as it is",
                    field=field,
                    remedy=f"did you mean `{common}`?",
                    severity="warning",
                )
