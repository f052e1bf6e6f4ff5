"""`run_results`: every evaluation, every run, and the counts of each run.

`failproof_es.core.outcome` and `failproof_es.core.summary` compute the rows from events; this
module stores them. A change of the content of rows must increase `version`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString
from uuid import UUID

from psycopg import sql

from failproof_es.events import EVENTS
from projections.protocol import Cursor, Fact, Relation, sql_file
from projections.results.batch_runs import PLANNING
from projections.results.outcome_rows import comments_on, evaluations_table


class RunResults:
    """The rows of everything that is shown of runs; `RowReader` reads them."""

    name: LiteralString = "run_results"
    version: int = 16
    relations: tuple[Relation, ...] = (
        Relation("TABLE", "prompts"),
        Relation("TABLE", "evaluations"),
        Relation("VIEW", "run_results"),
        Relation("TABLE", "runs"),
        Relation("TABLE", "planned_cases"),
        Relation("TABLE", "unplaced_events"),
        Relation("TABLE", "run_groups"),
        Relation("TABLE", "run_classes"),
        Relation("TABLE", "run_asking"),
        Relation("TABLE", "token_usage"),
        Relation("TABLE", "run_errors"),
        Relation("TABLE", "run_unscored"),
        Relation("TABLE", "run_latencies"),
        Relation("TABLE", "run_clusters"),
        Relation("VIEW", "progress"),
        Relation("VIEW", "cost"),
        Relation("VIEW", "run_result_documents"),
    )
    topics: frozenset[str] = frozenset(EVENTS)
    takes_damaged = True
    in_shares = True

    def ddl(self) -> LiteralString:
        """The SQL that creates the tables and views, with the comments on their columns."""
        files = [sql_file(name) for name in ("run_results", "run_counts", "run_result_documents")]
        statements = [evaluations_table(), *files, comments_on("run_results")]
        return "".join(statements)

    def apply(self, cursor: Cursor, facts: Sequence[Fact]) -> None:
        """Fold the streams that the batch touches, and update the counters by the difference."""
        from projections.results.batch_update import apply_batch  # readers need not load it

        apply_batch(cursor, facts)

    keeps_own_stream = False

    def forget_run(self, cursor: Cursor, run_id: UUID) -> None:
        """Remove all rows of the run but its cases, which other runs may share."""
        for relation in self.relations:
            if relation.kind == "TABLE" and relation.name != "prompts":
                statement = sql.SQL("DELETE FROM {} WHERE run_id = %s")
                cursor.execute(statement.format(sql.Identifier(relation.name)), (run_id,))

    def settle(self, cursor: Cursor, position: int) -> None:
        """Mark the runs whose streams contradict each other, after a rebuild in shares.

        `position` is the one up to which the log was applied.
        """
        planning = [kind.__name__ for kind in PLANNING]
        cursor.execute(sql_file("run_results_settle"), {"planning": planning, "position": position})
