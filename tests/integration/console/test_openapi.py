"""The published document is true: schemathesis asks every address of it in odd ways."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.examples import examples
from tests.selection import wide_except

CONFIGURATION = """
request-timeout = 60.0

[checks]
positive_data_acceptance.expected-statuses = [200, 401, 403, 404, 414, 422]
negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 406, 414, 422]
"""
"""A URL may be too long although each of its parameters is not. A cursor of another list is
refused, and a comparison without a run: what they say is wrong, not their form. By default a
request may take 10 s, which the first one needs on a busy machine; for the document that cannot be
said otherwise, so it is read here."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "phases", wide_except(["examples,fuzzing"], ["examples,fuzzing", "coverage"])
)
def test_schemathesis_finds_no_violation(console_url: str, tmp_path: Path, phases: str) -> None:
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    document = httpx.get(f"{console_url}/openapi.json", timeout=60)
    (tmp_path / "openapi.json").write_bytes(document.content)
    done = subprocess.run(
        [
            sys.executable, "-m", "schemathesis.cli", "run", "openapi.json", "--url", console_url,
            "--checks", "all", "--max-examples", str(examples(0.15)),
            "--workers", "1", "--no-color",
            "--phases", phases, "--seed", "1",
        ],
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-60000:] + done.stderr[-2000:]
