"""Mistral's chat completions over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar

from failproof_es.core.finish_reasons import common_word
from failproof_es.models.http_reply import AnswerStream, HttpReply, InvalidReply, document_of
from failproof_es.models.protocol import Answer, ModelError
from failproof_es.models.providers.openai.provider import OpenAIProvider


class MistralProvider(OpenAIProvider):
    """One model of Mistral. Its streams have token counts without `stream_options`."""

    seed_name = "random_seed"
    streaming: ClassVar[Mapping[str, Any]] = MappingProxyType({"stream": True})
    recorded_headers = (
        *OpenAIProvider.recorded_headers,
        *("mistral-correlation-id", "x-kong-request-id"),
    )

    @staticmethod
    def read(reply: HttpReply, stream: AnswerStream | None) -> Answer:
        """The answer in a complete reply. Raises `ModelError` if the reply holds none.

        `stream` is the assembler of a streamed reply, fed with the whole body, or `None`. The API
        reports an unknown model with status 400; it becomes the error `not_found`.
        """
        try:
            answer = OpenAIProvider.read(reply, stream)
        except ModelError as error:
            if error.status == 400 and _is_unknown_model(error.body or b""):
                error.kind, error.disposition = "not_found", "halting"
            raise
        reason = answer.finish_reason
        return answer if reason is None else replace(answer, finish_reason=common_word(reason))


def _is_unknown_model(body: bytes) -> bool:
    try:
        document = document_of(body)
    except InvalidReply:
        return False
    return isinstance(document, dict) and document.get("type") == "invalid_model"
