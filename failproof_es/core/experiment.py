"""Defines the experiment of a run, and which runs are attempts of the same one. Pure.

**The experiment** is cases x models x judges. Two runs are attempts of one experiment when all of
this is alike:

- the cases, as a set: what is sent, and what decides how the answer is graded (`graded_digest`).
  Their order, ids, tags, files and notes are not part of it. What a dialect's options change
  is part of the cases;
- the models, as a set: provider, model, version and parameters. A local model is its weights, a
  class of one's own is that class, whatever either is called;
- the judges: the same, with the response format that they are sent, and, where there are several,
  the rule that combines their verdicts.

Nothing else changes the experiment: the name, gates, prices, output, execution
(retries, time-outs, workers), file paths, and where a model is reached (`base_url`, the
key's variable): it is the same question to the same model. Nor do repetitions and the seed: more
of them, or other ones, are further draws from the same distribution, and drawing until a run
passes must show in the count. A branched run asks the same again.

**Overlapping** runs are not attempts, but a reader must know about them: at least one model is the
same (provider and model), and they share at least half of the cases of the run that has fewer.
Here a case is what is sent, however it is graded (`question_digest`).

Runs of older versions recorded neither digest. They are compared by the digests of their cases
instead, which is stricter: a case whose notes were changed counts as another one.

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
    """SHA-256 of what is sent: the turns of a case, as canonical JSON."""
    return _sha256({"turns": case["turns"]})


def graded_digest(case: Mapping[str, Any]) -> str:
    """SHA-256 of what is sent and of what decides how the answer is graded."""
    graded = {"dialect": case["dialect"], "turns": case["turns"]}
    given = {"expectation": case.get("expectation", {}), "category": case.get("category")}
    return _sha256({**graded, **given})


def case_digests(case: Mapping[str, Any]) -> tuple[str, str]:
    """The `question_digest` and the `graded_digest` of a case; what both hold is encoded once."""
    turns = _turns(case["turns"])
    given = {"category": case.get("category"), "dialect": case["dialect"]}
    rest = canonical({**given, "expectation": case.get("expectation", {})})
    return (
        hashlib.sha256(b'{"turns":%b}' % turns).hexdigest(),
        hashlib.sha256(b'%b,"turns":%b}' % (rest[:-1], turns)).hexdigest(),
    )


def _turns(turns: Sequence[Any]) -> bytes:
    """The turns of a case as canonical JSON."""
    if not all(
        type(each) is dict
        and each.keys() == _TURN
        and type(each["role"]) is type(each["content"]) is str
        for each in turns
    ):
        return canonical(turns)
    parts = (
        f'{{"content":{_text(each["content"])},"role":{_text(each["role"])}}}' for each in turns
    )
    return f"[{','.join(parts)}]".encode("ascii")


def set_digest(digests: Iterable[str]) -> str:
    """SHA-256 of a set of digests, whatever their order."""
    return digest_of_sorted(sorted(set(digests)))


def digest_of_sorted(digests: Iterable[str]) -> str:
    """The `set_digest` of digests that come in order, each once; holds a few of them."""
    return _sha256_of(_sorted_list(digests))


def experiment_digest(conditions: Mapping[str, Any], graded: Iterable[str]) -> str:
    """SHA-256 of an experiment: its `conditions`, and the `graded_digest` of every case."""
    return experiment_digest_of_sorted(conditions, sorted(set(graded)))


def experiment_digest_of_sorted(conditions: Mapping[str, Any], graded: Iterable[str]) -> str:
    """The `experiment_digest` of digests that come in order, each once; holds a few of them."""
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
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()


def conditions(started: Mapping[str, Any]) -> dict[str, Any]:
    """The models and judges of an experiment, as the payload of a `RunStarted` tells of them.

    Raises `ValueError` where it does not.
    """
    judges = _judges(started)
    configuration = _mapping(started.get("configuration"))
    written = configuration.get("judges") or [configuration.get("judge") or {}]
    if not isinstance(written, list):
        raise ValueError("not a list where a run says what it asked")
    forms = [isinstance(each, dict) and each.get("structured_output") is True for each in written]
    forms += [False] * len(judges)
    judged = [
        {**_model(judge), "structured_output": form}
        for judge, form in zip(judges, forms, strict=False)
    ]
    rule = _mapping(configuration.get("judging") or {}).get("rule", "majority")
    models = {canonical(each): each for each in map(_model, _mappings(started.get("models")))}
    return {
        "models": [models[each] for each in sorted(models)],
        "judges": sorted(judged, key=canonical),
        "rule": rule if len(judges) > 1 else None,
    }


def models_of(started: Mapping[str, Any]) -> frozenset[str]:
    """The models under test, each by its provider and its name, as overlapping runs share them."""
    return frozenset(
        canonical([each.get("provider"), _name(each)]).decode()
        for each in _mappings(started.get("models"))
    )


def canonical(value: Any) -> bytes:
    """The one way to write JSON: sorted keys, no spaces, ASCII; 1.0 is 1, what is infinite null."""
    if not _is_plain(value):
        value = json.loads(json.dumps(value), parse_float=_number, parse_constant=lambda _: None)
    return _ENCODER.encode(value).encode("ascii")


# -- which runs asked the same -------------------------------------------------------------------


class Plan(NamedTuple):
    """The cases of a run, by the digest of the whole case and by that of what is sent."""

    cases: frozenset[str]
    questions: frozenset[str]
    """Empty where the run recorded none."""


@dataclass(frozen=True, slots=True)
class RunQuestions:
    """What one run asked. `read_plan` is called when the cases themselves have to be known."""

    run_id: str
    number: int
    digest: str | None
    """Of its experiment; `None` where it recorded none, like `questions`."""
    questions: str | None
    """The `set_digest` of what was sent."""
    models: frozenset[str]
    started: Mapping[str, Any] = field(repr=False, compare=False)
    """What `conditions` reads of it."""
    read_plan: Callable[[], Plan] = field(repr=False, compare=False)

    @classmethod
    def of(cls, started: Mapping[str, Any], read_plan: Callable[[], Plan]) -> RunQuestions:
        """What the payload of a `RunStarted`, of whatever version, says that it asked.

        Raises `ValueError` where it says no such thing.
        """
        recorded = _mapping(started.get("experiment") or {})
        digest, questions = recorded.get("digest"), recorded.get("questions")
        number, run_id = started.get("run_number"), started.get("run_id")
        texts = {type(digest), type(questions)}
        if texts not in ({str}, {type(None)}) or type(number) is not int or type(run_id) is not str:
            raise ValueError("its first event does not say what it asked")
        told = {key: started[key] for key in ("models", "judges", "judge") if key in started}
        configuration = _mapping(started.get("configuration"))
        written = {key: configuration.get(key) for key in ("judge", "judges", "judging")}
        asking = cls(
            run_id, number, digest, questions, models_of(started),
            {**told, "configuration": written}, read_plan,
        )  # fmt: skip
        if digest is None:
            asking.conditions()  # what older runs are compared by
        return asking

    def conditions(self) -> bytes:
        """Its models and judges, to be compared. Raises `ValueError` where they are unreadable."""
        return canonical(conditions(self.started))


class Overlapping(NamedTuple):
    """A run that is not an attempt, but shares a model and many of the cases."""

    run: RunQuestions
    shared: int
    """The number of shared cases."""


class RelatedRuns(NamedTuple):
    """The runs that have to do with one run, that one included, each in order of number."""

    attempts: tuple[RunQuestions, ...]
    overlapping: tuple[Overlapping, ...]


def find_related(own: RunQuestions, others: Iterable[RunQuestions]) -> RelatedRuns:
    """Which of `others` are attempts of the same experiment as `own`, and which overlap with it."""
    rest = sorted((each for each in others if each.run_id != own.run_id), key=lambda it: it.number)
    candidates = [own, *(each for each in rest if _comparable(own, each))]
    attempts = next(runs for runs in experiments(candidates) if own in runs)
    counted = {each.run_id for each in attempts}
    share = _Sharing(own)
    overlapping = (
        Overlapping(each, shared)
        for each in rest
        if each.run_id not in counted and own.models & each.models and (shared := share(each))
    )
    return RelatedRuns(attempts, tuple(overlapping))


def experiments(runs: Iterable[RunQuestions]) -> list[tuple[RunQuestions, ...]]:
    """The runs by experiment, the attempts of each in order of number.

    A run that recorded no digest is compared with the first one that recorded each.
    """
    by_number = sorted(runs, key=lambda each: each.number)
    firsts: dict[str, RunQuestions] = {}
    for each in by_number:
        if each.digest is not None:
            firsts.setdefault(each.digest, each)
    older = {each.run_id: _very_same(each) for each in by_number if each.digest is None}
    compared = {conditions for conditions, _ in older.values()}
    recorded = {
        _very_same(each): digest
        for digest, each in firsts.items()
        if compared and each.conditions() in compared
    }
    found: dict[object, list[RunQuestions]] = {}
    for each in by_number:
        key = each.digest
        if key is None:
            same = older[each.run_id]
            found.setdefault(recorded.get(same, same), []).append(each)
        else:
            found.setdefault(key, []).append(each)
    return [tuple(each) for each in found.values()]


def overlap(one: AbstractSet[str], other: AbstractSet[str]) -> int:
    """How many cases two runs share; 0 where it is less than half of those of the smaller one."""
    shared = len(one & other)
    return shared if 2 * shared >= min(len(one), len(other)) else 0


def _comparable(own: RunQuestions, other: RunQuestions) -> bool:
    """Whether both can be of one experiment, as far as can be told without their plans."""
    if own.digest is not None and other.digest is not None:
        return own.digest == other.digest
    return own.conditions() == other.conditions()


def _very_same(run: RunQuestions) -> tuple[bytes, str]:
    """What two runs have in common that put the very same cases to the same models and judges."""
    return run.conditions(), set_digest(run.read_plan().cases)


class _Sharing:
    """Counts the cases shared with one run; no plan is read twice, nor one known to be alike."""

    def __init__(self, own: RunQuestions) -> None:
        self._own = own
        self._plan: Plan | None = None
        self._counted: dict[str, int] = {}

    def __call__(self, other: RunQuestions) -> int:
        if self._own.questions is None or other.questions is None:
            return overlap(self._mine().cases, other.read_plan().cases)
        if other.questions not in self._counted:
            mine = self._mine().questions
            same = other.questions == self._own.questions
            theirs = mine if same else other.read_plan().questions
            self._counted[other.questions] = overlap(mine, theirs)
        return self._counted[other.questions]

    def _mine(self) -> Plan:
        if self._plan is None:
            self._plan = self._own.read_plan()
        return self._plan


# -- what is read --------------------------------------------------------------------------------


def _model(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    parameters = _mapping(snapshot.get("parameters") or {})
    return {
        "provider": snapshot.get("provider"),
        "model": _name(snapshot),
        "version": snapshot.get("version"),
        "parameters": {name: value for name, value in parameters.items() if name != "seed"},
    }


def _name(snapshot: Mapping[str, Any]) -> Any:
    """What the model is: what its provider says (its weights, a class of one's own), else its name.

    The settings of two providers are older than `identity`, which every other one can record.
    """
    settings = _mapping(snapshot.get("settings") or {})
    older = {"local": "weights_sha256", "python": "class"}
    key = older.get(str(snapshot.get("provider")), "identity")
    return settings.get(key) or snapshot.get("model")


def _judges(started: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """All of them; before there could be several, `judge` was the only one."""
    only = started.get("judge")
    return _mappings(started.get("judges", [] if only is None else [only]))


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("not an object where a run says what it asked")
    return value


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    if not isinstance(value, list | tuple):
        raise ValueError("not a list where a run says what it asked")
    return [_mapping(each) for each in value]


def _is_plain(value: Any) -> bool:
    """Whether JSON holds it exactly as it is: no number but whole ones, no key but text."""
    kind = type(value)
    if kind in _PLAIN:
        return True
    if kind is dict:
        return all(type(key) is str and _is_plain(each) for key, each in value.items())
    return (kind is list or kind is tuple) and all(map(_is_plain, value))


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() else value


def _sha256(value: Any) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()
