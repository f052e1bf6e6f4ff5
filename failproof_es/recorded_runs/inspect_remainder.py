"""Lists the parts of an Inspect log that are not imported, and the samples that it lacks."""

from __future__ import annotations

from failproof_es.recorded_runs.json_values import Json, list_of, object_of, text_of, unread
from failproof_es.recorded_runs.plain import count_of, plain_text
from failproof_es.recorded_runs.records import NO_PLACE, Remainder

_STEPS = "the conversation is kept, not the steps of the program around it"
_LEFT_OUT = {
    "events": _STEPS,
    "timelines": _STEPS,
    "store": "it is the state of the program around the model",
    "attachments": "they stand where they are used",
}
_READ_OF_SAMPLE = frozenset(
    {
        *("id", "epoch", "input", "choices", "target", "messages", "output", "scores", "metadata"),
        *("model_usage", "role_usage", "started_at", "error", *_LEFT_OUT),
        # Inspect's own counts and times.
        *(
            "uuid",
            "completed_at",
            "total_time",
            "working_time",
            "turn_count",
        ),
    }
)
_READ_OF_HEADER = frozenset({"version", "status", "eval", "plan", "results", "stats", "error"})
_LISTED_OF_EVAL = ("task_args", "task_attribs", "solver_args", "tags", "metadata")
_OF_THE_RUN = "an imported run has no place for it"


def list_header(header: Json, remainder: Remainder) -> None:
    """List the parts of the log's header that are not imported, in `remainder`."""
    steps = list_of(object_of(header.get("plan")).get("steps"))
    for at, step in enumerate(map(object_of, steps)):
        name = text_of(step.get("solver"), remainder, "plan") or "unknown"
        remainder.add(
            f"the solver {name}", "it is a program: the conversation is kept", f"step {at}"
        )
    spec = object_of(header.get("eval"))
    for name in _LISTED_OF_EVAL:
        if spec.get(name):
            remainder.add(f"{name} of the run", _OF_THE_RUN, "eval")
    for role, model in object_of(spec.get("model_roles")).items():
        name = text_of(object_of(model).get("model"), remainder, "eval.model_roles") or "unknown"
        reason = "only answers of the model that is evaluated are imported"
        remainder.add(f"the model {name} in the role {role}", reason, "eval.model_roles")
    for name in unread(header, _READ_OF_HEADER):
        remainder.add(f"{plain_text(name, remainder, name)} of the log", _OF_THE_RUN, name)
    status = header.get("status")
    if status != "success":
        reason = f"Inspect ended it with the status {status}"
        remainder.add("the rest of the run", reason, "status")


def list_sample(sample: Json, left_out: Json, remainder: Remainder, place: str) -> None:
    """List the parts of a sample that are not imported, in `remainder`.

    `left_out` is the number of entries of each field that was not read.
    """
    for what, count in left_out.items():
        if count and what in _LEFT_OUT:
            remainder.add(f"{what} of a sample", _LEFT_OUT[what], place)
    for name in unread(sample, _READ_OF_SAMPLE):
        remainder.add(f"{plain_text(name, remainder, place)} of a sample", NO_PLACE, place)


class PlannedSamples:
    """The samples and epochs that were planned, as far as the log states them."""

    def __init__(self, header: Json) -> None:
        spec = object_of(header.get("eval"))
        ids = list_of(object_of(spec.get("dataset")).get("sample_ids"))
        self._ids = dict.fromkeys(str(sample_id) for sample_id in ids)
        self._epochs = count_of(object_of(spec.get("config")).get("epochs")) or 1
        self._seen: set[tuple[str, int]] = set()

    def take(self, sample: str, epoch: int) -> bool:
        """Record a sample as present.

        Returns whether it is the first with this id and epoch (repetition).
        """
        first = (sample, epoch) not in self._seen
        self._seen.add((sample, epoch))
        return first

    def list_missing(self, remainder: Remainder) -> None:
        """Add one entry to `remainder` for the planned samples that the log lacks.

        It says how many, and the first of them. No entry if the log lacks none.
        """
        planned = len(self._ids) * self._epochs
        missing = planned - sum(
            sample in self._ids and epoch <= self._epochs for sample, epoch in self._seen
        )
        if missing:
            reason = "the log does not hold it: neither a question nor an answer can be imported"
            first = next(
                f"sample {sample_id}, epoch {epoch}"
                for sample_id in self._ids
                for epoch in range(1, self._epochs + 1)
                if (sample_id, epoch) not in self._seen
            )
            remainder.add("a sample that was planned", reason, first, count=missing)
