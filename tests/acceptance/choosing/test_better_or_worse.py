"""`diff` lists which evaluations went better or worse, with what was answered."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from html import unescape
from pathlib import Path

import httpx
import orjson

from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite
from tests.console import console, settings_for


def test_what_passed_in_one_run_alone_is_listed_with_both_answers(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    suite = write_suite(tmp_path, 4, prompt="compared {n} ")
    cases = [orjson.loads(line) for line in suite.read_bytes().splitlines()]
    for n, answers in ((0, ("number 0\nof two", "wrong\x1b[31m")), (1, ("wrong", "number 1"))):
        told = ",".join(b64encode(each.encode()).decode() for each in answers)
        cases[n]["prompt"] += f"[answer:{told}]"
    suite.write_bytes(b"\n".join(map(orjson.dumps, cases)))
    write_configuration(tmp_path, mock_url)
    for _ in range(2):
        assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    found = json.loads(invoke(store.url, "diff", 1, 2, "--json", cwd=tmp_path).stdout)
    told_of = [(each["case"], each["what"], each["right_answer"]) for each in found["changed"]]
    assert told_of == [
        ("case-00000", "worse", "wrong\x1b[31m"), ("case-00001", "better", "number 1"),
    ]  # fmt: skip
    assert found["changed"][0]["left_answer"] == "number 0\nof two"
    shown = invoke(store.url, "diff", 1, 2, cwd=tmp_path).stdout
    assert "passed in one run alone: 1 worse, 1 better" in shown
    assert "\x1b[31m" not in shown and "number 0" in shown
    turned = json.loads(invoke(store.url, "diff", 2, 1, "--json", cwd=tmp_path).stdout)
    assert [each["what"] for each in turned["changed"]] == ["worse", "better"]
    assert [each["case"] for each in turned["changed"]] == ["case-00001", "case-00000"]
    same = invoke(store.url, "diff", 1, 1, cwd=tmp_path).stdout
    assert "passed in one run alone: none of 4 pairs: no better, no worse\n" in same


def test_a_renamed_prompt_is_said_to_be_the_same(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    write_suite(tmp_path, 1)
    for name in ("brief", "short"):
        prompts = {name: {"system": "Be brief."}, "polite": {"system": "Be polite."}}
        write_configuration(tmp_path, mock_url, matrix={"prompts": prompts})
        assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    told = " ".join(invoke(store.url, "diff", 1, 2, cwd=tmp_path).stderr.split())
    assert "@brief and mock@short are set alike, but not compared: their names differ" in told
    assert "polite" not in told
    with console(**settings_for(store.url)) as base:
        page = httpx.get(f"{base}/compare.json?base=1&other=2", timeout=60).json()
        assert page["renamed"] == [{"base": "mock@brief", "other": "mock@short"}]
        shown = httpx.get(f"{base}/compare?base=1&other=2", timeout=60).text
        link = re.search(r'href="(/compare\?[^"]*base_model=mock%40brief[^"]*)"', shown)
        assert link is not None and "under another name" in shown
        paired = httpx.get(base + unescape(link[1]), timeout=60)
        assert paired.status_code == 200 and "nothing to compare" not in paired.text
