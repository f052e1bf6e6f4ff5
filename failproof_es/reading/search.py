"""Search by id, number, name or words: finds runs, cases, evaluations and events.

Indexed things are found wherever they are. Everything else is searched for in the newest part of
the log; `ScanExtent` tells how far.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, LiteralString, get_args
from uuid import UUID

import orjson

from failproof_es.core.case import prompt_id
from failproof_es.core.case import run_id as run_id_of
from failproof_es.events import EVENTS
from failproof_es.reading.case_texts import TEXTS_OF_CASE
from failproof_es.store import ledger
from failproof_es.store.errors import UnreadableState
from failproof_es.store.reading.log_pages import event_at, stream_topics
from failproof_es.store.reading.reader import Connection, read_positions
from projections.protocol import exact_text, visible

MOST_OF_A_KIND = 20
"""Maximum number of hits of each kind."""
EVENTS_LOOKED_AT = 20_000
EVALUATIONS_LOOKED_AT = 5_000
CASES_LOOKED_AT = 2_000
_RUNS_LOOKED_AT = 200
_BYTES_LOOKED_AT = 1 << 24
_ANSWER_BYTES_LOOKED_AT = 1 << 22
_AROUND = 60
"""Number of characters that are shown before and after found words."""

Kind = Literal["run", "case", "evaluation", "event", "stream"]
_KINDS: tuple[Kind, ...] = get_args(Kind)
_NAMED_KIND = re.compile(rf"({'|'.join(_KINDS)})[\s:#]+(\S.*)", re.IGNORECASE | re.DOTALL)
_DIGEST = re.compile(r"(?:sha256:)?([0-9a-fA-F]{64})")

_RUN_BY_NUMBER = "SELECT run_number, run_id FROM failproof.run_list WHERE run_number = %s"
_RUN_BY_ID = "SELECT run_number, run_id FROM failproof.run_list WHERE run_id = %s"
_NAMES = "SELECT run_id, name FROM projections.runs WHERE run_id = ANY (%s)"
_RUNS_NAMED = (
    "SELECT run_number, name, status FROM projections.runs "
    "WHERE strpos(lower(name), lower(%(text)s)) > 0 OR starts_with(run_id::text, lower(%(text)s)) "
    "ORDER BY run_number DESC LIMIT %(most)s"
)
_RUNS_ASKED = (
    "SELECT run_number, name, configuration_digest = %(digest)s FROM projections.runs AS r "
    "WHERE configuration_digest = %(digest)s OR EXISTS (SELECT FROM failproof.run_asked_list AS a "
    "WHERE a.run_id = r.run_id AND a.experiment = %(digest)s) "
    "ORDER BY run_number DESC LIMIT %(most)s"
)
_CASES = (
    "SELECT prompt_id, case_id, suite_id FROM projections.prompts WHERE case_id >= %s "
    "ORDER BY case_id, suite_id LIMIT %s"
)
_CASE = "SELECT case_id, suite_id FROM projections.prompts WHERE prompt_id = %s"
_EVALUATION = (
    "SELECT r.run_number, p.case_id, e.model_key, e.source_run_id IS NOT NULL "
    "FROM projections.evaluations AS e "
    "JOIN failproof.run_list AS r USING (run_id) LEFT JOIN projections.prompts AS p "
    "USING (prompt_id) WHERE e.evaluation_id = %s"
)
_REACH = (
    "SELECT count(*), min(position) FROM (SELECT position, sum(bytes) OVER "
    "(ORDER BY position DESC ROWS UNBOUNDED PRECEDING) AS total FROM ("
    "SELECT notification_id AS position, octet_length(state) AS bytes "
    "FROM failproof.stored_events ORDER BY notification_id DESC LIMIT %s) AS newest) AS summed "
    "WHERE total <= %s"
)
_ANSWERS_WITH = (
    "SELECT notification_id FROM failproof.stored_events WHERE notification_id >= %s "
    "AND topic IN ('ResponseReceived', 'ErrorRecorded', 'AnswerImported') "
    "AND position(%s::bytea IN state) > 0 "
    "ORDER BY notification_id DESC LIMIT %s"
)
_NEWEST_RUNS = "SELECT run_number, run_id FROM projections.runs ORDER BY run_number DESC LIMIT %s"
_WORDS = (
    "SELECT evaluation_id, model_key, case_id, source_run_id IS NOT NULL, total, "
    "CASE WHEN strpos(lower(answer::text), %(words)s) > 0 THEN answer::text END "
    "FROM (SELECT *, sum(pg_column_size(answer)) OVER (ROWS UNBOUNDED PRECEDING) AS total "
    "FROM (SELECT evaluation_id, model_key, prompt_id, source_run_id, answer "
    "FROM projections.evaluations WHERE run_id = %(run)s AND answer IS NOT NULL "
    "LIMIT %(most)s) AS taken) AS summed "
    "LEFT JOIN projections.prompts USING (prompt_id) WHERE total <= %(bytes)s"
)

_CASES_ASKED = (
    "SELECT planned.prompt_id FROM (SELECT run_id FROM projections.runs "
    "ORDER BY run_number DESC LIMIT %(runs)s) AS newest CROSS JOIN LATERAL (SELECT prompt_id "
    "FROM projections.planned_cases AS c WHERE c.run_id = newest.run_id LIMIT %(most)s) AS planned "
    "LIMIT %(most)s"
)
_CASES_WITHIN = (
    "SELECT prompt_id FROM (SELECT prompt_id, sum(octet_length(state)) OVER "
    "(ORDER BY place ROWS UNBOUNDED PRECEDING) AS total "
    "FROM unnest(%(cases)s::uuid[]) WITH ORDINALITY AS asked (prompt_id, place) "
    "JOIN failproof.stored_events ON originator_id = prompt_id AND originator_version = 1"
    ") AS summed WHERE total <= %(bytes)s"
)
_CASES_WITH = (
    "SELECT DISTINCT ON (prompt_id) prompt_id, case_id, suite_id, sought "
    f"FROM projections.prompts, {TEXTS_OF_CASE} WHERE prompt_id = ANY (%(cases)s) "
    "AND originator_id = prompt_id AND originator_version = 1 "
    "AND strpos(lower(sought), lower(%(words)s)) > 0 ORDER BY prompt_id LIMIT %(most)s"
)


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing found by a search."""

    kind: Kind
    id: str
    """A run's number, an event's position, or the stream id of anything else."""
    title: str
    says: str
    exact: bool
    """Whether the whole query is its name or id."""


@dataclass(frozen=True, slots=True)
class ScanExtent:
    """Limits of an unindexed scan for `what`: it covered `looked_at` things of the kind `of`."""

    what: str
    looked_at: int
    """Number of things scanned, the newest."""
    of: str
    complete: bool
    """Whether everything was scanned."""


@dataclass(slots=True)
class SearchResult:
    """Search hits, exact matches first, and the extents of scans."""

    hits: list[Hit] = field(default_factory=list)
    looked: list[ScanExtent] = field(default_factory=list)

    @property
    def only(self) -> Hit | None:
        """The only exact match; `None` if there is none or several."""
        exact = [hit for hit in self.hits if hit.exact]
        return exact[0] if len(exact) == 1 else None


def search(connection: Connection, text: str, *, projected: bool) -> SearchResult:
    """Search for an id, number, name or words. `projected`: whether the projections can be read.

    A kind before the text restricts the search: `run 12`, `event 12`. Request ids and words in
    answers and cases are searched for only if no name or id matches exactly. At most
    `MOST_OF_A_KIND` hits for each way to search.
    """
    return _Search(connection, text, projected).search()


class _Search:
    def __init__(self, connection: Connection, text: str, projected: bool) -> None:
        self._connection = connection
        self._projected = projected
        match = _NAMED_KIND.fullmatch(text.strip())
        self._kinds = _KINDS if match is None else (match[1].lower(),)
        self._text = text.strip() if match is None else match[2].strip()
        self._whole = text.strip()
        self._result = SearchResult()

    def search(self) -> SearchResult:
        text = self._text
        if not text:
            return self._result
        number = text.lstrip("#")
        if number.isascii() and number.isdigit() and len(number) < 19:
            self._find_number(int(number))
        if (stream := _parse_uuid(text)) is not None:
            self._find_stream(stream)
        elif (digest := _DIGEST.fullmatch(text)) is not None:
            self._find_digest(digest[1].lower())
        if "\0" not in text:
            self._find_names()
            if not any(hit.exact for hit in self._result.hits):
                self._find_request_id()
                self._find_words()
                self._find_words_of_cases()
        self._result.hits.sort(key=lambda hit: not hit.exact)
        return self._result

    def _add(self, kind: Kind, key: object, title: str, says: str = "", exact: bool = True) -> None:
        hit_keys = {(hit.kind, hit.id) for hit in self._result.hits}
        if kind in self._kinds and (kind, str(key)) not in hit_keys:
            self._result.hits.append(Hit(kind, str(key), title, says, exact))

    # -- indexed -------------------------------------------------------------------------------

    def _find_number(self, number: int) -> None:
        self._find_run(_RUN_BY_NUMBER, number, "run number")
        if (event := event_at(self._connection, number)) is not None:
            self._add("event", number, f"event {number:,}", event.topic)

    def _find_run(self, statement: LiteralString, value: object, by: str) -> bool:
        row = self._connection.execute(statement, (value,)).fetchone()
        if row is None:
            return False
        number, run_id = row
        name = None
        if self._projected:
            name = self._connection.execute(_NAMES, ([run_id],)).fetchone()
        self._add("run", number, f"run {number}", exact_text(name[1]) if name else by)
        return True

    def _find_stream(self, stream: UUID) -> None:
        if self._find_run(_RUN_BY_ID, stream, "run id") and "run" in self._kinds:
            return
        if self._projected:
            row = self._connection.execute(_EVALUATION, (stream,)).fetchone()
            if row is not None and "evaluation" in self._kinds:
                self._add("evaluation", stream, *_describe_evaluation(*row))
                return
            row = self._connection.execute(_CASE, (stream,)).fetchone()
            if row is not None and "case" in self._kinds:
                self._add("case", stream, exact_text(row[0]), f"in suite {exact_text(row[1])}")
                return
        topics = stream_topics(self._connection, stream)
        if topics:
            kinds = {EVENTS[topic].stream for topic in topics if topic in EVENTS}
            says = f"{' or '.join(sorted(kinds)) or 'unknown'} stream"
            self._add("stream", stream, str(stream), says)

    def _find_digest(self, digest: str) -> None:
        stream = prompt_id(digest)
        if stream_topics(self._connection, stream):
            row = None
            if self._projected:
                row = self._connection.execute(_CASE, (stream,)).fetchone()
            title = "a stored case" if row is None else exact_text(row[0])
            self._add("case", stream, title, "digest of the case")
        if self._projected:
            parameters = {"digest": digest, "most": MOST_OF_A_KIND}
            rows = self._connection.execute(_RUNS_ASKED, parameters).fetchall()
            for number, name, of_configuration in rows:
                by = "configuration" if of_configuration else "experiment"
                title = f"run {number} {exact_text(name)}"
                self._add("run", number, title, f"digest of its {by}", len(rows) == 1)
        leaf = ledger.find_leaf(self._connection, bytes.fromhex(digest))
        if leaf.position is not None:
            self._add("event", leaf.position, f"event {leaf.position:,}", "its leaf hash")
        self._result.looked.append(
            ScanExtent("leaf hashes", leaf.looked_at, "events in the tree", leaf.complete)
        )

    def _find_names(self) -> None:
        text = self._text
        self._find_run(_RUN_BY_ID, run_id_of(text), "run id")
        if not self._projected:
            return
        most = MOST_OF_A_KIND
        rows = self._connection.execute(_RUNS_NAMED, {"text": visible(text), "most": most})
        runs = [(number, exact_text(name), status) for number, name, status in rows.fetchall()]
        same = [number for number, name, _ in runs if name == text]
        for number, name, status in runs:
            alone = same == [number] and len(runs) < most
            self._add("run", number, f"run {number} {name}", status, alone)
        begin = visible(text)
        cases = self._connection.execute(_CASES, (begin, most)).fetchall()
        same_case = [row for row in cases if row[1] == begin]
        for stream, case, suite in cases:
            if case.startswith(begin):
                exact = case == begin and len(same_case) == 1
                self._add("case", stream, exact_text(case), f"in suite {exact_text(suite)}", exact)

    # -- scanned -------------------------------------------------------------------------------

    def _find_request_id(self) -> None:
        text = self._text
        if len(text) < 6 or any(sign.isspace() for sign in text) or "event" not in self._kinds:
            return
        parameters = (EVENTS_LOOKED_AT, _BYTES_LOOKED_AT)
        looked_at, first = self._connection.execute(_REACH, parameters).fetchone() or (0, None)
        if first is None:
            return
        needle = orjson.dumps(text)
        rows = self._connection.execute(_ANSWERS_WITH, (first, needle, MOST_OF_A_KIND)).fetchall()
        events = read_positions(self._connection, [position for (position,) in rows])
        matches = [event for event in events if _read_request_id(event.upcast_payload) == text]
        for event in matches:
            says = f"provider request id, {event.topic}{self._describe_owner(event.stream_id)}"
            self._add("event", event.position, f"event {event.position:,}", says, len(matches) == 1)
        oldest = self._connection.execute(
            "SELECT min(notification_id) FROM failproof.stored_events"
        ).fetchone()
        complete = oldest == (first,)
        self._result.looked.append(
            ScanExtent("provider request ids", looked_at, "events", complete)
        )

    def _describe_owner(self, stream: UUID) -> str:
        """The evaluation with this stream, in words; empty if unknown."""
        row = (
            self._connection.execute(_EVALUATION, (stream,)).fetchone() if self._projected else None
        )
        return "" if row is None else " of {}, {}".format(*_describe_evaluation(*row))

    def _find_words(self) -> None:
        if not self._projected or "evaluation" not in self._kinds or self._result.only is not None:
            return
        words = orjson.dumps(self._whole.lower()).decode()[1:-1]
        runs = self._connection.execute(_NEWEST_RUNS, (_RUNS_LOOKED_AT + 1,)).fetchall()
        remaining, room, hits, looked, cut = (
            EVALUATIONS_LOOKED_AT,
            _ANSWER_BYTES_LOOKED_AT,
            0,
            0,
            False,
        )
        for number, run_id in runs[:_RUNS_LOOKED_AT]:
            if remaining <= 0 or room <= 0 or hits >= MOST_OF_A_KIND:
                cut = True
                break
            parameters = {"run": run_id, "words": words, "most": remaining + 1, "bytes": room}
            rows = self._connection.execute(_WORDS, parameters).fetchall()
            cut = cut or len(rows) > remaining
            for evaluation, model, case, carried_over, _, response in rows[:remaining]:
                if response is None:
                    continue
                if hits >= MOST_OF_A_KIND:
                    cut = True  # there are further hits
                    break
                hits += 1
                says = _snippet(json.loads(response), self._whole)
                title, of = _describe_evaluation(number, case, model, carried_over)
                self._add("evaluation", evaluation, title, f"{of}: {says}", False)
            looked += min(len(rows), remaining)
            remaining -= len(rows)
            room -= max((int(row[4]) for row in rows), default=0)
        complete = not cut and len(runs) <= _RUNS_LOOKED_AT and room > 0
        self._result.looked.append(ScanExtent("words in answers", looked, "evaluations", complete))

    def _find_words_of_cases(self) -> None:
        """The cases of the newest runs with the words in a title, description, turn or tag."""
        if not self._projected or "case" not in self._kinds or self._result.only is not None:
            return
        cases, complete = self._choose_cases()
        parameters = {"cases": cases, "words": self._whole, "most": MOST_OF_A_KIND + 1}
        rows = self._connection.execute(_CASES_WITH, parameters).fetchall()
        for stream, case, suite, text in rows[:MOST_OF_A_KIND]:
            says = f"in suite {exact_text(suite)}: {_snippet(text, self._whole)}"
            self._add("case", stream, exact_text(case), says, False)
        complete = complete and len(rows) <= MOST_OF_A_KIND
        self._result.looked.append(ScanExtent("words in cases", len(cases), "cases", complete))

    def _choose_cases(self) -> tuple[list[UUID], bool]:
        """The cases to read for words, within all bounds; and whether these are all cases."""
        limits = {"runs": _RUNS_LOOKED_AT, "most": CASES_LOOKED_AT + 1}
        planned = self._connection.execute(_CASES_ASKED, limits).fetchall()
        cases = list(dict.fromkeys(case for (case,) in planned[:CASES_LOOKED_AT]))
        bounds = {"cases": cases, "bytes": _BYTES_LOOKED_AT}
        chosen = [case for (case,) in self._connection.execute(_CASES_WITHIN, bounds)]
        runs = self._connection.execute(_NEWEST_RUNS, (_RUNS_LOOKED_AT + 1,)).fetchall()
        complete = len(planned) <= CASES_LOOKED_AT and len(runs) <= _RUNS_LOOKED_AT
        return chosen, complete and len(chosen) == len(cases)


def _describe_evaluation(
    number: int, case: str | None, model: str, carried_over: bool
) -> tuple[str, str]:
    """The title of an evaluation (case and model), and its description (the run's `number`)."""
    case_name = "a case" if case is None else exact_text(case)
    return (
        f"{case_name} by {exact_text(model)}",
        f"evaluation of run {number}{', carried over' if carried_over else ''}",
    )


def _parse_uuid(text: str) -> UUID | None:
    try:
        return UUID(text) if len(text) in (32, 36) else None
    except ValueError:
        return None


def _read_request_id(read: Callable[[], dict[str, Any]]) -> object:
    try:
        payload = read()
    except UnreadableState:
        return None
    headers = payload.get("headers") or {}
    return payload.get("provider_request_id") or headers.get("x-request-id")


def _snippet(answer: str, words: str) -> str:
    at = max(answer.lower().find(words.lower()), 0)
    begin, end = max(at - _AROUND, 0), at + len(words) + _AROUND
    return f"{'…' if begin else ''}{answer[begin:end]}{'…' if end < len(answer) else ''}"
