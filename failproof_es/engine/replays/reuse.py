"""Reuses recorded answers: which evaluations of another run a run may carry over.

An evaluation is carried over whole or not at all. It must have a score, of the same case by the
same model, and every request of it, the judges' too, must be what this run would send: the same
bytes to the same place, with the same parameters and headers. Its answers must give the same result
today.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from failproof_es.configuration.recorded import recorded_configuration
from failproof_es.core.case import Case
from failproof_es.core.evaluation import (
    Evaluation,
    EvaluationKey,
    Send,
    evolve,
    next_action,
)
from failproof_es.core.run import Run
from failproof_es.dialects import dialect_named
from failproof_es.engine.drive.grading.grader import Grader
from failproof_es.engine.drive.judging import judging_of
from failproof_es.engine.drive.retrying_reader import RetryingReader
from failproof_es.engine.drive.targets import Targets
from failproof_es.engine.history import UNREADABLE, Connection, read_run, stored_case
from failproof_es.engine.related_runs.carried_over import FinishedEvaluation, last_position
from failproof_es.engine.replays.rederiving import retries_made
from failproof_es.engine.replays.regrading import rederive_within_limits
from failproof_es.engine.requests import Requests
from failproof_es.events import Branch, Event, Judged, ModelSnapshot, RequestSent
from failproof_es.models import sent_parameters
from failproof_es.problems import InvalidInput, Problem
from failproof_es.store.reading.archives import require_attached
from failproof_es.store.reading.reader import portions, read_streams, resolve_run

_ELSEWHERE = frozenset({"base_url", "api_key_env"})
"""Settings that may differ: the key's variable, and the base URL, since each request records its
endpoint."""


def reuse_from(connection: Connection, run: int | str) -> Branch:
    """The branch from the run whose answers are reused, at the position of its last event.

    `run` is a number, an id, or another reference to a run. Raises `InvalidInput` if there is no
    such run, or if it is archived or imported.
    """
    try:
        run_id = resolve_run(connection, str(run))
        require_attached(connection, run_id)
        _require_requests(read_run(connection, run_id))
    except InvalidInput as error:
        problems = [
            Problem(e.code, e.message, field="reuse.from_run", remedy=e.remedy)
            for e in error.problems
        ]
        raise InvalidInput(problems) from None
    return Branch(run_id=run_id, position=last_position(connection, run_id), reuse=True)


def _require_requests(run: Run) -> None:
    """Raise `InvalidInput` if the run is imported: the requests for its answers are unknown."""
    if run.imported is not None:
        number = run.started.run_number
        raise InvalidInput.because(
            "run-imported",
            f"run {number} is {run.imported_from}: it has no requests to compare with",
            remedy=f"`failproof-es replay {number}` scores its answers again",
        )


@dataclass(frozen=True, slots=True)
class Reuse:
    """Decides which evaluations of another run this run carries over. Writes and sends nothing."""

    requests: Requests
    grader: Grader
    models: Mapping[str, ModelSnapshot]
    """This run's models and judges, by key."""
    recorded: Mapping[str, ModelSnapshot]
    """The other run's models and judges, by key."""

    @classmethod
    def of(
        cls,
        connection: Connection,
        branch: Branch,
        requests: Requests,
        grader: Grader,
        models: Sequence[ModelSnapshot],
    ) -> Reuse:
        """The `Reuse` for a run with these models and judges.

        `branch` names the other run, whose models are read from the log.
        """
        started = read_run(connection, branch.run_id).started
        recorded = {model.key: model for model in (*started.models, *started.judges)}
        return cls(requests, grader, {model.key: model for model in models}, recorded)

    def choose(
        self, connection: Connection, ended: Mapping[EvaluationKey, FinishedEvaluation]
    ) -> dict[EvaluationKey, FinishedEvaluation]:
        """The finished evaluations, of `ended`, whose answers this run can reuse.

        An evaluation without a score, or with a damaged record, is left out.
        """
        of_streams = {end.stream_id: key for key, end in ended.items() if not end.abandoned}
        carried: dict[EvaluationKey, FinishedEvaluation] = {}
        for portion in portions(connection, list(of_streams)):
            streams = read_streams(connection, portion)
            keys = [of_streams[stream] for stream in portion]
            prompts = read_streams(connection, list({key.prompt_id for key in keys}))
            for stream, key in zip(portion, keys, strict=True):
                try:
                    history = [row.event() for row in streams.get(stream, [])]
                    case = stored_case(prompts, key.prompt_id)
                    same = self.holds(key, case, history)
                except UNREADABLE:
                    same = False  # `verify` reports the damage; here the evaluation is asked again
                if same:
                    carried[key] = ended[key]
        return carried

    def holds(self, key: EvaluationKey, case: Case, history: Sequence[Event]) -> bool:
        """Whether this run would send the same requests for the evaluation and reach the same
        result. `history` are the evaluation's events in the other run. Raises `ImpossibleHistory`
        if the history cannot be true."""
        if not self._same_model(key.model_key):
            return False
        bound, state = retries_made(history), Evaluation()
        for event in history:
            if isinstance(event, Judged) and event.judge not in self.grader.judging.judges:
                return False  # a verdict from outside was given for that run
            if isinstance(event, RequestSent) and not self._would_send(
                key, case, state, bound, event
            ):
                return False
            state = evolve(state, event)
        if state.score is None:
            return False
        again = rederive_within_limits(self.grader, case, history, retry_attempts=bound)
        return not again.disagreements

    def _would_send(
        self, key: EvaluationKey, case: Case, state: Evaluation, bound: int, sent: RequestSent
    ) -> bool:
        action = next_action(
            state, case, self.requests.dialect, retry_attempts=bound, judging=self.grader.judging
        )
        if not isinstance(action, Send) or (action.purpose, action.judge) != (
            sent.purpose, sent.judge,
        ):  # fmt: skip
            return False
        if action.judge is not None and not self._same_model(action.judge):
            return False
        target = self.requests.target(key.model_key, action)
        if target is None:
            return False
        request = self.requests.prepare(state, case, action, target)
        return (
            hashlib.sha256(request.body).hexdigest() == sent.body_sha256
            and request.endpoint == sent.endpoint
            and request.tools == sent.tools
            and target.model.model == sent.model
            and sent_parameters(target.model) == sent.parameters
        )

    def _same_model(self, key: str) -> bool:
        """Whether the model of this key is the same in both runs, apart from its connection."""
        mine, theirs = self.models.get(key), self.recorded.get(key)
        return mine is not None and theirs is not None and _identity(mine) == _identity(theirs)


def _identity(model: ModelSnapshot) -> dict[str, Any]:
    identity = model.model_dump(mode="json", exclude={"settings"})
    settings = {name: setting for name, setting in model.settings.items() if name not in _ELSEWHERE}
    return {**identity, "settings": settings}


async def reuse_in(run: Run, targets: Targets, reader: RetryingReader) -> Reuse | None:
    """The answers of another run that a run takes in place of requests, as its first event says.

    `targets` are the models and judges of the run: an answer is reused only for the very request
    that they would be sent. `None` if the run reuses none.
    """
    manifest = run.started
    branch = manifest.branched_from
    if branch is None or not branch.reuse:
        return None
    dialect = dialect_named(manifest.dialect)
    bound = recorded_configuration(manifest).execution.retry_attempts
    return await reader.read(
        Reuse.of,
        branch,
        Requests(dialect, targets.models, targets.judges),
        Grader(dialect, judging_of(manifest), bound, manifest.configuration),
        (*manifest.models, *manifest.judges),
    )
