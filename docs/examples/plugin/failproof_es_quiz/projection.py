"""The projection `quiz_choices`: how often each letter was chosen, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString

from failproof_es_quiz.dialect import CLASSIFIER
from projections.protocol import Cursor, Fact, Relation, sql_file

COUNT_CHOICE = sql_file("count_choice", "failproof_es_quiz")


class QuizChoices:
    """One row for each run, model and letter."""

    name: LiteralString = "quiz_choices"
    version = 1
    relations = (Relation("TABLE", "quiz_choices"),)
    topics = frozenset({"Classified"})

    def ddl(self) -> LiteralString:
        """The table, as `sql/quiz_choices.sql` says."""
        return sql_file("quiz_choices", "failproof_es_quiz")

    def apply(self, cursor: Cursor, facts: Sequence[Fact]) -> None:
        """Count the choices. Where one batch ends and the next begins makes no difference."""
        chosen = [
            (fact.run_id, fact.payload["model_key"], fact.payload["details"]["choice"])
            for fact in facts
            if fact.payload["classifier"] == CLASSIFIER and "choice" in fact.payload["details"]
        ]
        cursor.executemany(COUNT_CHOICE, chosen)
