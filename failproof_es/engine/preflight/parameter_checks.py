"""Warns of parameters whose names are probably misspelt: any name is sent as it is."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from failproof_es.configuration.schema import Configuration
from failproof_es.configuration.variants import OWN
from failproof_es.models.trust.permissions import models_of
from failproof_es.problems import Problem

_COMMON = (*sorted(OWN), "frequency_penalty", "presence_penalty")
_ALMOST = 0.85
"""Similarity from which on a name counts as misspelt: `max_new_tokens` and the like are below."""


def misspelt_parameters(configuration: Configuration) -> Iterator[Problem]:
    """A warning for each parameter with almost the name of a common one. Vendors have others."""
    of_matrix = (configuration.matrix and configuration.matrix.parameters) or {}
    places = {
        f"matrix.parameters.{name}" if name in of_matrix else f"{field}.parameters.{name}": name
        for field, model in models_of(configuration)
        for name in model.parameters
    }
    for field, name in places.items():
        near = [] if name in _COMMON else get_close_matches(name, _COMMON, n=1, cutoff=_ALMOST)
        for common in near:
            yield Problem(
                "unknown-field",
                "is no common parameter, and is sent as it is",
                field=field,
                remedy=f"did you mean `{common}`?",
                severity="warning",
            )
