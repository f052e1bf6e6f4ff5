"""The chosen part of the cases and of the models that a configuration names."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, Any

from pydantic import Field

from failproof_es.configuration.section import Section
from failproof_es.core.selection import RESULT_KINDS

_LARGEST = 2**63 - 1
_Pattern = Annotated[str, Field(min_length=1, examples=["id:login-*", "tag:smoke", "failed:3"])]


RunReference = Annotated[int, Field(ge=1)] | Annotated[str, Field(min_length=1)]
PROMPT = "{prompt}"
"""The placeholder for the text of a case in a template."""
MOST_VARIANTS = 10_000
"""The largest `matrix.most`."""
USUAL_VARIANTS = 64
"""`matrix.most` unless given."""
KINDS = ("id", "tag", "suite")
"""Kinds of values that a pattern can match: it begins with one of these and a colon."""


def parse_pattern(pattern: str) -> tuple[str, str] | None:
    """Kind and glob of a pattern such as `tag:smoke*`, kind and run of one such as `failed:3`.

    `None` if it is no pattern.
    """
    kind, colon, glob = pattern.partition(":")
    return (kind, glob) if colon and glob and kind in (*KINDS, *RESULT_KINDS) else None


def fits(value: str, glob: str) -> bool:
    """Whether the value equals or matches the glob; case-sensitive on every platform."""
    return value == glob or fnmatchcase(value, glob)


class SelectionSection(Section):
    """A part of what the configuration names. The run records which part, and of how much.

    First `only` and `exclude` choose, then `limit` or `sample`. A pattern begins with `id:`,
    `tag:` or `suite:`; `*`, `?` and `[abc]` stand for others, and letter case counts. A value that
    is written whole always fits. `failed:3` means the cases that any model failed in run 3, as
    `results 3 --failed` prints them; likewise `errors:3` and `unscored:3`. With `models` it means
    those that one of these models failed, if run 3 asked any of them.
    """

    limit: Annotated[int | None, Field(ge=1, le=_LARGEST)] = None
    """Number of first cases to ask, in the order of the plan."""
    sample: Annotated[int | None, Field(ge=1, le=1_000_000)] = None
    """Size of a sample of cases, drawn by a hash of the seed, the suite and the case's id: the same
    on every machine, whatever the order of files."""
    seed: Annotated[int | None, Field(ge=0, le=_LARGEST)] = None
    """The seed of the sample; 0 unless given."""
    only: Annotated[list[_Pattern] | None, Field(min_length=1)] = None
    """Patterns that a case must match: for each kind of patterns that is given (`id:`, `tag:`,
    `suite:`, a run), at least one."""
    exclude: Annotated[list[_Pattern] | None, Field(min_length=1)] = None
    """Patterns of cases that are left out."""
    models: Annotated[list[Annotated[str, Field(min_length=1)]] | None, Field(min_length=1)] = None
    """The keys of the models to ask, or patterns of them."""


class PromptTemplate(Section):
    """The text put around every case before it is sent to a model."""

    system: Annotated[str | None, Field(min_length=1)] = None
    """A system message before all others; a case's own follows it in the same message."""
    user: Annotated[str, Field(min_length=1, examples=["{prompt}\n\nThink step by step."])] = PROMPT
    """The text of each of the user's turns: `{prompt}` is replaced by the case's text."""


class Matrix(Section):
    """Variants of every model: each prompt template with each combination of the parameters.

    The key of a variant is that of its model, `@`, and what makes it different, such as
    `gpt-4o-mini@terse,temperature=0.7`.
    """

    prompts: Annotated[dict[str, PromptTemplate] | None, Field(min_length=1)] = None
    """Prompt templates by name; `{}` is one that changes nothing."""
    parameters: Annotated[
        dict[str, Annotated[list[Any], Field(min_length=1)]] | None,
        Field(min_length=1, examples=[{"temperature": [0.0, 0.7]}]),
    ] = None
    """The values of each parameter: `temperature`, `max_tokens`, `seed`, `stream`, or any that the
    provider has."""
    most: Annotated[int, Field(ge=1, le=MOST_VARIANTS)] = USUAL_VARIANTS
    """The most variants that all models may make together; more are an error."""


class ReuseSection(Section):
    """Recorded answers that are not asked for again. The run shows what it carried over.

    An evaluation is carried over as a whole, the judges' answers with it. It must have a score, and
    each of its requests must be what this run would send: the same bytes, place, model, provider
    and parameters. The case and the model's key must be the same, too.
    """

    from_run: RunReference | None = None
    """The run whose answers are reused, by its number or id; none unless given."""
