"""The block of the system message that gives a case's sources to the model.

Sources are untrusted text: they are inserted unaltered, in one pass, and enclosed by a delimiter
that none of them can contain.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

from failproof_es.core.case import Turn
from failproof_es.dialects.kit import templates
from failproof_es.dialects.kit.templates import delimiter, fill
from failproof_es.dialects.shipped.redteam.files.red_team_case import RedTeamSource

BLOCK_NAMES = ("sources", "delimiter", "first_id")
SOURCE_NAMES = ("source_id", "title", "text", "delimiter")


shipped = cache(partial(templates.shipped, __package__))
"""Returns a shipped template: `sources` for the block, `source` for each source in it."""


def block(sources: Sequence[RedTeamSource], template: str, source_template: str) -> str:
    """The text that gives the sources to the model. Deterministic.

    `template` is the text around all sources, `source_template` is filled in for each. At least one
    source is needed.
    """
    texts = (text for source in sources for text in (source.source_id, source.title, source.text))
    mark = delimiter(*texts)
    source_texts = (
        fill(source_template, {**source.model_dump(), "delimiter": mark}) for source in sources
    )
    values = {
        "sources": "\n\n".join(source_texts),
        "delimiter": mark,
        "first_id": sources[0].source_id,
    }
    return fill(template, values)


def with_block(turns: Sequence[Turn], text: str) -> tuple[Turn, ...]:
    """The turns with `text` at the end of the first system turn, or as a new first turn.

    One system message and not two, because many servers and chat templates accept no second one.
    `turns` must not be empty.
    """
    if turns[0].role == "system":
        first = Turn(role="system", content=f"{turns[0].content}\n\n{text}")
        return (first, *turns[1:])
    return (Turn(role="system", content=text), *turns)
