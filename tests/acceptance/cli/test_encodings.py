"""Data is UTF-8 in any locale; a table shows what the terminal lacks, and never breaks off."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import environment, invoke, write_configuration
from tests.selection import wide_except

PROMPT = "Größe 東京 \N{SMILING FACE WITH SMILING EYES}?"
LOCALES = {
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "latin-1": {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"},
    "strict ascii": {"PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "0"},
}


@pytest.fixture
def folder(store: Store, tmp_path: Path, mock_url: str) -> Path:
    case = {"case_id": "é", "suite_id": "süß", "prompt": PROMPT, "expected_response": "東京"}
    (tmp_path / "suite.jsonl").write_bytes(orjson.dumps(case) + b"\n")
    write_configuration(tmp_path, mock_url)
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    return tmp_path


_SEVERAL = """
import os, sys
from failproof_es.cli import main
as_begun = {{"encoding": sys.stdout.encoding, "errors": sys.stdout.errors}}
for words in {commands!r}:
    sys.stdout.reconfigure(**as_begun)
    try:
        main(list(words), prog_name="failproof-es")
    except SystemExit as ended:
        assert not ended.code, (words, ended.code)
    sys.stdout.flush()
    os.write(1, {end!r})
"""
_END = b"\0the end of a command\0"


def printed(store: Store, folder: Path, locale: str, *commands: tuple[str, ...]) -> list[bytes]:
    """What each of the commands prints, one after the other in one interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", _SEVERAL.format(commands=commands, end=_END)],
        env={**environment(store.url), **LOCALES[locale]},
        cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"Error" not in done.stderr
    *outputs, rest = done.stdout.split(_END)
    assert (len(outputs), rest) == (len(commands), b"")
    return outputs


@pytest.mark.parametrize("locale", wide_except(["C", "latin-1"], LOCALES))
@pytest.mark.slow
@pytest.mark.thinned(whole=1)
def test_json_json_lines_and_csv_are_utf_8_bytes(locale: str, store: Store, folder: Path) -> None:
    whole, lines, rates, *others = printed(
        store, folder, locale,
        ("results", "1", "--json"),
        ("results", "1", "--format", "jsonl"),
        ("report", "1", "--format", "csv", "-o", "-"),
        ("log", "--json"),
        ("audit", "1", "--json"),
        ("suites", "list", "suite.jsonl", "--json"),
        ("show", "1", "--json"),
    )  # fmt: skip
    assert "süß" in orjson.dumps(orjson.loads(whole)).decode("utf-8")
    assert [orjson.loads(line) for line in lines.splitlines()] == orjson.loads(whole)
    for output in others:
        assert output and "\\x" not in output.decode("utf-8")
    assert any("süß" in row for row in csv.reader(io.StringIO(rates.decode("utf-8"))))


@pytest.mark.parametrize("locale", wide_except(["C", "latin-1"], LOCALES))
@pytest.mark.slow
@pytest.mark.thinned(whole=1)
@pytest.mark.wide
def test_a_table_shows_the_escape_of_what_the_terminal_lacks_and_goes_on(
    locale: str, store: Store, folder: Path
) -> None:
    table, *others = printed(
        store, folder, locale,
        ("suites", "list", "suite.jsonl"),
        *(("results", "1"), ("show", "1"), ("runs",), ("log",), ("--help",)),
    )  # fmt: skip
    text = table.decode("latin-1" if locale == "latin-1" else "ascii")
    assert r"\u6771\u4eac" in text
    assert r"\U0001f60a" in text
    assert all(others)


_POSTMASTER = """
import os, pathlib, sys
from failproof_es.store.embedded.server import EmbeddedServer
server = EmbeddedServer.__new__(EmbeddedServer)
server.data_dir = pathlib.Path(sys.argv[1])
pid = b"%d\\n" % os.getpid()
(server.data_dir / "postmaster.pid").write_bytes(pid + "gr\\u00f6\\u00dfe".encode())
print(server._postmaster() is not None)
"""


def test_the_running_database_is_found_if_its_folder_has_a_name_that_the_locale_lacks(
    tmp_path: Path,
) -> None:
    """`postmaster.pid` holds the folder's name, and only the number in it is read."""
    done = subprocess.run(
        [sys.executable, "-c", _POSTMASTER, str(tmp_path)], env={**os.environ, **LOCALES["C"]},
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert done.stdout == "True\n"
