"""The readers of every dialect: its methods that take what a model or a judge said.

Nothing here names a dialect or a method. Dialects come from their registry, methods from the
protocols that a dialect may have, and what a method is given from the types of its parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import cycle
from pathlib import Path
from typing import Any, get_args, get_type_hints

import orjson

import failproof_es.dialects
from failproof_es.core.case import Case
from failproof_es.core.evaluation import (
    Classification,
    Evaluation,
    Judgement,
    JudgeVerdict,
    ModelReply,
    Transcript,
)
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.dialects import protocol
from failproof_es.dialects.protocol import Dialect, HasJudgeSchema, ReadsJudges, RunShape
from failproof_es.dialects.registry import dialect_named
from failproof_es.events import RunStarted, ToolCall
from failproof_es.problems import Problems
from failproof_es.testing.evaluations import JUDGE, KEY, outcome_of, stages
from tests.growth.texts import cut_inside_a_word
from tests.growth.work import Reader, Work
from tests.unit.event_samples import SAMPLES

PLACES = ("text", "refusal", "tool call", "cut off")
"""The parts of an answer that a hostile text is put into."""
_MOST_TURNS = 50


@dataclass(frozen=True)
class HostileReply:
    """A hostile text as a model's answers to a case, and as what a judge says of them."""

    dialect: Dialect
    case: Case
    text: str
    place: str
    """The part of an answer that the text is: one of `PLACES`."""

    def answer(self, turn: int) -> ModelReply:
        """The answer to one turn."""
        match self.place:
            case "text":
                return ModelReply(turn, self.text, "stop")
            case "refusal":
                return ModelReply(turn, "", "stop", refusal=self.text)
            case "tool call":
                call = ToolCall(id=self.text, name=self.text, arguments=self.text)
                return ModelReply(turn, "", "tool_calls", tool_calls=(call,), tools=("a",))
            case _:
                return ModelReply(turn, self.text, "length")

    @cached_property
    def transcript(self) -> Transcript:
        """The whole conversation."""
        replies: tuple[ModelReply, ...] = ()
        while self.dialect.messages(self.case, Transcript(replies)) and len(replies) < _MOST_TURNS:
            replies = (*replies, self.answer(len(replies)))
        return Transcript(replies)

    @cached_property
    def judged(self) -> str:
        """A judge's reply as its schema wants it: with the text, and a cut one, by turns."""
        if not isinstance(self.dialect, HasJudgeSchema):
            return self.text
        schema = self.dialect.judge_schema(self.case, self.transcript)
        return orjson.dumps(
            filled(schema, cycle((self.text, cut_inside_a_word(self.text))))
        ).decode()

    @property
    def reply(self) -> ModelReply:
        """A judge's reply: one that can be read, or only the text."""
        return ModelReply(0, self.judged if self.place == "text" else self.text, "stop")

    @cached_property
    def classification(self) -> Classification:
        """The class of the conversation."""
        return self.dialect.classify(self.case, self.transcript)

    @cached_property
    def judgement(self) -> Judgement:
        """What three judges found: one is read, one says the text alone, one failed."""
        assert isinstance(self.dialect, ReadsJudges)
        replies = [ModelReply(0, self.judged, "stop"), ModelReply(0, self.text, "stop")]
        readings = [self.dialect.read_judgement(self.case, self.transcript, one) for one in replies]
        verdicts = [JudgeVerdict(JUDGE, one.verdict, one.problem) for one in readings]
        return Judgement("majority", (*verdicts, JudgeVerdict(JUDGE, None, self.text)))

    @cached_property
    def evaluation(self) -> Evaluation:
        """The evaluation when it has ended."""
        judged = (lambda messages: self.judged) if isinstance(self.dialect, ReadsJudges) else None
        *_, end = stages(self.dialect, self.case, self.answer, judged)
        return end


def filled(schema: Mapping[str, Any], texts: Iterator[str]) -> Any:
    """What the JSON Schema of a judge's reply allows, with one of the texts wherever any may be."""
    if "enum" in schema:
        return schema["enum"][0]
    match schema["type"]:
        case "object":
            return {name: filled(inner, texts) for name, inner in schema["properties"].items()}
        case "array":
            return [filled(schema["items"], texts)]
        case "string":
            return next(texts)
        case "number":
            return schema.get("minimum", 0)
    raise AssertionError(f"no reply for {schema}")


# -- what is read, by its type -------------------------------------------------------------------

Value = Callable[[HostileReply], Any]
OF_REPLIES: Mapping[Any, Value] = {
    Transcript: lambda said: said.transcript,
    ModelReply: lambda said: said.reply,
    Classification: lambda said: said.classification,
    Judgement: lambda said: said.judgement if isinstance(said.dialect, ReadsJudges) else None,
    Evaluation: lambda said: said.evaluation,
    EvaluationOutcome: lambda said: outcome_of(said.evaluation),
}
"""Types of what was said, or follows from it: a method with such a parameter is a reader."""
OTHERS: Mapping[Any, Value] = {Case: lambda said: said.case}
"""Types of what else a reader is given."""


def types_of(hint: Any) -> set[Any]:
    """All types that a type hint is made of."""
    inner = hint if isinstance(hint, list) else get_args(hint)
    return set().union(*map(types_of, inner)) if inner else {hint}


def protocols() -> list[type]:
    """What a dialect may be."""
    kinds = (kind for kind in vars(protocol).values() if inspect.isclass(kind))
    return [kind for kind in kinds if getattr(kind, "_is_protocol", False)]


def methods() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every method that a dialect may have, and its parameters with their types."""
    for kind in protocols():
        for name, method in vars(kind).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                hints = get_type_hints(method)
                yield name, {one: hint for one, hint in hints.items() if one != "return"}


@cache
def reading_methods() -> dict[str, dict[str, Any]]:
    """Those that are given what was said."""
    return {
        name: parameters
        for name, parameters in methods()
        if set().union(*map(types_of, parameters.values())) & OF_REPLIES.keys()
    }


def cases_of(dialect: Dialect) -> list[Case]:
    """The cases of the dialect's examples, each once."""
    folder = Path(inspect.getfile(type(dialect))).parent
    if not folder.is_relative_to(Path(failproof_es.dialects.__file__).parent):
        raise AssertionError(f"there are no examples of the dialect {dialect.name}")
    files = [file for file in sorted(folder.glob("new_suite.*")) if file.suffix != ".txt"]
    by_id = {case.case_id: case for file in files for case in dialect.load([file], Problems())}
    return list(by_id.values())


def readers_of(
    name: str, places: Sequence[str] = PLACES, *, results: bool = True
) -> Iterator[Reader]:
    """All that reads what a model or a judge said, for each case of the dialect's examples.

    Without `results`, only what grades: an evaluation takes longest to be made.
    """
    dialect = dialect_named(name)
    for case in cases_of(dialect):
        for place in places:
            yield Reader(
                f"{name}[{case.case_id}, {place}]", partial(_works, dialect, case, place, results)
            )


def _works(dialect: Dialect, case: Case, place: str, results: bool, text: str) -> dict[str, Work]:
    said = HostileReply(dialect, case, text, place)
    works: dict[str, Work] = {}
    for method, parameters in reading_methods().items():
        if hasattr(dialect, method) and (results or not _ENDED & set(parameters.values())):
            arguments = {name: _argument(hint, said) for name, hint in parameters.items()}
            works[method] = partial(getattr(dialect, method), **arguments)
    shapes = getattr(dialect, "run_shapes", {}) if results else {}
    for name, shape in shapes.items():
        works[name] = partial(_lines, shape, said.case, said.evaluation)
    return works


_ENDED = {Evaluation, EvaluationOutcome}


def _argument(hint: Any, said: HostileReply) -> Any:
    [value] = [{**OF_REPLIES, **OTHERS}[kind] for kind in types_of(hint) if kind is not type(None)]
    return value(said)


def _lines(shape: RunShape, case: Case, evaluation: Evaluation) -> list[list[str]]:
    """A run of this one evaluation in one of the dialect's shapes."""
    started = next(event for event in SAMPLES if isinstance(event, RunStarted))
    model = started.models[0].model_copy(update={"key": KEY.model_key})
    started = started.model_copy(update={"models": (model,)})
    return [list(shape.lines(result)) for result in shape.results(started, [(case, evaluation)])]
