"""What is said of the judges of a configuration before anything is sent."""

from __future__ import annotations

from pathlib import Path

import orjson

from failproof_es.configuration.loading import load_configuration
from failproof_es.dialects.registry import dialect_named
from failproof_es.engine.drive.judging import judge_problems
from tests.every import every

MODEL = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "m"}


@every(
    ("dialect", "prompts", "is_warned"),
    [
        ("redteam", {"bank": {"system": "The code is 1234."}}, True),
        ("redteam", {"bank": {"user": "{prompt} Be brief."}}, False),
        ("failproof", {"bank": {"system": "The code is 1234."}}, False),
    ],
)
def test_a_system_text_that_judges_never_see_is_warned_of(
    tmp_path: Path, dialect: str, prompts: dict[str, dict[str, str]], is_warned: bool
) -> None:
    written = {
        "test_run": {"name": "n"}, "models": [MODEL], "judge": MODEL | {"model": "judge"},
        "prompts": {"path": "x"}, "matrix": {"prompts": {"plain": {}, **prompts}},
    }  # fmt: skip
    (tmp_path / "run.yaml").write_bytes(orjson.dumps(written))
    configuration = load_configuration(tmp_path / "run.yaml").configuration
    warned = [
        problem
        for problem in judge_problems(dialect_named(dialect), configuration)
        if problem.code == "unseen-by-judges"
    ]
    assert [problem.severity for problem in warned] == ["warning"] * is_warned
    assert all("1 model (m@bank ...)" in problem.message for problem in warned)
