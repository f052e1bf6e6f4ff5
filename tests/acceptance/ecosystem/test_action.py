"""The GitHub Action: its file, and its steps with the variables that GitHub sets."""

from __future__ import annotations

import os
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import orjson
import pytest
from ruamel.yaml import YAML

from failproof_es.store.store import Store
from tests.acceptance.commands import (
    ROOT,
    environment,
    invoke,
    programs_of,
    write_configuration,
    write_suite,
)

ACTION = ROOT / ".github/actions/evaluate"
PROGRAMS = Path(sys.executable).parent


def checked(schema: str, *files: Path) -> None:
    """Checks the files against one of the schemas that check-jsonschema ships."""
    subprocess.run(
        [PROGRAMS / "check-jsonschema", "--builtin-schema", schema, *files],
        check=True,
        capture_output=True,
        timeout=60,
    )


@pytest.mark.slow
def test_the_action_and_the_workflows_are_what_github_takes() -> None:
    checked("vendor.github-actions", ACTION / "action.yml")
    checked("vendor.github-workflows", *(ROOT / ".github/workflows").glob("*.yml"))


def test_no_input_is_put_into_a_command() -> None:
    action = YAML(typ="safe").load(ACTION / "action.yml")
    steps = action["runs"]["steps"]
    commands = [step["run"] for step in steps if "run" in step]
    assert len(commands) == 2
    assert not [each for each in commands if "${{" in each]
    assert {step.get("shell", "bash") for step in steps} == {"bash"}


def test_the_scripts_pass_shellcheck() -> None:
    done = subprocess.run(
        [PROGRAMS / "shellcheck", *ACTION.glob("*.sh")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def installed(folder: Path, package: str, extras: str) -> tuple[int, list[str]]:
    """The exit code of the step that installs, and what it has pip do."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    called = folder / "called"
    called.unlink(missing_ok=True)
    (programs / "python").write_text(
        "#!/bin/sh\n"
        'mkdir -p "$3/bin"\n'
        f"""printf '#!/bin/sh\\nprintf "%%s\\\\n" "$@" > {called}\\n' > "$3/bin/python"\n"""
        'chmod +x "$3/bin/python"\n'
    )
    (programs / "python").chmod(0o755)
    done = subprocess.run(
        ["bash", ACTION / "install.sh"],
        cwd=folder,
        env={
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(folder),
            "GITHUB_PATH": str(folder / "path"),
            "ACTION_FOLDER": str(ACTION),
            "INPUT_PACKAGE": package,
            "INPUT_EXTRAS": extras,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, called.read_text().splitlines() if called.exists() else []


def test_the_program_is_installed_as_it_stands_or_as_it_is_named(tmp_path: Path) -> None:
    code, arguments = installed(tmp_path, "", "report, commands")
    assert code == 0
    pins = ROOT / ".ci/constraints.txt"
    assert arguments[-3:] == ["--constraint", str(pins), f"{ROOT}[report,commands]"]
    assert (tmp_path / "path").read_text() == f"{tmp_path}/failproof-es-environment/bin\n"
    code, arguments = installed(tmp_path, "failproof-es==1.2.3", "")
    assert (code, arguments[-1]) == (0, "failproof-es==1.2.3")
    assert "--constraint" not in arguments


@pytest.mark.parametrize(("package", "extras"), [("", "$(touch pwned)"), ("--index-url=x", "")])
def test_what_is_no_package_and_no_extra_is_not_given_to_pip(
    package: str, extras: str, tmp_path: Path
) -> None:
    assert installed(tmp_path, package, extras) == (2, [])
    assert not (tmp_path / "pwned").exists()


class Step:
    """The step that evaluates, with the files and variables of a job."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.folder = folder
        self._store = store
        self.path = programs_of(folder)
        self.kept = folder / "temp/failproof-es"
        (folder / "temp").mkdir()

    def run(self, config: str, gates: str = "") -> subprocess.CompletedProcess[str]:
        """Evaluate."""
        variables = {
            **environment(self._store.url),
            "PATH": self.path,
            "RUNNER_TEMP": str(self.folder / "temp"),
            "GITHUB_OUTPUT": str(self.folder / "output"),
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary"),
            "INPUT_CONFIG": config,
            "INPUT_GATES": gates,
            "INPUT_DATABASE_URL": self._store.url,
        }
        del variables["FAILPROOF_ES_DATABASE_URL"]
        return subprocess.run(
            ["bash", str(ACTION / "evaluate.sh")],
            cwd=self.folder,
            env=variables,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def output(self) -> dict[str, str]:
        """What later steps read."""
        lines = (self.folder / "output").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)


@pytest.fixture
def step(tmp_path: Path, store: Store) -> Step:
    return Step(tmp_path, store)


@pytest.mark.slow
def test_a_gate_that_is_not_met_fails_the_step_and_everything_is_kept(
    step: Step, store: Store, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 2)
    said = b64encode(b"::error::<img src=x>`").decode()
    with (tmp_path / "suite.jsonl").open("ab") as suite:
        case = {"case_id": "x", "suite_id": "generated", "prompt": f"[answer:{said}]"}
        suite.write(orjson.dumps({**case, "expected_response": "never"}) + b"\n")
    write_configuration(tmp_path, mock_url)
    done = step.run("run.yaml", "min_accuracy=0.9\r\n\n  max_unscored_rate=0.5  \n")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "::error::failproof-es: a gate is not met" in done.stdout
    assert step.output() == {"folder": str(step.kept), "exit-code": "3", "run": "1"}
    summary = (tmp_path / "summary").read_text()
    assert summary == (step.kept / "report.md").read_text()
    assert "min\\_accuracy" in summary
    assert {each.name for each in step.kept.iterdir()} == {
        "run.json", "junit.xml", "report.html", "report.md", "results.jsonl", "log.pub",
        "evidence.jsonl",
    }  # fmt: skip
    key = (step.kept / "log.pub").read_text().strip()
    proven = invoke(
        store.url, "evidence", "verify", step.kept / "evidence.jsonl", "--key", key, cwd=tmp_path
    )
    assert proven.exit_code == 0, proven.output


@pytest.mark.slow
def test_an_input_that_looks_like_a_command_is_refused_and_runs_nothing(
    step: Step, mock_url: str, tmp_path: Path
) -> None:
    write_suite(tmp_path, 1)
    write_configuration(tmp_path, mock_url)
    for config, gates in (
        ("--help", ""),
        ("$(touch pwned).yaml", "$(touch pwned)=0.5; touch pwned"),
    ):
        done = step.run(config, gates)
        assert done.returncode == 2, done.stdout + done.stderr
        assert "nothing was sent (exit code 2)" in done.stdout
        assert not (tmp_path / "pwned").exists()
    assert step.output()["run"] == ""
    assert not (tmp_path / "summary").exists()


def test_a_report_too_large_for_a_summary_is_shown_without_its_failures_and_says_so(
    step: Step, tmp_path: Path
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "failproof-es").write_text(
        "#!/bin/sh\n"
        'case "$1" in\n'
        """start) echo '{"run_number": 7}' ;;\n"""
        'report) while [ "$1" != -o ]; do shift; done\n'
        "  { printf '# it\\n\\n## Verdict\\n\\nfine\\n\\n## Failures\\n\\n'\n"
        '    head -c 1000000 /dev/zero | tr "\\0" x; } >"$2" ;;\n'
        "esac\n"
    )
    (programs / "failproof-es").chmod(0o755)
    step.path = f"{programs}{os.pathsep}{step.path}"
    done = step.run("run.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "summary").read_text() == (
        "# it\n\n## Verdict\n\nfine\n\n"
        "This is not all of the report: it is larger than a summary may be. The whole is "
        "report.html in the artifact.\n"
    )
