"""Replies that were cut off at max_tokens: one rule for all dialects.

A reply is cut off when its finish reason says so (`Reply.cut_off`: `length` and every other word
of that meaning in `core.finish_reasons`), whatever of it came.
What is missing could turn a match into a mismatch and back, and where a server cuts is no fault
of the model. So what a cut-off reply has not said whole is not graded: its class is `CLASS`
before any other but `error` and a reply that the provider withheld, and the evaluation ends
without a score, as `UNSCORED`. Only what the missing part cannot undo is graded all the same,
and each dialect says what that is: a verdict or a command that stands whole before the cut, a
forbidden thing that was done before it.
"""

from __future__ import annotations

from failproof_es.core.evaluation import Failure

CLASS = "truncated"
MESSAGE = "a reply was cut off at max_tokens: what is missing could decide otherwise"
UNSCORED = Failure(CLASS, MESSAGE)
