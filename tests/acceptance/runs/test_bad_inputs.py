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
    "bad JSON": (b'{"case_id": "a-1",', ["suite.jsonl:1", "bad JSON at column 19", "JSON object"]),
    "not an object": (b'["a-1"]', ["suite.jsonl:1", "not a JSON object"]),
    "bad JSON on the third line": (case() + b"\n\n{", ["suite.jsonl:3"]),
    "two objects on a line": (case() + case(), ["suite.jsonl:1", "bad JSON"]),
    "a number for a string": (case(prompt=7), ["suite.jsonl:1", "prompt", "must be a string"]),
    "null for a string": (case(prompt=None), ["prompt: must be a string, is null"]),
    "a string for a list": (case(tags="x"), ["tags: must be a list of strings"]),
    "a number in a list": (case(tags=["x", 1]), ["tags[1]: must be a string"]),
    "a list for variables": (case(prompt_vars=[]), ["prompt_vars: must be an object"]),
    "no case_id": (without("case_id"), ["case_id: the field is required and missing"]),
    "no suite_id": (without("suite_id"), ["suite_id: the field is required and missing"]),
    "no prompt": (without("prompt"), ["prompt: the field is required and missing"]),
    "an unknown class": (
        case(expected_classification="maybe"),
        ["expected_classification: must be 'pass', 'fail' or 'refusal', is 'maybe'"],
    ),
    "the same case_id twice": (
        case() + b"\n" + case(),
        [
            "suite.jsonl:2",
            "case_id",
            "duplicate id 'a-1' in suite 'a', first used at ",
            "suite.jsonl:1",
        ],
    ),
    "a key twice": (b'{"case_id": "a", "case_id": "b"}', ["case_id", "duplicate key"]),
    "a variable without a value": (
        case(prompt="hi {{name}}, {{x}}", prompt_vars={"x": "1"}),
        ["prompt_vars.name", "{{name}} has no value", "add it to prompt_vars"],
    ),
    "not UTF-8": (b'{"case_id": "\xff"}', ["suite.jsonl:1", "not UTF-8: byte 0xff", "UTF-8"]),
    "UTF-16": (case().decode().encode("utf-16"), ["suite.jsonl:1", "not UTF-8"]),
    "a lone surrogate": (b'{"prompt": "\\ud800"}', ["prompt", "lone surrogate \\ud800"]),
    "NaN": (b'{"prompt": NaN}', ["suite.jsonl:1", "NaN is not JSON"]),
    "Infinity": (b'{"x": -Infinity}', ["suite.jsonl:1", "-Infinity is not JSON"]),
    "a number too large": (b'{"x": 1e999}', ["suite.jsonl:1", "too large"]),
    "an integer too large": (b'{"x": 18446744073709551616}', ["does not fit in 64 bits"]),
    "nested too deeply": (b'{"x": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", ["nested deeper"]),
    "an empty file": (b"", ["suite.jsonl", "the file is empty", "add one"]),
    "blank lines only": (b"\n \n\n", ["suite.jsonl", "the file is empty"]),
}


@pytest.mark.parametrize("name", SUITES)
def test_a_bad_suite_is_told_with_its_place(name: str, tmp_path: Path) -> None:
    content, words = SUITES[name]
    (tmp_path / "suite.jsonl").write_bytes(content)
    done = invoke("", "suites", "validate", "suite.jsonl", cwd=tmp_path)
    check_paragraph(done, 2, *words)


PATHS = {
    "no such file": ("absent.jsonl", ["no such file or folder: absent.jsonl", "check the path"]),
    "a pattern without a match": (
        "*.jsonl",
        ["'*.jsonl' matches no .json, .jsonl, .toml, .yaml or .yml file"],
    ),
    "a folder without a suite": (
        ".",
        ["the folder holds no .json, .jsonl, .toml, .yaml or .yml file"],
    ),
    "an empty path": ("", ["the path is empty"]),
    "a path under a file": ("file/suite.jsonl", ["no such file or folder"]),
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
        "one.jsonl:2: bad JSON",
        "one.jsonl:3: case_id: must be a string, is 1",
        "one.jsonl:3: tags: must be a list of strings",
        "two.jsonl:1: prompt_vars.who: the prompt's variable {{who}} has no value",
        "two.jsonl:2: case_id: duplicate id 'a-1' in suite 'a', first used at ",
    )
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
    "empty": spoiled(CONFIGURATION, "", "run.yaml: is empty", "configs/quickstart.yaml"),
    "not YAML": spoiled(
        "test_run:", "test_run: [", "run.yaml:", "is not YAML", "check the indentation"
    ),
    "a list": spoiled(CONFIGURATION, "- a", "is not a configuration", "a mapping is expected"),
    "not UTF-8": spoiled("spoiled", "sp\udcffiled", "run.yaml:2: is not UTF-8"),
    "too large": spoiled(CONFIGURATION, "#" * 1_000_001, "is larger than 1000000 bytes"),
    "nested too deeply": spoiled(CONFIGURATION, "[" * 60, "nested too deeply"),
    "a key twice": spoiled(
        "    model: mock",
        "    model: a\n    model: b",
        "run.yaml:7: models[0].model",
        "appears twice, first in line 6",
    ),
    "a misspelt key": spoiled(
        "parallel_workers",
        "paralel_workers",
        "run.yaml:11: execution.paralel_workers",
        "is not a known key",
        "did you mean `parallel_workers`?",
    ),
    "an unknown section": spoiled("execution:", "zzz:", "run.yaml:10: zzz: is not a known key"),
    "a tag": spoiled("mock", "!!python/name:os.system x", "run.yaml:6: tags (!name)"),
    "an anchor": spoiled("mock", "&a mock", "run.yaml:6: anchors (&name) are not supported"),
    "an alias": spoiled("mock", "*a", "run.yaml:6", "aliases"),
    "a word for a number": spoiled(
        "0.0", "hot", "run.yaml:7: models[0].temperature", "should be a valid number", "'hot'"
    ),
    "a number in quotes": spoiled("workers: 2", "workers: '2'", "run.yaml:11", "valid integer"),
    "too hot": spoiled(
        "0.0", "2.5", "run.yaml:7: models[0].temperature", "less than or equal to 2"
    ),
    "NaN": spoiled("0.0", ".nan", "run.yaml:7: models[0].temperature"),
    "no worker": spoiled("workers: 2", "workers: 0", "run.yaml:11", "greater than or equal to 1"),
    "retries below none": spoiled(
        "parallel_workers: 2", "retry_attempts: -1", "execution.retry_attempts", "equal to 0"
    ),
    "a gate beyond 1": spoiled(
        "execution:\n  parallel_workers: 2", "gates:\n  min_accuracy: 90", "gates.min_accuracy"
    ),
    "no models": spoiled(MODELS, "", "models: is missing", "add `models:`"),
    "an empty list of models": spoiled(
        MODELS, "models: []\n", "run.yaml:3: models", "at least 1 item"
    ),
    "no prompts": spoiled("prompts:\n  path: suite.jsonl\n", "", "prompts: is missing"),
    "no path": spoiled("path: suite.jsonl", "source: file", "prompts.path: is missing"),
    "an unknown provider": spoiled(
        "openai", "opnai", "run.yaml:4: models[0].provider", "'opnai'", "'openai'"
    ),
    "a provider without its URL": spoiled(
        f"    base_url: {URL}\n", "", "models[0].base_url: is missing"
    ),
    "a URL that is none": spoiled(
        URL,
        "localhost",
        "run.yaml:5: models[0].base_url",
        "is not an http or https URL",
        "write it like",
    ),
    "a URL of another kind": spoiled(URL, "file:///etc/passwd", "run.yaml:5", "is not an http"),
    "a URL with a password": spoiled(
        URL,
        f"http://me:{CANARY}@127.0.0.1:9/v1",
        "run.yaml:5: models[0].base_url",
        "holds a user name or a password",
        "api_key_env",
    ),
    "a key in it": spoiled(
        "    model: mock",
        f"    model: mock\n    api_key: {CANARY}",
        "run.yaml:7: models[0].api_key",
        "environment variable",
        "api_key_env",
    ),
    "a key for its variable": spoiled(
        "    model: mock",
        f"    model: mock\n    api_key_env: {CANARY}",
        "run.yaml:7: models[0].api_key_env",
        "must be the name of an environment variable",
    ),
    "a key in the wrong place": spoiled(
        "0.0", CANARY, "run.yaml:7: models[0].temperature", "what looks like a key"
    ),
    "a key that is not set": spoiled(
        "    model: mock",
        "    model: mock\n    api_key_env: NOT_SET_HERE",
        "the environment variable NOT_SET_HERE is not set",
        "export NOT_SET_HERE",
    ),
    "a class that is not there": spoiled(
        f"openai\n    base_url: {URL}",
        "python\n    class: nowhere.at_all:Client",
        "nowhere.at_all:Client cannot be loaded",
        "package.module:Name",
    ),
    "a class without a name": spoiled(
        f"openai\n    base_url: {URL}", "python\n    class: nowhere", "models[0].class"
    ),
    "weights that are not there": spoiled(
        f"openai\n    base_url: {URL}\n    model: mock",
        "local\n    model: absent.gguf",
        "absent.gguf cannot be read: No such file",
    ),
    "weights that are none": spoiled(
        f"openai\n    base_url: {URL}\n    model: mock",
        "local\n    model: fake.gguf",
        "fake.gguf is not a GGUF file",
    ),
    "an unknown local model": spoiled(
        f"openai\n    base_url: {URL}\n    model: mock",
        "local\n    model: smollm3",
        "'smollm3'",
        "smollm2",
    ),
    "an unknown dialect": spoiled(
        "path: suite.jsonl",
        "path: suite.jsonl\n  dialect: failprof",
        "there is no dialect 'failprof'",
        "did you mean 'failproof'?",
    ),
    "no such suite": spoiled("suite.jsonl", "absent.jsonl", "prompts.path: no such file or folder"),
    "prompts from a database": spoiled(
        "path: suite.jsonl",
        "source: database\n  collection: none",
        "prompts.collection: there is no collection 'none'",
        "failproof-es prompts import",
    ),
    "an id that is a number": spoiled(
        "name: spoiled", "name: a\n  id: '7'", "run.yaml:3: test_run.id: is reserved"
    ),
    "an unknown placeholder": spoiled(
        "execution:\n  parallel_workers: 2",
        "output:\n  file:\n    path: '{user}.jsonl'",
        "output.file.path: the placeholder {user} is not known",
        "{timestamp}",
    ),
    "an unreachable model": spoiled(
        "mock",
        "mock",
        f"model mock: {URL} cannot be reached",
        "nothing listens there (connection refused)",
        "start the server, or correct `base_url`",
    ),
    "a host that is none": spoiled(
        URL, "http://nowhere.invalid/v1", "http://nowhere.invalid/v1 cannot be reached"
    ),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
@pytest.mark.thinned(fast=15, whole=45)
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
    check_paragraph(folder, 2, "folder.yaml: is a folder, not a file", "name a file in it")
    absent = invoke("", "start", "absent.yaml", cwd=tmp_path)
    check_paragraph(absent, 2, "absent.yaml: does not exist", "one that ships", "quickstart")


KEYS = {
    "a wrong key": ("wrong", ["refuses the key (HTTP 401)", "check the key in CANARY_KEY"]),
    "a line break in the key": (f"{CANARY}\n", ["CANARY_KEY", "line break"]),
    "a key that is not ASCII": (f"{CANARY}ä", ["CANARY_KEY", "not ASCII"]),
    "an empty key": ("", ["CANARY_KEY is not set", "export CANARY_KEY"]),
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
