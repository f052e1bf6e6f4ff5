"""The package in `docs/examples/plugin`, built and installed into an environment of its own."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

from tests.acceptance.commands import environment
from tests.acceptance.warm import WarmProcess, usable

EXAMPLE = Path(__file__).parents[1] / "docs" / "examples" / "plugin"
NAME = "failproof-es-quiz"
KEY = "a-secret-of-the-pupils"


def version() -> str:
    """The example's version."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    return str(project["version"])


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment that has the example, this program, and what that needs."""

    python: Path
    warm: WarmProcess
    """Forks the program there; has imported nothing of the example."""

    def install(self, folder: Path) -> None:
        """Build the package in that folder and install it, without the network."""
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet"),
                *("--no-index", "--no-deps", "--no-build-isolation", "--upgrade"),
                *("--disable-pip-version-check", folder),
            ],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def program(self, *arguments: str) -> list[str]:
        """The command that runs failproof-es there."""
        return [str(self.python), "-m", "failproof_es.cli", *arguments]

    def run(
        self, database_url: str, *arguments: str, cwd: Path, timeout_s: float = 180
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of failproof-es there, to its end."""
        variables = environment(database_url, PUPIL_KEY=KEY)
        if usable(variables):
            return self.warm.run(arguments, variables, cwd, timeout_s)
        return subprocess.run(
            self.program(*arguments),
            env=variables,
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )

    @contextmanager
    def school(self, questions: Path, delay_ms: float = 0) -> Iterator[str]:
        """The example's server as a process; yields its URL."""
        server = subprocess.Popen(
            [
                *(self.python, "-m", "failproof_es_quiz.server", questions),
                *("--port", "0", "--delay-ms", str(delay_ms)),
            ],
            env=environment("", PUPIL_KEY=KEY),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.kill()
            server.wait()
            server.stdout.close()


def made(folder: Path) -> Environment:
    """A new environment in `folder`, with the example and everything that this one has."""
    venv.create(folder, with_pip=False, symlinks=True)
    (python,) = (folder / "bin").glob("python3")
    (there,) = folder.glob("lib/python3*/site-packages")
    ours = sysconfig.get_path("purelib")
    # Not the path alone: this program may be installed there by a .pth file of its own.
    (there / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
    found = Environment(python, WarmProcess(str(python)))
    found.install(EXAMPLE)
    return found


def questions(count: int) -> bytes:
    """A file of the dialect with so many questions; every third is hard."""
    return b"".join(
        orjson.dumps(
            {
                "quiz": "sums",
                "question_id": f"q{n}",
                "question": f"What is {n} + 1?",
                "choices": [str(n), str(n + 1)],
                "answer": "B",
                "level": "easy" if n % 3 else "hard",
            }
        )
        + b"\n"
        for n in range(count)
    )


def configuration(url: str) -> str:
    """The example's own configuration, for the server at `url`."""
    written = (EXAMPLE / "run.yaml").read_text("utf-8")
    assert re.search(r"http://127\.0\.0\.1:\d+", written)
    return re.sub(r"http://127\.0\.0\.1:\d+", url, written)


def python_files() -> Sequence[Path]:
    """Every module of the example and of its tests."""
    return sorted(EXAMPLE.rglob("*.py"))
