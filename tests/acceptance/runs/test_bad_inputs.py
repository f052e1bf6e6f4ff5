"""What a person can get wrong: one paragraph that says what, where and what to do.

Nothing here reaches a model, and the log that was there before is the same after it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import click.testing
import orjson
import pytest

from tests.acceptance.commands import asked, invoke
from tests.acceptance.conftest import RecordedLog

CANARY = "sk-canary-3f9a1c77"
CASE = {"case_id": "a-1", "suite_id": "a", "prompt": "hello"}
CONFIGURATION = """\
test_run:
  name: spoiled
models:
  - provider: openai
    base_url: http://127.0.0.1:9/v1
    model: mock
    temperature: 0.0
prompts:
  path: suite.jsonl
execution:
  parallel_workers: 2
"""


def check_paragraph(done: click.testing.Result, exit_code: int, *words: str) -> None:
    """One paragraph on stderr, nothing on stdout, no traceback, no secret, these words."""
    said = done.stderr
    assert done.exit_code == exit_code, said
    assert done.stdout == ""
    assert len(re.findall(r"^\w*[Ee]rror: ", said, re.MULTILINE)) == 1, said
    assert "\n\n" not in said.partition("Usage:")[0], said
    assert not re.search(r"Traceback|File \"|\x1b", said), said
    assert CANARY not in done.output
    for word in words:
        assert word in said, said


# -- suites --------------------------------------------------------------------------------


def case(**fields: object) -> bytes:
    return orjson.dumps({**CASE, **fields})


def without(name: str) -> bytes:
    return orjson.dumps({key: value for key, value in CASE.items() if key != name})


SUITES = {
    "bad JSON": (b'{"case_id": "a-1",', ["suite.jsonl:1: ", "at column 19: ", "[not-json]"]),
    "not an object": (b'["a-1"]', ["suite.jsonl:1: ", "[wrong-type]"]),
    "bad JSON on the third line": (case() + b"\n\n{", ["suite.jsonl:3: ", "[not-json]"]),
    "two objects on a line": (case() + case(), ["suite.jsonl:1: ", "at column 50: ", "[not-json]"]),
    "a number for a string": (case(prompt=7), ["suite.jsonl:1: prompt: ", "[wrong-type]"]),
    "null for a string": (case(prompt=None), ["suite.jsonl:1: prompt: ", "is null [wrong-type]"]),
    "a string for a list": (case(tags="x"), ["suite.jsonl:1: tags: ", "[wrong-type]"]),
    "a number in a list": (case(tags=["x", 1]), ["suite.jsonl:1: tags[1]: ", "[wrong-type]"]),
    "a list for variables": (
        case(prompt_vars=[]),
        ["suite.jsonl:1: prompt_vars: ", "[wrong-type]"],
    ),
    "no case_id": (without("case_id"), ["suite.jsonl:1: case_id: ", "[missing-field]"]),
    "no suite_id": (without("suite_id"), ["suite.jsonl:1: suite_id: ", "[missing-field]"]),
    "no prompt": (without("prompt"), ["suite.jsonl:1: prompt: ", "[missing-field]"]),
    "an unknown class": (
        case(expected_classification="maybe"),
        [
            "suite.jsonl:1: expected_classification: ",
            "'pass', 'fail' or 'refusal', is 'maybe' [invalid-value]",
        ],
    ),
    "the same case_id twice": (
        case() + b"\n" + case(),
        ["suite.jsonl:2: case_id: ", "'a-1'", "'a'", "suite.jsonl:1 (", "[duplicate-id]"],
    ),
    "a key twice": (
        b'{"case_id": "a", "case_id": "b"}',
        ["suite.jsonl:1: case_id: ", "[duplicate-field]"],
    ),
    "a variable without a value": (
        case(prompt="hi {{name}}, {{x}}", prompt_vars={"x": "1"}),
        ["suite.jsonl:1: prompt_vars.name: ", "[placeholder-unresolved]"],
    ),
    "not UTF-8": (
        b'{"case_id": "\xff"}',
        ["suite.jsonl:1: ", "byte 0xff at byte 14 ", "[not-utf8]"],
    ),
    "UTF-16": (case().decode().encode("utf-16"), ["suite.jsonl:1: ", "[not-utf8]"]),
    "a lone surrogate": (
        b'{"prompt": "\\ud800"}',
        ["suite.jsonl:1: prompt: ", "\\ud800", "[not-storable]"],
    ),
    "NaN": (b'{"prompt": NaN}', ["suite.jsonl:1: NaN ", "[not-json]"]),
    "Infinity": (b'{"x": -Infinity}', ["suite.jsonl:1: -Infinity ", "[not-json]"]),
    "a number too large": (b'{"x": 1e999}', ["suite.jsonl:1: ", "[out-of-range]"]),
    "an integer too large": (
        b'{"x": 18446744073709551616}',
        ["suite.jsonl:1: ", "[out-of-range]"],
    ),
    "nested too deeply": (
        b'{"x": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
        ["suite.jsonl:1: ", "[nested-too-deeply]"],
    ),
    "an empty file": (b"", ["suite.jsonl: ", "[empty-file]"]),
    "blank lines only": (b"\n \n\n", ["suite.jsonl: ", "[empty-file]"]),
}


@pytest.mark.parametrize("name", SUITES)
def test_a_bad_suite_is_told_with_its_place(name: str, tmp_path: Path) -> None:
    content, words = SUITES[name]
    (tmp_path / "suite.jsonl").write_bytes(content)
    done = invoke("", "suites", "validate", "suite.jsonl", cwd=tmp_path)
    check_paragraph(done, 2, *words)


PATHS = {
    "no such file": ("absent.jsonl", ["absent.jsonl", "[file-not-found]"]),
    "a pattern without a match": ("*.jsonl", ["'*.jsonl'", "[no-cases]"]),
    "a folder without a suite": (".", [".json, .jsonl, .toml, .yaml or .yml", "[no-cases]"]),
    "an empty path": ("", ["[invalid-path]"]),
    "a path under a file": ("file/suite.jsonl", ["file/suite.jsonl", "[file-not-found]"]),
}


@pytest.mark.parametrize("name", PATHS)
def test_a_path_without_suites_is_told(name: str, tmp_path: Path) -> None:
    path, words = PATHS[name]
    (tmp_path / "file").touch()
    check_paragraph(invoke("", "suites", "validate", path, cwd=tmp_path), 2, *words)


def test_all_defects_of_all_files_are_told_at_once_before_anything_is_sent(
    recorded_log: RecordedLog, mock_url: str, tmp_path: Path
) -> None:
    good = case(prompt="is this sent?")
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_bytes(b"\n".join([good, b"{", case(case_id=1, tags="x")]))
    two.write_bytes(
        b"\n".join(
            [case(case_id="b-1", prompt="{{who}}{{x}}", prompt_vars={"x": ""}), case(case_id="a-1")]
        )
    )
    text = CONFIGURATION.replace("suite.jsonl", "'*.jsonl'")
    (tmp_path / "run.yaml").write_text(text.replace("http://127.0.0.1:9/v1", mock_url))
    before = recorded_log.fingerprint()
    done = invoke(recorded_log.url, "start", "run.yaml", cwd=tmp_path)
    check_paragraph(
        done,
        2,
        "error: 5 problems, nothing was sent:",
        "one.jsonl:2: ",
        "one.jsonl:3: case_id: ",
        "one.jsonl:3: tags: ",
        "two.jsonl:1: prompt_vars.who: ",
        "two.jsonl:2: case_id: ",
    )
    assert re.findall(r"\[([a-z-]+)\]$", done.stderr, re.MULTILINE) == [
        "not-json", "wrong-type", "wrong-type", "placeholder-unresolved", "duplicate-id",
    ]  # fmt: skip
    assert recorded_log.fingerprint() == before
    assert "is this sent?" not in asked(mock_url)


# -- configurations ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spoiled:
    """A change of the good configuration, and what must be said about it."""

    old: str
    new: str
    words: tuple[str, ...]


def spoiled(old: str, new: str, *words: str) -> Spoiled:
    return Spoiled(old, new, words)


URL = "http://127.0.0.1:9/v1"
MODELS = CONFIGURATION[CONFIGURATION.index("models:") : CONFIGURATION.index("prompts:")]
CONFIGURATIONS = {
    "empty": spoiled(CONFIGURATION, "", "run.yaml: ", "configs/quickstart.yaml", "[empty-file]"),
    "not YAML": spoiled("test_run:", "test_run: [", "run.yaml:3: ", "column 7", "[not-yaml]"),
    "a list": spoiled(CONFIGURATION, "- a", "run.yaml: ", "[not-a-configuration]"),
    "not UTF-8": spoiled("spoiled", "sp\udcffiled", "run.yaml:2: ", "[not-utf8]"),
    "too large": spoiled(CONFIGURATION, "#" * 1_000_001, "run.yaml: ", "[file-too-large]"),
    "nested too deeply": spoiled(CONFIGURATION, "[" * 60, "run.yaml:1: ", "[nested-too-deeply]"),
    "a key twice": spoiled(
        "    model: mock",
        "    model: a\n    model: b",
        "run.yaml:7: models[0].model: ",
        "line 6",
        "[duplicate-field]",
    ),
    "a misspelt key": spoiled(
        "parallel_workers",
        "paralel_workers",
        "run.yaml:11: execution.paralel_workers: ",
        "did you mean `parallel_workers`?",
        "[unknown-field]",
    ),
    "an unknown section": spoiled("execution:", "zzz:", "run.yaml:10: zzz: ", "[unknown-field]"),
    "a tag": spoiled(
        "mock", "!!python/name:os.system x", "run.yaml:6: ", "!name", "[unsupported-yaml]"
    ),
    "an anchor": spoiled("mock", "&a mock", "run.yaml:6: ", "&name", "[unsupported-yaml]"),
    "an alias": spoiled("mock", "*a", "run.yaml:6: ", "*name", "[unsupported-yaml]"),
    "a word for a number": spoiled(
        "0.0", "hot", "run.yaml:7: models[0].temperature: ", "'hot' (write a number", "[wrong-type]"
    ),
    "a number in quotes": spoiled("workers: 2", "workers: '2'", "run.yaml:11: ", "[wrong-type]"),
    "too hot": spoiled("0.0", "2.5", "run.yaml:7: models[0].temperature: ", "[out-of-range]"),
    "NaN": spoiled("0.0", ".nan", "run.yaml:7: models[0].temperature: ", "[out-of-range]"),
    "no worker": spoiled("workers: 2", "workers: 0", "run.yaml:11: ", "[out-of-range]"),
    "retries below none": spoiled(
        "parallel_workers: 2",
        "retry_attempts: -1",
        "run.yaml:11: execution.retry_attempts: ",
        "[out-of-range]",
    ),
    "a gate beyond 1": spoiled(
        "execution:\n  parallel_workers: 2",
        "gates:\n  min_accuracy: 90",
        "gates.min_accuracy: ",
        "[out-of-range]",
    ),
    "no models": spoiled(MODELS, "", "run.yaml:1: models: ", "[missing-field]"),
    "an empty list of models": spoiled(
        MODELS, "models: []\n", "run.yaml:3: models: ", "[empty-value]"
    ),
    "no prompts": spoiled(
        "prompts:\n  path: suite.jsonl\n", "", "run.yaml:1: prompts: ", "[missing-field]"
    ),
    "no path": spoiled(
        "path: suite.jsonl", "source: file", "run.yaml:8: prompts.path: ", "[missing-field]"
    ),
    "an unknown provider": spoiled(
        "openai", "opnai", "run.yaml:4: models[0].provider: ", "'openai'", "[unknown-name]"
    ),
    "a provider without its URL": spoiled(
        f"    base_url: {URL}\n", "", "models[0].base_url: ", "[missing-field]"
    ),
    "a URL that is none": spoiled(
        URL,
        "localhost",
        "run.yaml:5: models[0].base_url: ",
        "[invalid-url]",
    ),
    "a URL of another kind": spoiled(URL, "file:///etc/passwd", "run.yaml:5: ", "[invalid-url]"),
    "a URL with a password": spoiled(
        URL,
        f"http://me:{CANARY}@127.0.0.1:9/v1",
        "run.yaml:5: models[0].base_url: ",
        "[key-exposed]",
    ),
    "a key in it": spoiled(
        "    model: mock",
        f"    model: mock\n    api_key: {CANARY}",
        "run.yaml:7: models[0].api_key: ",
        "[key-exposed]",
    ),
    "a key for its variable": spoiled(
        "    model: mock",
        f"    model: mock\n    api_key_env: {CANARY}",
        "run.yaml:7: models[0].api_key_env: ",
        "[key-exposed]",
    ),
    "a key in the wrong place": spoiled(
        "0.0",
        CANARY,
        "run.yaml:7: models[0].temperature: ",
        "looks like a key (write",
        "[wrong-type]",
    ),
    "a key that is not set": spoiled(
        "    model: mock",
        "    model: mock\n    api_key_env: NOT_SET_HERE",
        "run.yaml:7: models[0].api_key_env: ",
        "(export NOT_SET_HERE ",
        "[key-not-set]",
    ),
    "a class that is not there": spoiled(
        f"openai\n    base_url: {URL}",
        "python\n    class: nowhere.at_all:Client",
        "run.yaml:4: models[0]: ",
        "package.module:Name",
        "[class-not-found]",
    ),
    "a class without a name": spoiled(
        f"openai\n    base_url: {URL}",
        "python\n    class: nowhere",
        "models[0].class: ",
        "[invalid-value]",
    ),
    "weights that are not there": spoiled(
        f"openai\n    base_url: {URL}\n    model: mock",
        "local\n    model: absent.gguf",
        "run.yaml:4: models[0]: ",
        "absent.gguf",
        "[file-not-found]",
    ),
    "weights that are none": spoiled(
        f"openai\n    base_url: {URL}\n    model: mock",
        "local\n    model: fake.gguf",
        "run.yaml:4: models[0]: ",
        "fake.gguf",
        "[not-gguf]",
    ),
    "an unknown local model": spoiled(
        f"openai\n    base_url: {URL}\n    model: mock",
        "local\n    model: smollm3",
        "run.yaml:4: models[0]: ",
        "smollm2",
        "[unknown-model]",
    ),
    "an unknown dialect": spoiled(
        "path: suite.jsonl",
        "path: suite.jsonl\n  dialect: failprof",
        "did you mean 'failproof'?",
        "[unknown-name]",
    ),
    "no such suite": spoiled(
        "suite.jsonl", "absent.jsonl", "run.yaml:9: prompts.path: ", "[file-not-found]"
    ),
    "prompts from a database": spoiled(
        "path: suite.jsonl",
        "source: database\n  collection: none",
        "run.yaml:10: prompts.collection: ",
        "[unknown-collection]",
    ),
    "an id that is a number": spoiled(
        "name: spoiled", "name: a\n  id: '7'", "run.yaml:3: test_run.id: ", "[invalid-name]"
    ),
    "an unknown placeholder": spoiled(
        "execution:\n  parallel_workers: 2",
        "output:\n  file:\n    path: '{user}.jsonl'",
        "run.yaml:12: output.file.path: ",
        "{user}",
        "[unknown-placeholder]",
    ),
    "an unreachable model": spoiled(
        "mock",
        "mock",
        "run.yaml:5: models[0].base_url: ",
        "(connection refused)",
        "[server-unreachable]",
    ),
    "a host that is none": spoiled(
        URL, "http://nowhere.invalid/v1", "run.yaml:5: models[0].base_url: ", "[server-unreachable]"
    ),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
@pytest.mark.thinned(fast=15, whole=25)
def test_a_bad_configuration_is_told_with_its_place(
    name: str, recorded_log: RecordedLog, tmp_path: Path
) -> None:
    change = CONFIGURATIONS[name]
    assert change.old in CONFIGURATION
    text = CONFIGURATION.replace(change.old, change.new)
    (tmp_path / "run.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))
    (tmp_path / "suite.jsonl").write_bytes(case())
    (tmp_path / "fake.gguf").write_bytes(b"PK\3\4")
    before = recorded_log.fingerprint()
    done = invoke(recorded_log.url, "start", "run.yaml", cwd=tmp_path)
    check_paragraph(done, 2, *change.words)
    assert recorded_log.fingerprint() == before


def test_all_defects_of_a_configuration_are_told_at_once(tmp_path: Path) -> None:
    text = CONFIGURATION.replace("0.0", "hot").replace("openai", "opnai").replace("path:", "pth:")
    (tmp_path / "run.yaml").write_text(text)
    words = ("run.yaml:4: ", "run.yaml:7: ", "run.yaml:9: ", "did you mean `path`?")
    check_paragraph(invoke("", "start", "run.yaml", cwd=tmp_path), 2, *words)


def test_a_configuration_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    folder = invoke("", "start", "folder.yaml", cwd=tmp_path)
    check_paragraph(folder, 2, "folder.yaml: ", "[not-a-file]")
    absent = invoke("", "start", "absent.yaml", cwd=tmp_path)
    check_paragraph(absent, 2, "absent.yaml: ", "quickstart", "[file-not-found]")


KEYS = {
    "a wrong key": ("wrong", ["(HTTP 401)", "CANARY_KEY", "[key-refused]"]),
    "a line break in the key": (f"{CANARY}\n", ["CANARY_KEY", "[invalid-header]"]),
    "a key that is not ASCII": (f"{CANARY}ä", ["CANARY_KEY", "[invalid-header]"]),
    "an empty key": ("", ["(export CANARY_KEY ", "[key-not-set]"]),
}


@pytest.mark.parametrize("name", KEYS)
def test_a_key_that_cannot_be_used_is_told_without_it(
    name: str, recorded_log: RecordedLog, mock_url: str, tmp_path: Path
) -> None:
    key, words = KEYS[name]
    text = CONFIGURATION.replace(URL, f"{mock_url}\n    api_key_env: CANARY_KEY")
    (tmp_path / "run.yaml").write_text(text)
    (tmp_path / "suite.jsonl").write_bytes(case())
    before = recorded_log.fingerprint()
    done = invoke(recorded_log.url, "start", "run.yaml", cwd=tmp_path, CANARY_KEY=key)
    check_paragraph(done, 2, *words)
    assert recorded_log.fingerprint() == before
