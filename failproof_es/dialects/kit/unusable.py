"""Replies that no dialect grades: one rule for all of them (`core.transcript.unusable_reply`).

What the provider withheld, what was broken off and what ended nobody knows how says nothing of the
model. Its class is `withheld`, `broken` or `unknown` before any other but `error`, it is no refusal
of the model's, and the evaluation ends without a score.
"""

from __future__ import annotations

from typing import Any

from failproof_es.core.evaluation import Classification, Failure, Transcript, unusable_reply

CLASSES = ("withheld", "broken", "unknown")


def unusable_class(transcript: Transcript) -> tuple[str, dict[str, Any]] | None:
    """The class of the first such reply with its details; `None` where there is none."""
    unusable = unusable_reply(transcript.replies)
    if unusable is None:
        return None
    failure = unusable.failure
    return unusable.primary, {"rule": failure.kind, "message": failure.message}


def unscored(classification: Classification) -> Failure | None:
    """Why an evaluation of such a class has no score; `None` for any other class."""
    if classification.primary not in CLASSES:
        return None
    details = classification.details
    return Failure(str(details["rule"]), str(details["message"]))
