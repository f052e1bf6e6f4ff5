"""Defines the experiment of a run, and which runs are attempts of the same one. Pure.

**The experiment** is cases x models x judges. Two runs are attempts of one experiment when all of
this is alike:

- the cases, as a set: what is sent, and what decides how the answer is graded (`graded_digest`).
  Their order, ids, tags, files and notes are not part of it. What a dialect's options change
  is part of the cases;
- the models, as a set: provider, model, version and parameters. A local model is identified by its
  weights, a custom class by that class, whatever their names;
- the judges: the same, with the response format that they are sent, and, where there are several,
  the rule that combines their verdicts.

Nothing else changes the experiment: the name, gates, prices, output, execution
(retries, time-outs, workers), file paths, and where a model is reached (`base_url`, the
key's variable): it is the same question to the same model. Nor do repetitions and the seed: more
of them, or other ones, are further draws from the same distribution, and drawing until a run
passes must show in the number of attempts. A branched run is a further attempt.

**Overlapping** runs are not attempts, but a reader must know about them: at least one model is the
same (provider and model), and they share at least half of the cases of the run that has fewer.
Here a case is what is sent, however it is graded (`question_digest`).

Everything here works on JSON as it is recorded, so that the engine and the evidence use it alike.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice
from json.encoder import encode_basestring_ascii as _text
from typing import Any, NamedTuple

_FORMAT = "failproof-es/experiment/1"
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_TURN = frozenset({"role", "content"})
_PLAIN = frozenset({str, int, bool, type(None)})


def question_digest(case: Mapping[str, Any]) -> str:
    """SHA-256, in hexadecimal, of the sent part of a case: the turns in its JSON document."""
    return _sha256({"turns": case["turns"]})


def graded_digest(case: Mapping[str, Any]) -> str:
    """SHA-256, in hexadecimal, of the sent part of a case and of the part that decides the grading.

    `case` is the JSON document of a case: its dialect, turns, expectation and category count.
    """
    graded = {"dialect": case["dialect"], "turns": case["turns"]}
    criteria = {"expectation": case.get("expectation", {}), "category": case.get("category")}
    return _sha256({**graded, **criteria})


def case_digests(case: Mapping[str, Any]) -> tuple[str, str]:
    """The `question_digest` and the `graded_digest` of a case, faster than one by one."""
    turns = _turns(case["turns"])
    attributes = {"category": case.get("category"), "dialect": case["dialect"]}
    rest = canonical({**attributes, "expectation": case.get("expectation", {})})
    return (
        hashlib.sha256(b'{"turns":%b}' % turns).hexdigest(),
        hashlib.sha256(b'%b,"turns":%b}' % (rest[:-1], turns)).hexdigest(),
    )


def _turns(turns: Sequence[Any]) -> bytes:
    """The turns of a case as canonical JSON."""
    if not all(
        type(turn) is dict
        and turn.keys() == _TURN
        and type(turn["role"]) is type(turn["content"]) is str
        for turn in turns
    ):
        return canonical(turns)
    parts = (
        f'{{"content":{_text(turn["content"])},"role":{_text(turn["role"])}}}' for turn in turns
    )
    return f"[{','.join(parts)}]".encode("ascii")


def set_digest(digests: Iterable[str]) -> str:
    """SHA-256 of a set of digests, whatever their order."""
    return digest_of_sorted(sorted(set(digests)))


def digest_of_sorted(digests: Iterable[str]) -> str:
    """The `set_digest` of digests that are sorted and distinct; holds at most 1,000 in memory."""
    return _sha256_of(_sorted_list(digests))


def experiment_digest(conditions: Mapping[str, Any], graded: Iterable[str]) -> str:
    """SHA-256 of an experiment: its `conditions`, and the `graded_digest` of every case.

    In hexadecimal; the order of `graded` and repeated digests make no difference.
    """
    return experiment_digest_of_sorted(conditions, sorted(set(graded)))


def experiment_digest_of_sorted(conditions: Mapping[str, Any], graded: Iterable[str]) -> str:
    """The `experiment_digest` of `graded` digests that are sorted and distinct.

    Holds at most 1,000 of them in memory.
    """
    return _sha256_of(_experiment(conditions, graded))


def _experiment(conditions: Mapping[str, Any], graded: Iterable[str]) -> Iterator[bytes]:
    """The canonical JSON of an experiment, in parts."""
    document = {"format": _FORMAT, "cases": None, **conditions}
    before = b"{"
    for name in sorted(document):
        yield before + canonical(name) + b":"
        if name == "cases":
            yield from _sorted_list(graded)
        else:
            yield canonical(document[name])
        before = b","
    yield b"}"


def _sorted_list(digests: Iterable[str]) -> Iterator[bytes]:
    """The canonical JSON of a list of digests, in parts."""
    remaining = iter(digests)
    before = b"["
    while some := list(islice(remaining, 1_000)):
        yield before + canonical(some)[1:-1]
        before = b","
    yield b"[]" if before == b"[" else b"]"


def _sha256_of(parts: Iterable[bytes]) -> str:
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(part)
    return hasher.hexdigest()


def conditions(started: Mapping[str, Any]) -> dict[str, Any]:
    """The models, judges and judging rule of an experiment, from the payload of a `RunStarted`.

    Keys: `models`, `judges` (sorted lists of objects) and `rule`, `None` below two judges. Raises
    `ValueError` if the payload is not one of a `RunStarted`.
    """
    judges = _mappings(started.get("judges", []))
    configuration = _mapping(started.get("configuration"))
    judge_settings = configuration.get("judges") or [configuration.get("judge") or {}]
    if not isinstance(judge_settings, list):
        raise ValueError("not a list where a run says what it asked")
    forms = [
        isinstance(settings, dict) and settings.get("structured_output") is True
        for settings in judge_settings
    ]
    forms += [False] * len(judges)
    judged = [
        {**model_identity(judge), "structured_output": form}
        for judge, form in zip(judges, forms, strict=False)
    ]
    rule = _mapping(configuration.get("judging") or {}).get("rule", "majority")
    models = {
        canonical(model): model for model in map(model_identity, _mappings(started.get("models")))
    }
    return {
        "models": [models[key] for key in sorted(models)],
        "judges": sorted(judged, key=canonical),
        "rule": rule if len(judges) > 1 else None,
    }


def models_of(started: Mapping[str, Any]) -> frozenset[str]:
    """The models under test as canonical JSON of [provider, name], by which runs overlap.

    `started` is the payload of a `RunStarted`. Raises `ValueError` if its models are no list of
    objects.
    """
    return frozenset(
        canonical([model.get("provider"), _name(model)]).decode()
        for model in _mappings(started.get("models"))
    )


def canonical(value: Any) -> bytes:
    """Canonical JSON: sorted keys, no spaces, ASCII; 1.0 becomes 1, NaN and infinity null."""
    if not _is_plain(value):
        value = json.loads(json.dumps(value), parse_float=_number, parse_constant=lambda _: None)
    return _ENCODER.encode(value).encode("ascii")


# -- which runs asked the same -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunQuestions:
    """The experiment, questions and models of one run."""

    run_id: str
    number: int
    digest: str
    """The digest of the run's experiment."""
    questions: str
    """The `set_digest` of the `question_digest` of every case."""
    models: frozenset[str]
    read_questions: Callable[[], AbstractSet[str]] = field(repr=False, compare=False)
    """Reads the `question_digest` of every case. Called only if they are needed."""

    @classmethod
    def of(
        cls, started: Mapping[str, Any], read_questions: Callable[[], AbstractSet[str]]
    ) -> RunQuestions:
        """The experiment of the run, from the payload of its `RunStarted`.

        `read_questions` reads the `question_digest` of every case, if it is needed. Raises
        `ValueError` if the payload lacks the experiment.
        """
        recorded = _mapping(started.get("experiment"))
        digest, questions = recorded.get("digest"), recorded.get("questions")
        number, run_id = started.get("run_number"), started.get("run_id")
        if not type(digest) is type(questions) is type(run_id) is str or type(number) is not int:
            raise ValueError("its first event does not say what it asked")
        return cls(run_id, number, digest, questions, models_of(started), read_questions)


class Overlapping(NamedTuple):
    """A run that is not an attempt, but shares a model and many of the cases."""

    run: RunQuestions
    shared: int
    """The number of shared cases."""


class RelatedRuns(NamedTuple):
    """The attempts of one run's experiment, that run included, and its overlapping runs.

    Both are in order of run number.
    """

    attempts: tuple[RunQuestions, ...]
    overlapping: tuple[Overlapping, ...]


def find_related(own: RunQuestions, runs: Iterable[RunQuestions]) -> RelatedRuns:
    """The attempts of the experiment of `own` among `runs`, and the runs that overlap with it.

    `own` itself is one of the attempts, whether it is in `runs` or not.
    """
    rest = sorted((run for run in runs if run.run_id != own.run_id), key=lambda it: it.number)
    same = [own, *(run for run in rest if run.digest == own.digest)]
    share = _Sharing(own)
    overlapping = (
        Overlapping(run, shared)
        for run in rest
        if run.digest != own.digest and own.models & run.models and (shared := share(run))
    )
    return RelatedRuns(tuple(sorted(same, key=lambda it: it.number)), tuple(overlapping))


def experiments(runs: Iterable[RunQuestions]) -> list[tuple[RunQuestions, ...]]:
    """Group runs by experiment: the attempts of each, in order of run number."""
    runs_by_digest: dict[str, list[RunQuestions]] = {}
    for run in sorted(runs, key=lambda run: run.number):
        runs_by_digest.setdefault(run.digest, []).append(run)
    return [tuple(attempts) for attempts in runs_by_digest.values()]


def overlap(one: AbstractSet[str], other: AbstractSet[str]) -> int:
    """Number of digests in both sets; 0 if that is less than half of the smaller set."""
    shared = len(one & other)
    return shared if 2 * shared >= min(len(one), len(other)) else 0


class _Sharing:
    """Counts the cases that other runs share with one run; 0 if they do not overlap.

    Reads each set of questions at most once.
    """

    def __init__(self, own: RunQuestions) -> None:
        self._own = own
        self._mine: AbstractSet[str] | None = None
        self._counted: dict[str, int] = {}

    def __call__(self, other: RunQuestions) -> int:
        if other.questions not in self._counted:
            if self._mine is None:
                self._mine = self._own.read_questions()
            same = other.questions == self._own.questions
            theirs = self._mine if same else other.read_questions()
            self._counted[other.questions] = overlap(self._mine, theirs)
        return self._counted[other.questions]


# -- reading payloads ----------------------------------------------------------------------------


def model_identity(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """What of a model's snapshot, as JSON, makes another experiment: no address, key or seed."""
    parameters = _mapping(snapshot.get("parameters") or {})
    return {
        "provider": snapshot.get("provider"),
        "model": _name(snapshot),
        "version": snapshot.get("version"),
        "parameters": {name: value for name, value in parameters.items() if name != "seed"},
    }


def _name(snapshot: Mapping[str, Any]) -> Any:
    """The model's identity as its provider recorded it (weights, custom class), else its name.

    The providers `local` and `python` record it under a key of their own, others as `identity`.
    """
    settings = _mapping(snapshot.get("settings") or {})
    older = {"local": "weights_sha256", "python": "class"}
    key = older.get(str(snapshot.get("provider")), "identity")
    return settings.get(key) or snapshot.get("model")


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("not an object where a run says what it asked")
    return value


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    if not isinstance(value, list | tuple):
        raise ValueError("not a list where a run says what it asked")
    return [_mapping(child) for child in value]


def _is_plain(value: Any) -> bool:
    """Whether JSON preserves the value exactly: only integers as numbers, only text as keys."""
    kind = type(value)
    if kind in _PLAIN:
        return True
    if kind is dict:
        return all(type(key) is str and _is_plain(child) for key, child in value.items())
    return (kind is list or kind is tuple) and all(map(_is_plain, value))


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() else value


def _sha256(value: Any) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()
