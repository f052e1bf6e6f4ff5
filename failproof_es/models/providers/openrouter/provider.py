"""OpenRouter over HTTP."""

from __future__ import annotations

from failproof_es.models.http_reply import AnswerStream, HttpReply, InvalidReply, document_of
from failproof_es.models.protocol import Answer, ModelError
from failproof_es.models.providers.openai.provider import OpenAIProvider
from failproof_es.models.replies.openai_family import message_of, withheld_answer

_BLOCKED = ("content_policy_violation", "refusal")
"""The types of errors that mean a withheld answer."""


class OpenRouterProvider(OpenAIProvider):
    """One model that OpenRouter serves. OpenRouter reports blocks by moderation as errors."""

    recorded_headers = (
        *OpenAIProvider.recorded_headers,
        *("x-generation-id", "x-openrouter-"),
    )

    @staticmethod
    def read(reply: HttpReply, stream: AnswerStream | None) -> Answer:
        """The answer in a complete reply. Raises `ModelError` if the reply holds none.

        `stream` is the assembler of a streamed reply, fed with the whole body, or `None`. A block
        by moderation is an answer that was withheld.
        """
        try:
            return OpenAIProvider.read(reply, stream)
        except ModelError as error:
            if error.status in (400, 403) and (refusal := _block_message(reply.body)) is not None:
                return withheld_answer(reply, refusal)
            raise


def _block_message(body: bytes) -> str | None:
    """The message of an error that reports a block by moderation; `None` for any other body."""
    try:
        document = document_of(body)
    except InvalidReply:
        return None
    error = document.get("error") if isinstance(document, dict) else None
    metadata = error.get("metadata") if isinstance(error, dict) else None
    if not isinstance(metadata, dict):
        return None
    flagged = "reasons" in metadata or metadata.get("error_type") in _BLOCKED
    return (message_of(error) or "") if flagged else None
