"""What is said of a run beside its name, because its counts do not tell it."""

from __future__ import annotations

from failproof_es.core.run import Run, describe_branch, describe_selection
from failproof_es.engine.history import Connection
from failproof_es.engine.related_runs.asked_again import chosen_by_result
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.support.plurals import plural


def remarks_on(run: RecordedRun) -> tuple[str, ...]:
    """Whether another tool recorded it, which part it asked, what it carries over from where."""
    told = [run.run.imported_from, describe_selection(run.started)]
    if (branch := branch_of(run)) is not None:
        count = run.summary.asking().carried_over
        told.append(f"{branch}: {plural(count, 'evaluation')} carried over")
        told.append(inherited_choice(run.connection, run.run, carries=count > 0))
    return tuple(each for each in told if each is not None)


def inherited_choice(connection: Connection, run: Run, *, carries: bool) -> str | None:
    """That answers are carried over from a run that asked failures alone again; `branch_of` says
    it of the run's own branch.
    """
    branch = run.started.branched_from
    if branch is None or branch.again == "failed":
        return None
    return chosen_by_result(connection, run, carries=carries)


def branch_of(run: RecordedRun) -> str | None:
    """What it carries over from which run, in words; `None` of one that asks everything."""
    branch = run.started.branched_from
    if branch is None:
        return None
    source = RecordedRun.read(run.connection, branch.run_id).started
    return describe_branch(branch, source.run_number)
