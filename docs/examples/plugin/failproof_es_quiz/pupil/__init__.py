"""The provider `pupil`: what there is one of, whatever a run asks of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import orjson

from failproof_es.case import Turn
from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.provider_type import Capabilities

if TYPE_CHECKING:
    from failproof_es_quiz.pupil.provider import Pupil


class PupilType(HttpProviderType):
    """A server that answers whole, and takes no tools, schemas or seeds."""

    name = "pupil"
    needs = frozenset({"base_url", "api_key_env"})
    capabilities = Capabilities(tools=False, schema=False, streaming=False, seed=False)
    reserved = frozenset({"pupil", "lines", "most_tokens", "temperature"})

    def implementation(self) -> type[Pupil]:
        """Who asks. Imported when something is asked, and not before."""
        from failproof_es_quiz.pupil.provider import Pupil

        return Pupil

    def request_is_complete(self, body: bytes, messages: Sequence[Turn]) -> bool:
        """Whether a recorded request holds every message. Asked when a run has ended."""
        try:
            lines = orjson.loads(body)["lines"]
        except (ValueError, LookupError, TypeError):
            return False
        return bool(lines == [[turn.role, turn.content] for turn in messages])


PROVIDER = PupilType()
