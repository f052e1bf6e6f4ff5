"""The contract of dialects, as tests for any dialect.

    class TestMine(DialectContract):
        dialect = "mine"
        good = {"cases.jsonl": '{"id": "a", "ask": "2 + 2?", "want": "4"}\\n'}
        cases = 1
        defective = (DefectiveFile("cases.jsonl", '{"id": "a"}\\n', line=1, field="ask"),)
        replies = (SampleReply("4", "passed"), SampleReply("5", "failed"))

The dialect has to be installed: the contract loads it by its name, as a run does.
"""

from __future__ import annotations

import math
import tempfile
import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Literal
from unittest import SkipTest

import orjson

from failproof_es.core.case import Case, Turn, prompt_id
from failproof_es.core.evaluation import (
    Evaluation,
    Failure,
    Judgement,
    JudgeVerdict,
    ModelReply,
    Score,
    Transcript,
)
from failproof_es.dialects import configured, dialect_named
from failproof_es.dialects.expectations import expectations_of
from failproof_es.dialects.protocol import Dialect, ReadsJudges
from failproof_es.dialects.registry import MEMBERS
from failproof_es.events import PromptStored
from failproof_es.problems import Problems
from failproof_es.testing.evaluations import JUDGE, outcome_of, stages
from failproof_es.testing.replies import ENDINGS, SHORT_TEXTS, TEXTS, THOUGHT

SampleOutcome = Literal["passed", "failed", "graded", "unscored"]
"""`graded` is a score that is neither a pass nor a failure."""


@dataclass(frozen=True, slots=True)
class SampleReply:
    """A model's reply to every turn, and the expected outcome."""

    text: str
    comes_to: SampleOutcome
    finish_reason: str | None = "stop"
    refusal: str | None = None
    case_id: str | None = None
    """The id of the answered case; by default the first case."""
    stands_before_a_cut: bool = False
    """Whether the outcome stays the same if the reply is cut off after this text."""


@dataclass(frozen=True, slots=True)
class DefectiveFile:
    """A case file with one defect, and the place that the error must name."""

    file: str
    content: str | bytes
    line: int
    field: str | None = None


class DialectContract:
    """Contract tests of a dialect.

    Subclass it, set the attributes without a value, and let `pytest` collect the subclass.
    """

    dialect: ClassVar[str]
    """The name of the dialect under test."""
    options: ClassVar[Mapping[str, Any]] = {}
    """The `prompts.options` of the tests."""
    good: ClassVar[Mapping[str, str]]
    """Case files without a defect: content by name."""
    cases: ClassVar[int]
    """The number of cases in `good`."""
    defective: ClassVar[Sequence[DefectiveFile]]
    """One file for each kind of defect."""
    replies: ClassVar[Sequence[SampleReply]]
    """Replies that pass, fail, or do neither."""

    def judge_reply(self, messages: Sequence[Turn], sample: SampleReply) -> str:
        """A judge's reply to `messages` that leads to the outcome of `sample`.

        Override it for a dialect that asks judges.
        """
        raise NotImplementedError("the dialect asks judges: say what one answers")

    def many(self, count: int) -> tuple[str, str] | None:
        """Name and content of a good file with `count` cases; `None` if the format can only be read
        as a whole."""
        return None

    # -- interface -------------------------------------------------------------------------

    def test_it_has_what_a_dialect_has(self) -> None:
        mine = self.made()
        assert mine.name == self.dialect
        assert [member for member in MEMBERS if not hasattr(mine, member)] == []
        assert mine.suffixes and all(
            suffix.startswith(".") and suffix == suffix.lower() for suffix in mine.suffixes
        )

    # -- files -----------------------------------------------------------------------------

    def test_it_recognises_its_files_and_loads_every_case(self) -> None:
        with self._files(self.good) as files:
            assert [file.name for file in files if not self.made().recognises(file)] == []
            problems = Problems()
            cases = list(self.made().load(files, problems))
        assert [str(problem) for problem in problems.errors] == []
        assert len(cases) == self.cases
        assert {case.dialect for case in cases} == {self.dialect}
        assert len({(case.suite_id, case.case_id) for case in cases}) == self.cases

    def test_loading_the_same_files_again_gives_the_same_cases(self) -> None:
        with self._files(self.good) as files:
            once = [case.digest() for case in self.made().load(files, Problems())]
            again = [case.digest() for case in self.made().load(files, Problems())]
        assert once == again

    def test_it_reads_as_it_goes(self) -> None:
        peaks = []
        for count in (100, 1000):
            if (generated := self.many(count)) is None:
                raise SkipTest("the format is read as a whole")
            with self._files(dict([generated])) as files:
                tracemalloc.start()
                loaded = sum(1 for _ in self.made().load(files, Problems()))
                peaks.append(tracemalloc.get_traced_memory()[1])
                tracemalloc.stop()
            assert loaded == count
        assert peaks[1] < 3 * peaks[0] + 200_000, f"ten times the cases take {peaks} bytes"

    def test_every_defect_is_told_with_its_place(self) -> None:
        for defect in self.defective:
            with self._files({defect.file: defect.content}) as (file,):
                problems = Problems()
                list(self.made().load([file], problems))
                messages = [str(problem) for problem in problems.errors]
                assert messages, f"{defect} is no error"
                assert all(problem.path == file for problem in problems.errors), messages
                assert all(problem.line for problem in problems.errors), messages
                assert any(
                    problem.line == defect.line and defect.field in (None, problem.field)
                    for problem in problems.errors
                ), f"not at line {defect.line}, field {defect.field}: {messages}"

    def test_an_id_that_is_taken_is_refused_with_both_places(self) -> None:
        name, content = next(iter(self.good.items()))
        suffix = Path(name).suffix
        with self._files({name: content, f"again{suffix}": content}) as files:
            problems = Problems()
            alone = len(list(self.made().load(files[:1], Problems())))
            both = len(list(self.made().load(files, problems)))
        assert both == alone
        assert len(problems.errors) >= alone
        assert all(problem.path == files[1] and problem.line for problem in problems.errors)
        assert all(str(files[0]) in str(problem) for problem in problems.errors)

    def test_no_file_makes_it_raise_and_none_is_silently_skipped(self) -> None:
        name, content = next(iter(self.good.items()))
        good = content.encode()
        hostile = {
            "empty": b"",
            "blank": b"\n \n",
            "zeros": b"\x00" * 100,
            "zero inside": good[:10] + b"\x00" + good[10:],
            "latin-1": good + "\u00e9".encode("latin-1"),
            "utf-16": content.encode("utf-16"),
            "one long line": b"x" * 2_000_000,
            "long text": b'{"a": "' + b"x" * 2_000_000 + b'"}\n',
            "nested": b'{"a": ' * 20_000 + b"}" * 20_000,
            "nested list": b"[" * 100_000,
            "half": good[: len(good) // 2],
            "nothing but punctuation": b'"',
            "another thing": b'{"openapi": "3.0.0"}\n',
        }
        for what, raw in hostile.items():
            for suffix in dict.fromkeys((Path(name).suffix, *self.made().suffixes)):
                with self._files({f"hostile{suffix}": raw}) as (file,):
                    assert self.made().recognises(file) in (True, False)
                    problems = Problems()
                    cases = list(self.made().load([file], problems))
                    assert cases or problems.errors, f"nothing is said of {what} in {suffix}"
                    assert all(problem.path == file for problem in problems.errors), what

    def test_looking_at_what_is_no_file_raises_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for suffix in ("", *self.made().suffixes):
                within = Path(folder) / f"folder{suffix}"
                within.mkdir()
                assert not self.made().recognises(within)
                assert not self.made().recognises(Path(folder) / f"none{suffix}")

    def test_a_mark_at_the_beginning_and_windows_lines_change_no_case(self) -> None:
        loaded = self._documents({name: text.encode() for name, text in self.good.items()})
        marked = {name: b"\xef\xbb\xbf" + text.encode() for name, text in self.good.items()}
        windows = {name: text.replace("\n", "\r\n").encode() for name, text in self.good.items()}
        assert self._documents(marked) == loaded
        assert self._documents(windows) == loaded

    def test_a_case_survives_the_store(self) -> None:
        for case in self._cases():
            stored = PromptStored(
                originator_id=prompt_id(case.digest()),
                originator_version=1,
                run_id=None,
                timestamp=datetime(2026, 1, 1, tzinfo=UTC),
                digest=case.digest(),
                case=case,
            )
            read = PromptStored.model_validate_json(stored.model_dump_json())
            assert read.case == case and read.case.digest() == case.digest()
            for sample in self.replies:
                assert (
                    self._final_state(read.case, sample).score
                    == self._final_state(case, sample).score
                )

    # -- grading ---------------------------------------------------------------------------

    def test_classifying_and_scoring_are_total_pure_and_repeatable(self) -> None:
        mine = self.made()
        for case in self._cases():
            before = case.model_dump_json()
            replies = [(text, *ENDINGS[0]) for text in TEXTS]
            replies += [(text, *ending) for text in SHORT_TEXTS for ending in ENDINGS[1:]]
            for text, finish_reason, refusal in replies:
                transcript = self._make_transcript(mine, case, text, finish_reason, refusal)
                classification = mine.classify(case, transcript)
                again = self.made().classify(case, transcript)
                assert classification == again, f"{text[:40]!r}: {classification} and {again}"
                assert (
                    classification.primary and classification.classifier and classification.version
                )
                orjson.dumps(classification.details)
                score = mine.score(case, classification, None)
                assert score == self.made().score(case, classification, None)
                _check_score(score)
            assert case.model_dump_json() == before

    def test_a_reply_comes_to_what_is_said_of_it(self) -> None:
        assert {sample.comes_to for sample in self.replies} & {"passed", "graded"}
        assert {sample.comes_to for sample in self.replies} & {"failed", "graded"}
        for sample in self.replies:
            end = self._final_state(self._case(sample), sample)
            assert _outcome_of(end) == sample.comes_to, (sample, end.score, end.abandoned)

    def test_a_cut_off_reply_is_not_failed(self) -> None:
        for sample in self.replies:
            if sample.stands_before_a_cut:
                continue
            cut = SampleReply(sample.text, "unscored", "length", sample.refusal, sample.case_id)
            assert _outcome_of(self._final_state(self._case(sample), cut)) != "failed", sample

    def test_what_a_provider_withheld_or_broke_off_is_not_graded(self) -> None:
        endings = {"SAFETY": "content_filter", "abort": "broken", "new": "unknown_finish_reason"}
        for sample in self.replies:
            for finish_reason, kind in endings.items():
                ended = SampleReply(sample.text, "unscored", finish_reason, None, sample.case_id)
                end = self._final_state(self._case(sample), ended)
                assert end.score is None and not end.verdicts, sample
                assert end.abandoned is not None and end.abandoned.kind == kind, sample
                assert end.classification is not None
                assert end.classification.primary not in ("pass", "fail", "refusal"), sample

    def test_thoughts_that_open_a_reply_are_not_graded(self) -> None:
        """Dialects that grade `ModelReply.answer` pass; those that grade `ModelReply.text` fail."""
        for sample in self.replies:
            text = f"<think>{THOUGHT}</think>\n\n{sample.text}"
            thought = replace(sample, text=text, refusal=sample.refusal)
            end = self._final_state(self._case(sample), thought)
            assert _outcome_of(end) == sample.comes_to, (sample, end.score, end.abandoned)
            assert end.replies[-1].text == text, "the whole text stays on record"

    def test_an_error_is_not_scored(self) -> None:
        for case in self._cases():
            failed = Transcript((), Failure("http_500", "it broke"))
            assert self.made().classify(case, failed).primary
            *_, end = stages(self.made(), case, lambda turn: None)
            assert end.finished and end.score is None
            assert end.abandoned is not None and end.abandoned.kind == "http_500"

    def test_there_is_a_result_in_json_at_every_stage(self) -> None:
        for sample in self.replies:
            case = self._case(sample)
            for state in self._stages(case, sample):
                result = self.made().result(case, state)
                assert orjson.dumps(result) == orjson.dumps(self.made().result(case, state))

    def test_a_failure_names_an_expectation_that_is_not_met_and_a_pass_names_none(self) -> None:
        for sample in self.replies:
            case = self._case(sample)
            for state in self._stages(case, sample):
                outcome = outcome_of(state)
                stated = expectations_of(case, outcome)
                assert all(one.expected and one.fault for one in stated), stated
                if stated and outcome.passed is not None:
                    assert any(one.met is False for one in stated) is not outcome.passed, stated

    # -- judges ----------------------------------------------------------------------------

    def test_what_a_judge_says_is_read_and_nothing_is_invented(self) -> None:
        count = 0
        for sample in self.replies:
            case, mine = self._case(sample), self.made()
            transcript = self._make_transcript(
                mine, case, sample.text, sample.finish_reason, sample.refusal
            )
            messages = mine.judge_messages(case, transcript)
            if messages is None:
                continue
            count += 1
            assert isinstance(mine, ReadsJudges), "it asks judges and can't read them"
            assert messages == self.made().judge_messages(case, transcript)
            answer = ModelReply(0, self.judge_reply(messages, sample), "stop")
            reading = mine.read_judgement(case, transcript, answer)
            assert reading.verdict is not None, reading.problem
            recorded = orjson.loads(orjson.dumps(reading.verdict))
            assert recorded == reading.verdict
            classification = mine.classify(case, transcript)
            for verdict in (reading.verdict, recorded):
                judgement = Judgement("majority", (JudgeVerdict(JUDGE, verdict),))
                _check_score(mine.score(case, classification, judgement))
            for text in TEXTS:
                unread = mine.read_judgement(case, transcript, ModelReply(0, text, "stop"))
                assert (unread.verdict is None) == (unread.problem is not None)
                assert unread.verdict is None, f"{text[:40]!r} is taken for a verdict"
        if not count:
            raise SkipTest("the dialect asks no judges")

    # -- inside ----------------------------------------------------------------------------

    def made(self) -> Dialect:
        """The dialect under test, created with `options`."""
        return configured(dialect_named(self.dialect), self.options)

    @contextmanager
    def _files(self, contents: Mapping[str, str | bytes]) -> Iterator[list[Path]]:
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for name, content in contents.items():
                file = Path(folder) / name
                file.write_bytes(content.encode() if isinstance(content, str) else content)
                files.append(file)
            yield files

    def _documents(self, contents: Mapping[str, bytes]) -> list[dict[str, Any]]:
        """The turns, expectation and id of each case, without its file and line."""
        with self._files(contents) as files:
            problems = Problems()
            cases = list(self.made().load(files, problems))
        assert [str(problem) for problem in problems.errors] == []
        return [
            {"turns": case.turns, "expectation": case.expectation, "id": case.case_id}
            for case in cases
        ]

    def _cases(self) -> list[Case]:
        with self._files(self.good) as files:
            return list(self.made().load(files, Problems()))

    def _case(self, sample: SampleReply) -> Case:
        cases = self._cases()
        return next((case for case in cases if case.case_id == sample.case_id), cases[0])

    def _make_transcript(
        self, mine: Dialect, case: Case, text: str, finish_reason: str | None, refusal: str | None
    ) -> Transcript:
        """A transcript in which every turn has this reply."""
        replies: tuple[ModelReply, ...] = ()
        while mine.messages(case, Transcript(replies)) is not None and len(replies) < 50:
            replies = (*replies, ModelReply(len(replies), text, finish_reason, refusal))
        return Transcript(replies)

    def _stages(self, case: Case, sample: SampleReply) -> Iterator[Evaluation]:
        def answer(turn: int) -> ModelReply:
            return ModelReply(turn, sample.text, sample.finish_reason, sample.refusal)

        def judged(messages: Sequence[Turn]) -> str:
            return self.judge_reply(messages, sample)

        return stages(self.made(), case, answer, judged)

    def _final_state(self, case: Case, sample: SampleReply) -> Evaluation:
        *_, end = self._stages(case, sample)
        assert end.finished
        return end


def _check_score(score: Score | Failure) -> None:
    if isinstance(score, Failure):
        assert score.kind
        return
    assert score.passed in (True, False, None)
    assert score.scores and all(math.isfinite(value) for value in score.scores.values())
    assert score.scorer and score.version and score.graders == {}
    orjson.dumps(score.scores)


def _outcome_of(end: Evaluation) -> SampleOutcome:
    if end.score is None:
        return "unscored"
    if end.score.passed is None:
        return "graded"
    return "passed" if end.score.passed else "failed"
