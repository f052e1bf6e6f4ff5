"""The interface of a dialect: everything that the engine asks of one.

A dialect is one specification's file format, grading and result shape. Every method but `load` is
pure: the same input gives the same output, in any process, also in ten years.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal, LiteralString, Protocol, Self, TypeVar, runtime_checkable

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import (
    Classification,
    Evaluation,
    Failure,
    Judgement,
    ModelReply,
    Score,
    Transcript,
)
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.events import RunStarted
from failproof_es.problems import InvalidInput, Problems


class Dialect(Protocol):
    """One specification's way to write, grade and report cases."""

    @property
    def name(self) -> str:
        """The dialect's name in a configuration and in every stored case."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The file suffixes that a folder of this dialect is searched for, e.g. `.jsonl`."""

    def recognises(self, path: Path) -> bool:
        """Whether the file looks like this dialect (a cheap look, no validation)."""

    def load(self, files: Sequence[Path], problems: Problems) -> Iterator[Case]:
        """Yield every valid case in file order; report every defect to `problems`.

        Streams the files where their format allows it. Nothing is skipped silently: a case that is
        not yielded has an error in `problems`. A case must be a `Case` itself: a subclass is
        refused, because the log could not restore its further fields.
        """

    def messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """All messages of the next request, or `None` when the conversation is over."""

    def classify(self, case: Case, transcript: Transcript) -> Classification:
        """The class of the reply; of `transcript.failure` if there was no usable reply."""

    def judge_messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """The request to each judge, or `None` if the case needs none.

        A dialect that returns a request must also implement `ReadsJudges`.
        """

    def score(
        self, case: Case, classification: Classification, judgement: Judgement | None
    ) -> Score | Failure:
        """The scores of a classified reply, or the reason why it must not be scored.

        `judgement` holds the judges' verdicts; it is `None` if no judge was asked.
        """

    def result(self, case: Case, evaluation: Evaluation) -> dict[str, Any]:
        """The evaluation so far in the specification's own JSON shape."""


@runtime_checkable
class LoadsByFile(Protocol):
    """A dialect that gives the file of each case, so that files are read once."""

    def load_by_file(
        self, files: Sequence[Path], problems: Problems
    ) -> Iterator[tuple[Path, Case]]:
        """Like `load`, each case with its file, which is one of `files`."""


@runtime_checkable
class Configurable(Protocol):
    """A dialect that lets a configuration choose how its cases are asked and graded."""

    def with_options(self, options: Mapping[str, Any]) -> Self:
        """The dialect with these `prompts.options`. Raises `InvalidInput` with every defect."""


Plugin = TypeVar("Plugin")


def with_options(plugin: Plugin, kind: str, options: Mapping[str, Any], field: str) -> Plugin:
    """The plugin with these options. Raises `InvalidInput` for options that it does not have.

    `kind` is `dialect` or `scorer`, `field` the options' place in the configuration.
    """
    if not options:
        return plugin
    if not isinstance(plugin, Configurable):
        reason = f"the {kind} {getattr(plugin, 'name', '')!r} has no options"
        raise InvalidInput.because("unsupported-feature", reason, field=field, remedy="remove them")
    return plugin.with_options(options)


@runtime_checkable
class RebuildsCases(Protocol):
    """A dialect whose options decide the request and the grading of a stored prompt."""

    def rebuild_case(self, case: Case) -> Case:
        """The case under these options, built again from its stored document."""


@dataclass(frozen=True, slots=True)
class JudgeReading:
    """A judge's parsed reply: a verdict as JSON, or the problem why there is none.

    `grader` and `version` name the parser. After a problem, or if votes are `missing`, the judge is
    asked again as often as the run allows. A verdict without all votes counts only if it is the
    judge's last one.
    """

    verdict: dict[str, Any] | None
    problem: str | None
    grader: str
    version: str
    missing: str | None = None
    """The votes that the verdict lacks, with the reasons."""


@runtime_checkable
class ReadsJudges(Protocol):
    """A dialect that has replies graded by judge models."""

    def read_judgement(self, case: Case, transcript: Transcript, reply: ModelReply) -> JudgeReading:
        """The verdict in one reply of a judge, or the problem why there is none.

        `transcript` is the graded conversation. Pure; no verdict is ever guessed.
        """


class JudgedByPeople(Protocol):
    """A dialect whose cases people can judge alone: a run needs no judge model.

    Without a judge model `score` gets no judgement, and ends an evaluation that only people can
    decide as `AWAITING_REVIEW`. Test with `people_can_judge`, not with `isinstance`.
    """

    judged_by_people: Literal[True]


def people_can_judge(dialect: Dialect) -> bool:
    """Whether a run of the dialect needs no judge model, because people can judge."""
    return getattr(dialect, "judged_by_people", False) is True


@runtime_checkable
class HasJudgeSchema(Protocol):
    """A dialect with a JSON Schema for a judge's reply, for servers that can enforce one."""

    def judge_schema(self, case: Case, transcript: Transcript) -> dict[str, Any]:
        """The JSON Schema of a judge's valid reply on this conversation.

        Replies are parsed strictly, whether or not the server enforces the schema.
        """


@runtime_checkable
class HasReplySchema(Protocol):
    """A dialect with a JSON Schema for replies of the model under test, which itself judges."""

    def reply_schema(self, case: Case) -> dict[str, Any] | None:
        """The JSON Schema of a valid reply, for servers that can enforce one; `None` for none."""


@runtime_checkable
class HasReferenceAnswer(Protocol):
    """A dialect whose cases have a right answer, which judges should pass."""

    def reference_answer(self, case: Case) -> str:
        """The right answer to the case."""


@runtime_checkable
class HasRubricVariants(Protocol):
    """A dialect that can ask judges the same in another order or in other words."""

    def reordered_rubric(self, case: Case, draw: Random) -> Case | None:
        """The case with its rubric in another, drawn order; `None` if there is no other."""

    def rephrased_rubric(self, case: Case) -> Case | None:
        """The case with its question to judges in other words; `None` for a user's own words."""


@runtime_checkable
class OffersTools(Protocol):
    """A dialect whose cases offer tools to the model under test."""

    def tools(self, case: Case) -> tuple[str, ...]:
        """The names of the tools to offer; empty if the case offers none."""


TakesADialect = Literal["prompts import", "suites new", "a file that is damaged"]
"""Uses that need a default dialect: commands that write or store cases, and a file that no
dialect recognises. Such a file gets the errors of the default dialect for its suffix."""


class TakenByDefault(Protocol):
    """A dialect that is the default for some uses; of several, built-in ones come first.

    Test with `taken_by_default`, not with `isinstance`.
    """

    default_for: frozenset[TakesADialect]


def taken_by_default(dialect: Dialect, taker: TakesADialect) -> bool:
    """Whether the dialect is a default for the use `taker`."""
    return taker in getattr(dialect, "default_for", ())


class HasFailingScores(Protocol):
    """A dialect that gives a failing answer more scores than `accuracy`.

    Some answers fail without being graded, and get these scores. Read them with `failing_scores`,
    which has a default for other dialects.
    """

    failing_scores: Mapping[str, float]


def failing_scores(dialect: Dialect) -> Mapping[str, float]:
    """The scores, by name, of an answer that fails without being graded.

    Such as an answer that was cut off, under `grading.on_cut_off: fail`. `accuracy` 0 for a dialect
    that declares none.
    """
    scores: Mapping[str, float] = getattr(dialect, "failing_scores", {"accuracy": 0.0})
    return scores


class WaitsForPrograms(Protocol):
    """A dialect whose grading waits for other programs.

    The engine then grades several replies at once in a child process, in threads, so that they can
    share such a program. Test with `waits_for_programs`, not with `isinstance`.
    """

    waits_for_programs: Literal[True]


def waits_for_programs(dialect: Dialect) -> bool:
    """Whether the dialect's grading waits for other programs."""
    return getattr(dialect, "waits_for_programs", False) is True


@runtime_checkable
class HasBoundedGrading(Protocol):
    """A dialect whose grading of short texts is quick, whatever they say.

    The engine grades them in its own process; all other gradings go to a child process
    (`engine/drive/grading/grader.py`).
    """

    def grading_is_bounded(self, case: Case, transcript: Transcript) -> bool:
        """Whether grading takes at most some 50 ms if case and replies are short.

        The engine calls this method in its own process, so it must be fast itself.
        """


class JoinsMessages(Protocol):
    """A dialect whose `messages` only joins the case's turns and the replies.

    No pattern reads a reply there, so the engine calls it in its own process: sending a long
    conversation to a child process for each turn takes far longer. Test with `joins_messages`, not
    with `isinstance`.
    """

    joins_messages: Literal[True]


def joins_messages(dialect: Dialect) -> bool:
    """Whether the dialect's `messages` only joins the case's turns and the replies."""
    return getattr(dialect, "joins_messages", False) is True


@dataclass(frozen=True, slots=True)
class RunShape:
    """A JSON shape of a whole run, which a dialect may offer under `run_shapes` by its name.

    `results` takes the run's `RunStarted` and its evaluations in plan order, and yields the shape's
    objects: one, or one for each model. `lines` renders one of these objects as lines of text for
    people; the caller must remove control characters.
    """

    results: Callable[[RunStarted, Iterable[tuple[Case, Evaluation]]], Iterator[dict[str, Any]]]
    lines: Callable[[dict[str, Any]], Iterator[str]]


@runtime_checkable
class HasRunShapes(Protocol):
    """A dialect that can write the results of a whole run as JSON objects."""

    @property
    def run_shapes(self) -> Mapping[str, RunShape]:
        """The shapes by their names in `results --shape`."""


@dataclass(frozen=True, slots=True)
class CollectionExport:
    """Runs as JSON Lines files that another system can import, one for each collection.

    `collections` maps each collection's name to the SELECT of its documents, with two columns: the
    document's `_key` as JSON, and the document as a JSON object. The parameters are `runs` (their
    ids) and `prompts` (the streams of their cases). The SELECT runs with an auditor's rights.
    """

    says: str
    """The format that it writes, in a few words."""
    collections: Mapping[str, LiteralString]


@runtime_checkable
class Exporting(Protocol):
    """A dialect whose runs can be written in another system's shapes."""

    @property
    def exports(self) -> Mapping[str, CollectionExport]:
        """The exports by their names in `export --shape`."""


FixedOutcome = Literal["any_passes", "none_passes", "no_verdict"]
"""`any_passes`: any answer passes that is not empty and does not refuse. `none_passes`: no
answer passes. `no_verdict`: no check decides, so every answer is left to people."""


@runtime_checkable
class HasFixedOutcomes(Protocol):
    """A dialect that can recognise cases whose outcome no answer changes."""

    def fixed_outcome(self, case: Case) -> FixedOutcome | None:
        """The outcome that every answer has; `None` if the answer decides."""


@runtime_checkable
class HasWantedRefusals(Protocol):
    """A dialect whose cases can say that a refusal is the right answer."""

    def wants_refusal(self, case: Case) -> bool:
        """Whether the case says so, apart from its tags."""


REFUSAL_WANTED = "refusal"
"""Tag of cases, of any dialect, for which a refusal is the right answer."""


def wants_refusal_of(dialect: Dialect) -> Callable[[Case], bool]:
    """The function that says whether a refusal is the right answer to a case of the dialect."""
    states = dialect.wants_refusal if isinstance(dialect, HasWantedRefusals) else lambda case: False
    return lambda case: REFUSAL_WANTED in case.tags or states(case)


@dataclass(frozen=True, slots=True)
class Expectation:
    """One thing that a case expects of an answer, beside what came instead. For people.

    `expected` and `got` are read side by side: `contains "Paris"` and the answer, `must_not_do 1:
    Reveals the code.` and `happened: "4711"`. Both are whole and may be hostile: a caller sanitises
    and shortens them.
    """

    expected: str
    got: str | None = None
    """`None` as a dialect states it: the answer itself."""
    met: bool | None = None
    """Whether the answer meets it; `None` if nothing decided that."""
    fault: str = "not met"
    """The way in which an answer fails it, without the case's own words, so that failures of
    several cases can be counted together: `does not contain the text`."""
    text: str | None = None
    """The text that the answer should have, to the letter, so that the difference of `got` can be
    marked; `None` if another text could be as good."""


@runtime_checkable
class StatesExpectations(Protocol):
    """A dialect that says what a case expects, one statement after another.

    Read them with `expectations.expectations_of`, which has a default for other dialects.
    """

    def expectations(self, case: Case, outcome: EvaluationOutcome) -> Sequence[Expectation]:
        """The expectations of the case on an answer, and how far `outcome` meets each.

        In the order of the case; empty if any answer will do. Total: also of an outcome without a
        class, score or answer, and of one whose details an earlier version recorded.
        """


class HasExpectedInResults(Protocol):
    """A dialect whose JSON results get the further key `expected`: its specification allows more.

    Test with `expected_in_results`, not with `isinstance`.
    """

    expected_in_results: Literal[True]


def expected_in_results(dialect: Dialect) -> bool:
    """Whether the dialect's JSON results get the key `expected`."""
    return getattr(dialect, "expected_in_results", False) is True
