"""Replies that no dialect grades: one rule for all of them (`core.transcript.unusable_reply`).

A reply that the provider withheld, that broke off, or that ended in an unknown way shows nothing
about the model. Its class is `withheld`, `broken` or `unknown`, before any other but `error`; it is
no refusal by the model, and the evaluation ends without a score.
"""

from __future__ import annotations

from typing import Any

from failproof_es.core.evaluation import (
    Classification,
    Failure,
    ModelReply,
    Transcript,
    unusable_reply,
)
from failproof_es.dialects.kit import cut_off

CLASSES = ("withheld", "broken", "unknown")


def seen(reply: ModelReply) -> dict[str, Any]:
    """The details of every class of a reply: its finish reason and its length."""
    return {"finish_reason": reply.finish_reason, "characters": len(reply.text)}


def ungraded_class(transcript: Transcript) -> tuple[str, dict[str, Any]] | None:
    """Class and details of a transcript that failed or has an unusable reply; else `None`."""
    if (failure := transcript.failure) is not None:
        return "error", {"rule": "failure", "kind": failure.kind, "message": failure.message}
    if (ended := unusable_class(transcript)) is None:
        return None
    return ended[0], {**ended[1], **seen(transcript.replies[-1])}


def unusable_class(transcript: Transcript) -> tuple[str, dict[str, Any]] | None:
    """Class and details (`rule`, `message`) of the first unusable reply.

    `None` if there is none.
    """
    unusable = unusable_reply(transcript.replies)
    if unusable is None:
        return None
    failure = unusable.failure
    return unusable.primary, {"rule": failure.kind, "message": failure.message}


def unscored(classification: Classification) -> Failure | None:
    """Why an evaluation has no score whose reply could not be used (`CLASSES`) or was cut off.

    `None` for any other class.
    """
    details = classification.details
    if classification.primary == cut_off.CLASS:
        return Failure(cut_off.CLASS, str(details.get("message", cut_off.MESSAGE)))
    if classification.primary not in CLASSES:
        return None
    return Failure(str(details["rule"]), str(details["message"]))
