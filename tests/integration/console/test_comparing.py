"""Comparisons, suites, cases, the review queue and charts: their numbers are the log's."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import uuid4

import httpx
import orjson
import psycopg
import pytest

from failproof_es.core.case import Case
from failproof_es.reading.overviews.compared_runs import beginning
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.report.data.comparison import OVERALL, comparisons, pairings
from failproof_es.report.data.observations import observations
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.reading.reader import resolve_run
from failproof_es.support.text_differences import text_difference
from tests.acceptance.commands import invoke, write_configuration
from tests.conftest import create_database, database_url_as, drop_database
from tests.console import console, settings_for
from tests.integration.console.test_pages import Text

CASES = 24
HOSTILE = "<script>alert(1)</script>\u202eevil\u200b\x1b]8;;http://x\x07=1+1"
OTHER_CASE = "hostile/<b>\u202e"


class Answers(ThreadingHTTPServer):
    """A model whose answers change: case n fails where `fails(n)`."""

    modulus = 3

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Asked)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Asked(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Answers)
        body = orjson.loads(self.rfile.read(int(self.headers["content-length"])))
        number = int(body["messages"][-1]["content"].split()[2].rstrip("."))
        failed = number % self.server.modulus == 0
        text = "alike\n" * 30 + ("again\n" * 5 + HOSTILE if failed else f"number {number}")
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "finish_reason": "stop",
        }
        self._reply({"id": "1", "object": "chat.completion", "created": 1, "model": body["model"],
                     "choices": [choice]})  # fmt: skip

    def do_GET(self) -> None:
        models = [{"id": name, "object": "model"} for name in ("mock", "b")]
        self._reply({"object": "list", "data": models})

    def _reply(self, told: object) -> None:
        data = orjson.dumps(told)
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _write(folder: Path, *, cases: int = CASES, notes: str | None = None) -> None:
    with (folder / "suite.jsonl").open("wb") as lines:
        for n in range(cases):
            case = {
                "case_id": OTHER_CASE if n == 1 else f"case-{n:02}",
                "suite_id": ("arithmetic", "language")[n % 2],
                "category": ("easy", "hard")[n % 4 == 0],
                "prompt": f"Say number {n}.",
                "expected_response": f"number {n}",
                "tags": [f"paraphrase:{n // 2}"] if n < 8 else ["plain"],
            }
            if notes is not None and n < 4:
                case["source"] = notes
            lines.write(orjson.dumps(case) + b"\n")


@pytest.fixture(scope="module")
def compared_log(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """Runs 1 and 2 at the same, 3 asks it twice, 4 with other notes and fewer cases."""
    name = f"compare_{uuid4().hex}"
    create_database(postgres_server, name, migrated_database)
    url = database_url_as(postgres_server, name)
    folder = tmp_path_factory.mktemp("compare")
    server = Answers()
    _write(folder)
    write_configuration(folder, server.url)
    invoke(url, "start", "run.yaml", "--quiet", cwd=folder)
    server.modulus = 4
    invoke(url, "start", "run.yaml", "--quiet", cwd=folder)
    write_configuration(folder, server.url, execution={"repetitions": 2, "parallel_workers": 4})
    invoke(url, "start", "run.yaml", "--quiet", cwd=folder)
    server.modulus = 5
    _write(folder, cases=20, notes="elsewhere")
    write_configuration(folder, server.url)
    invoke(url, "start", "run.yaml", "--quiet", cwd=folder)
    server.shutdown()
    server.server_close()
    yield url
    drop_database(postgres_server, name)


@pytest.fixture(scope="module")
def compared_url(compared_log: str) -> Iterator[str]:
    with console(**settings_for(compared_log)) as url:
        yield url


@pytest.fixture
def asking(compared_url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=compared_url, timeout=60) as opened:
        yield opened


@pytest.mark.parametrize(("base", "other"), [(1, 2), (2, 1), (2, 3), (1, 4), (4, 3), (2, 2)])
@pytest.mark.slow
def test_a_comparison_is_that_of_the_report(
    asking: httpx.Client, compared_log: str, base: int, other: int
) -> None:
    found = asking.get(f"/compare.json?base={base}&other={other}").json()
    with psycopg.connect(compared_log) as connection:
        series = {
            name: list(
                observations(RecordedRun.read_events(connection, run_id), series_format=name)
            )
            for name, number in (("other", other), ("base", base))
            for run_id in (resolve_run(connection, str(number)),)
        }
    (told,) = [each for each in comparisons(series) if each.what == OVERALL]
    (left_out,) = pairings(series)
    (each,) = found["models"]
    paired = told.paired
    assert (each["better"], each["worse"]) == (paired.first_only, paired.second_only)
    assert sum(each[n] for n in ("both_passed", "both_failed", "worse", "better")) == paired.pairs
    assert each["clusters"] == paired.clusters
    assert each["difference"] == pytest.approx(paired.difference)
    if paired.interval is None:
        assert each["low"] is None
    else:
        assert (each["low"], each["high"]) == pytest.approx(
            (paired.interval.low, paired.interval.high)
        )
    assert each["p"] == pytest.approx(paired.p)
    assert {one["why"]: (one["second"], one["first"]) for one in each["unpaired"]} == {
        one.why: (one.first, one.second) for one in left_out.unpaired
    }


@pytest.mark.slow
def test_the_pairs_that_differ_come_first_and_none_is_missing(asking: httpx.Client) -> None:
    lines = asking.get("/compare.jsonl?base=1&other=2&show=all").text.splitlines()
    pairs = [json.loads(line) for line in lines]
    assert [each["place"] for each in pairs] == sorted(each["place"] for each in pairs)
    expected = Counter(
        0 if n % 3 and not n % 4 else 1 if n % 4 and not n % 3 else 3 if n % 12 else 2
        if not n % 3 and not n % 4 else 3
        for n in range(CASES)
    )  # fmt: skip
    assert Counter(each["place"] for each in pairs) == expected
    for show, places in (("worse", {0}), ("better", {1}), ("discordant", {0, 1})):
        seen: list[str] = []
        url: str | None = f"/compare.json?base=1&other=2&limit=1&show={show}"
        after = ""
        while url is not None:
            page = asking.get(url + after).json()
            seen += [each["pair"]["base_evaluation_id"] for each in page["rows"]]
            if page["paging"]["next"] is None:
                break
            after = f"&after={page['paging']['next']}"
        assert seen == [p["base_evaluation_id"] for p in pairs if p["place"] in places]
        assert page["paging"]["matching"] == len(seen)


def test_where_pairs_differ_adds_up(asking: httpx.Client) -> None:
    page = asking.get("/compare.json?base=1&other=2").json()
    for word in ("worse", "better"):
        assert sum(each[word] for each in page["groups"]) == page["chosen"][word]
    for better, word in ((True, "better"), (False, "worse")):
        told = [each["pairs"] for each in page["classes"] if each["better"] is better]
        assert sum(told) == page["chosen"][word]


def test_equal_and_repeated_lines_are_folded_and_hostile_text_is_visible(
    asking: httpx.Client,
) -> None:
    text = asking.get("/compare?base=1&other=2").text
    assert "<script>alert" not in text and "\u202e" not in text and "\x1b" not in text
    assert "&lt;script&gt;" in text and "\\u202e" in text
    assert "30 times" in text and "5 times" in text
    (row,) = asking.get("/compare.json?base=1&other=2&limit=1").json()["rows"]
    assert not row["same_answer"]
    assert {each["kind"] for each in row["lines"]} == {"same", "base", "other"}
    for side, run_number in (("base", 1), ("other", 2)):
        link = f"/evaluations/{row['pair'][f'{side}_evaluation_id']}"
        assert link in Text(text).links
        assert asking.get(f"{link}.json").json()["run_number"] == run_number


def test_what_was_set_otherwise_is_told(asking: httpx.Client) -> None:
    page = asking.get("/compare.json?base=2&other=3").json()
    assert "execution.repetitions" in {each["path"] for each in page["configuration"]}
    page = asking.get("/compare.json?base=2&other=4").json()
    assert (page["same_cases"], page["only_base_cases"], page["only_other_cases"]) == (16, 8, 4)
    assert {each["differs"] for each in page["cases"]["changed"]} == {"what is noted"}
    assert len(page["cases"]["only_left"]) == 4


def test_without_a_base_it_is_the_attempt_before(asking: httpx.Client) -> None:
    page = asking.get("/compare.json?other=2").json()
    assert (page["base"]["run_number"], page["same_experiment"]) == (1, True)
    assert asking.get("/compare.json?other=latest").json()["other"]["run_number"] == 4
    found = asking.get("/compare?other=1")
    assert found.status_code == 404 and "/compare?base=RUN" in found.text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/compare?base=1&other=99", 404),
        ("/compare?base=1", 422),
        ("/compare?base=1&other=2&model=nobody", 422),
        ("/compare?base=1&other=2&show=none", 422),
        ("/compare?base=1&other=2&after=x", 422),
        ("/compare?base=1&other=2&after=99999999999999~a~b~1~c", 422),
        ("/compare?base=1&other=2&limit=51", 422),
        ("/compare?base=1&other=2&what=1", 422),
        ("/suites?after=a~b", 422),
        ("/suites?after=%00", 422),
        ("/cases?after=%00~a~00000000-0000-4000-8000-000000000000", 422),
        ("/cases?after=a", 422),
        ("/cases?suite=" + "x" * 1001, 422),
        ("/cases/none", 404),
        ("/cases/" + "0" * 64, 404),
        ("/cases/00000000-0000-4000-8000-000000000000", 404),
        ("/review?state=none", 422),
        ("/review?run=99999999999999999999", 422),
        ("/review?after=-1", 422),
        ("/runs/99/charts", 404),
    ],
)
def test_what_is_wrong_says_so(asking: httpx.Client, path: str, status: int) -> None:
    found = asking.get(path)
    assert found.status_code == status, found.text
    assert "went wrong" not in found.text and "Traceback" not in found.text
    name, question, parameters = path.partition("?")
    assert asking.get(f"{name}.json{question}{parameters}").json()["remedy"]
    if "after" not in path and "limit" not in path and "charts" not in path:
        for extension in (".csv", ".jsonl"):
            found = asking.get(f"{name}{extension}{question}{parameters}")
            assert found.status_code == status and found.json()["remedy"]


def test_suites_and_cases_are_those_of_the_log(asking: httpx.Client, compared_log: str) -> None:
    with psycopg.connect(compared_log) as connection:
        stored = [
            Case.model_validate(row[0]["case"])
            for row in connection.execute(
                "SELECT convert_from(state, 'UTF8')::json FROM failproof.stored_events "
                "WHERE topic = 'PromptStored'"
            )
        ]
    suites = asking.get("/suites.json").json()["rows"]
    assert {each["suite"]: (each["cases"], each["versions"]) for each in suites} == {
        suite: (
            len({case.case_id for case in stored if case.suite_id == suite}),
            sum(case.suite_id == suite for case in stored),
        )
        for suite in ("arithmetic", "language")
    }
    assert {each["runs"] for each in suites} == {4}
    lines = asking.get("/cases.jsonl?suite=language").text.splitlines()
    names = [json.loads(line)["case"] for line in lines]
    assert sorted(names) == sorted(case.case_id for case in stored if case.suite_id == "language")
    seen: list[str] = []
    after = ""
    while True:
        page = asking.get(f"/cases.json?suite=language&limit=3{after}").json()
        seen += [each["case"] for each in page["rows"]]
        if page["paging"]["next"] is None:
            break
        after = f"&after={page['paging']['next']}"
    assert seen == names
    assert page["paging"]["matching"] == len(names)
    assert page["paging"]["total"] == len(stored)


def test_a_case_has_its_digest_and_every_time_it_was_asked(
    asking: httpx.Client, compared_log: str
) -> None:
    (row,) = asking.get("/cases.json?text=case-12").json()["rows"]
    page = asking.get(f"/cases/{row['prompt_id']}.json").json()
    assert Case.model_validate(page["case"]).digest() == page["digest"]
    assert asking.get(f"/cases/{page['digest']}.json").json()["prompt_id"] == row["prompt_id"]
    # fails by 3 in run 1, by 4 in run 2, twice by 4 in run 3, passes by 5 in run 4
    assert [(each["run_number"], each["passed"]) for each in page["rows"]] == [
        (4, True), (3, False), (3, False), (2, False), (1, False),
    ]  # fmt: skip
    (model,) = page["models"]
    assert (model["passed"]["passed"], model["passed"]["total"], model["runs"]) == (1, 5, 4)
    assert [each["rate"] for each in model["trend"]] == [0, 0, 0, 1]
    first = asking.get(f"/cases/{row['prompt_id']}.json?limit=2").json()
    second = asking.get(
        f"/cases/{row['prompt_id']}.json?limit=9&after={first['paging']['next']}"
    ).json()
    assert first["rows"] + second["rows"] == page["rows"]
    with psycopg.connect(compared_log) as connection:
        (topic,) = connection.execute(
            "SELECT topic FROM failproof.stored_events WHERE notification_id = %s",
            (page["position"],),
        ).fetchone() or ("",)
    assert topic == "PromptStored"


def test_versions_of_a_name_lead_to_each_other(asking: httpx.Client) -> None:
    rows = asking.get("/cases.json?text=case-02").json()["rows"]
    assert len(rows) == 2
    one, other = (asking.get(f"/cases/{row['prompt_id']}.json").json() for row in rows)
    assert [each["prompt_id"] for each in one["versions"]] == [other["prompt_id"]]
    assert (
        f"/cases/{rows[1]['prompt_id']}"
        in Text(asking.get(f"/cases/{rows[0]['prompt_id']}").text).links
    )


def test_hostile_names_are_visible_and_can_be_asked_for(asking: httpx.Client) -> None:
    for path in ("/cases", "/compare?base=1&other=2&show=all&limit=50"):
        text = asking.get(path).text
        assert "\u202e" not in text and "<b>" not in text and "\\u202e" in text
    found = httpx.QueryParams({"text": OTHER_CASE})
    assert len(asking.get(f"/cases.json?{found}").json()["rows"]) == 2


def test_charts_are_drawn_of_the_numbers_beside_them(asking: httpx.Client) -> None:
    page, html = asking.get("/runs/1/charts.json").json(), asking.get("/runs/1/charts").text
    assert html.count('role="graphics-document"') == 5
    assert "style=" not in html and "<style" not in html
    text = Text(html).text
    assert len(page["suites"]) == 2
    for each in page["suites"]:
        assert f"{each['passed']['passed']}/{each['passed']['total']}" in text


def test_why_a_model_failed_more_is_found_in_six_clicks(asking: httpx.Client) -> None:
    clicks = [
        ("/runs", "/runs/2"),
        ("/runs/2", "/compare?other=2"),
        ("/compare?other=2", "/compare?other=2&show=worse"),
    ]
    for page, link in clicks:
        assert link in Text(asking.get(page).text).links, (page, link)
    worse = asking.get("/compare?other=2&show=worse")
    cases = [link for link in Text(worse.text).links if link.startswith("/cases/")]
    assert cases and "again" in worse.text  # what it said instead stands there
    asked = asking.get(cases[0])
    assert asked.status_code == 200
    told = asking.get(f"{cases[0]}.json").json()
    (failed,) = (each for each in told["rows"] if each["run_number"] == 2)
    assert not failed["passed"]
    last = f"/evaluations/{failed['evaluation_id']}"
    assert last in Text(worse.text).links and last in Text(asked.text).links
    said = Text(asking.get(last).text).text  # the question, and all that was answered
    assert told["case"]["turns"][-1]["content"] in said and "again" in said
    assert len(clicks) + 2 <= 6


# -- differences of texts ---------------------------------------------------------------------


def test_equal_texts_are_folded_whole() -> None:
    found = text_difference("a\nb\nc\nd", "a\nb\nc\nd")
    assert found.same and [(each.kind, each.times) for each in found.lines] == [("folded", 4)]
    assert text_difference("", "").lines == ()


def test_a_hundred_thousand_lines_and_ten_megabytes_are_bounded() -> None:
    many = "\n".join(str(n) for n in range(100_000))
    found = text_difference(many, "x" * 10_000_000)
    assert len(found.lines) <= 401 and found.lines_left_out == 99_800
    assert max(len(each.text) for each in found.lines) <= 1_000
    assert [each.times for each in text_difference("a\n" * 9, "").lines] == [9, 1]


def test_the_beginning_of_a_text_may_be_cut_within_an_escape() -> None:
    text = json.dumps("a\x00\U0001f600b\n" * 3)
    for end in range(1, len(text) + 1):
        assert json.loads(text).startswith(beginning(text[:end], len(text)).rstrip("\ufffd?"))
    assert beginning(None, None) == ""
