"""Replies that no dialect grades: one rule for all of them (`core.transcript.unusable_reply`).

A reply that the provider withheld, that broke off, or that ended in an unknown way shows nothing
about the model. Its class is `withheld`, `broken` or `unknown`, before any other but `error`; it is
no refusal by the model, and the evaluation ends without a score.
"""

from __future__ import annotations

from typing import Any

from failproof_es.core.evaluation import Classification, Failure, Transcript, unusable_reply

CLASSES = ("withheld", "broken", "unknown")


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
    """Why an evaluation whose reply could not be used (`CLASSES`) has no score; else `None`."""
    if classification.primary not in CLASSES:
        return None
    details = classification.details
    return Failure(str(details["rule"]), str(details["message"]))
