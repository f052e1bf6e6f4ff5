"""Each file that deploys the program passes the linter of its kind, and says what it must."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from failproof_es.configuration.schema import Execution
from tests.documented import ROOT
from tests.integration.deployment.files import (
    EXAMPLES,
    MANIFESTS,
    PODS,
    SECRETS,
    UNIT,
    UNITS,
    compose,
    documents,
    lint,
    linter,
)

DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
COPIED = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.M)
DEFAULT_TIMEOUT_S = Execution().timeout_per_request_ms / 1000


def test_the_dockerfile_passes_hadolint() -> None:
    checked = lint(linter("hadolint"), "Dockerfile")
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("3.13.7-slim-bookworm", "latest"), ("USER 10001:10001", "USER root")],
    ids=["not pinned", "root"],
)
def test_hadolint_finds_a_mistake(right: str, wrong: str) -> None:
    assert right in DOCKERFILE
    checked = lint(linter("hadolint"), "-", content=DOCKERFILE.replace(right, wrong))
    assert checked.returncode == 1, "a mistake must be found"


def test_the_image_is_pinned_small_and_runs_as_a_number_that_is_not_root() -> None:
    images = re.findall(r"^FROM (\S+)", DOCKERFILE, re.M)
    assert len(images) == 2
    assert all(re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+", image) for image in images)
    assert re.search(r"^USER [1-9]\d+:[1-9]\d+$", DOCKERFILE, re.M)
    assert "--constraint .ci/constraints.txt" in DOCKERFILE


def test_nothing_but_what_the_image_copies_is_sent_to_be_built() -> None:
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    sent = {line[1:] for line in lines if line.startswith("!")}
    assert sent == {name for each in COPIED for name in each.split()}
    assert "*" in lines
    assert all((ROOT / name).exists() for name in sent)


@pytest.mark.slow
def test_what_the_image_copies_makes_the_whole_program(tmp_path: Path) -> None:
    """The commands of the Dockerfile that make and install the wheel, on those files alone."""
    source, wheels, target = (tmp_path / name for name in ("source", "wheels", "installed"))
    source.mkdir()
    for name in (name for each in COPIED for name in each.split()):
        where = source / name
        where.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, where, ignore=ignored)
        else:
            shutil.copy(ROOT / name, where)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    how = ["--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), "."]
    assert "pip wheel " + " ".join(how[:2]) in DOCKERFILE
    made = subprocess.run([*pip, "wheel", *how], cwd=source, capture_output=True, check=False)
    assert made.returncode == 0, made.stderr.decode()
    [wheel] = wheels.glob("*.whl")
    shutil.unpack_archive(wheel, target, "zip")
    asked = "import failproof_es; print(failproof_es.__file__)"
    for command in (["-c", asked], ["-m", "failproof_es.cli", "--version"]):
        done = subprocess.run(
            [sys.executable, "-P", *command],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(target), "HOME": str(tmp_path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        if command[0] == "-c":
            assert done.stdout.startswith(str(target))
    assert (target / "failproof_es/data/configs/quickstart.yaml").is_file()


def test_docker_compose_takes_its_file(tmp_path: Path) -> None:
    services = compose(tmp_path)["services"]
    assert sorted(services) == ["command", "console", "migrate", "postgres", "signer", "worker"]
    assert services["worker"]["deploy"]["replicas"] == 2
    assert services["worker"]["depends_on"]["migrate"]["condition"] == (
        "service_completed_successfully"
    )
    assert services["migrate"]["depends_on"]["postgres"]["condition"] == "service_healthy"
    assert re.fullmatch(r"postgres:\d+\.\d+-\w+", services["postgres"]["image"])
    for name in ("command", "console", "migrate", "signer", "worker"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]


def test_docker_compose_finds_a_mistake(tmp_path: Path) -> None:
    wrong = tmp_path / "compose.yaml"
    text = (ROOT / "compose.yaml").read_text("utf-8")
    wrong.write_text(text.replace("depends_on:", "depend_on:"))
    assert lint(linter("docker-compose"), "config", "--quiet", cwd=tmp_path).returncode != 0


def test_each_service_has_no_more_rights_than_it_needs(tmp_path: Path) -> None:
    services = compose(tmp_path)["services"]

    def secrets(name: str) -> set[str]:
        return {each["source"] for each in services[name].get("secrets", [])}

    def login(name: str) -> str:
        url: str = services[name]["environment"]["FAILPROOF_ES_DATABASE_URL"]
        return url.removeprefix("postgresql://").partition("@")[0]

    assert login("migrate") == "administrator"
    assert login("worker") == login("command") == "worker"
    assert secrets("worker") == secrets("command") == {"worker_password"}
    assert login("signer") == "worker" and secrets("signer") == {"worker_password"}
    assert not services["signer"].get("env_file"), "it needs no key of a model"
    holding_key = {
        name
        for name, service in services.items()
        if any(volume["source"] == "key" for volume in service.get("volumes", []))
    }
    assert holding_key == {"migrate", "signer"}
    assert login("console") == "auditor"
    assert secrets("console") == {"auditor_password", "console_token"}
    assert not services["console"].get("volumes") and not services["console"].get("env_file")
    assert secrets("postgres") == {"administrator_password"}
    assert secrets("migrate") == set(SECRETS)


def test_the_console_needs_its_token_and_is_for_this_host_alone(tmp_path: Path) -> None:
    service = compose(tmp_path)["services"]["console"]
    assert "--token-file=/run/secrets/console_token" in service["command"]
    [port] = service["ports"]
    assert (port["host_ip"], port["published"], port["target"]) == ("127.0.0.1", "8321", 8321)
    named = compose(tmp_path, FAILPROOF_ES_CONSOLE_HOST="audit.example.org")["services"]["console"]
    assert named["command"][-1] == "--trusted-host=audit.example.org"


@pytest.mark.parametrize(
    "path",
    [ROOT / "compose.yaml", *UNITS, EXAMPLES / "logins.sql", *MANIFESTS],
    ids=lambda path: path.name,
)
def test_no_file_holds_a_secret(path: Path) -> None:
    text = path.read_text("utf-8")
    assert not re.search(r"postgresql://[^@\s/]+:[^@\s]+@", text)
    assert not re.search(r"(?i)(password|key|token)[\"']?\s*[:=]\s*[\"']?[0-9a-z]{12,}", text)


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_the_systemd_unit_is_right(tmp_path: Path, unit: Path) -> None:
    checked = verify_unit(tmp_path, unit.read_text("utf-8"))
    assert (checked.returncode, checked.stderr) == (0, "")


def test_systemd_finds_a_mistake(tmp_path: Path) -> None:
    wrong = UNIT.read_text("utf-8").replace("TimeoutStopSec", "TimeoutStoppSec")
    assert "TimeoutStoppSec" in verify_unit(tmp_path, wrong).stderr


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_the_systemd_unit_has_few_rights(unit: Path) -> None:
    checked = lint(
        systemd_analyze(), "security", "--offline=true", "--no-pager", "--threshold=20", unit
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def verify_unit(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable)  # any program that is there: the unit's own is not, here
    unit = folder / "failproof-es-worker@1.service"
    unit.write_text(re.sub(r"(?m)^ExecStart=\S+", f"ExecStart={program}", text))
    return lint(systemd_analyze(), "verify", "--man=no", unit)


def systemd_analyze() -> str:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("NOT CHECKED BY ITS LINTER: systemd-analyze is not installed on this machine")
    return program


def test_the_kubernetes_manifests_are_valid() -> None:
    checked = lint(linter("kubernetes-validate"), "--strict", *MANIFESTS)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.slow
def test_a_mistake_in_a_manifest_is_found(tmp_path: Path) -> None:
    path = PODS[0]
    wrong = tmp_path / path.name
    wrong.write_text(path.read_text("utf-8").replace("runAsNonRoot", "runAsNonroot"))
    assert lint(linter("kubernetes-validate"), "--strict", wrong).returncode != 0


@pytest.mark.parametrize("path", PODS, ids=lambda path: path.name)
def test_a_pod_has_few_rights(path: Path) -> None:
    [document] = documents(path)
    pod = document["spec"]["template"]["spec"]
    user = int(re.search(r"^USER (\d+):", DOCKERFILE, re.M)[1])  # type: ignore[index]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == user
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    [container] = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "memory" in container["resources"]["limits"]
    mounted = {each["name"] for each in container["volumeMounts"]}
    assert mounted == {each["name"] for each in pod["volumes"]}


def test_everywhere_what_a_worker_may_do_is_said_and_is_nothing_more_than_the_default(
    tmp_path: Path,
) -> None:
    names = {"FAILPROOF_ES_ALLOW", "FAILPROOF_ES_ALLOW_CLASS"}
    environment = compose(tmp_path)["services"]["worker"]["environment"]
    assert {name: environment[name] for name in names} == dict.fromkeys(names, "")
    [deployment] = documents(EXAMPLES / "kubernetes/workers.yaml")
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    told = {each["name"]: each.get("value") for each in container["env"]}
    assert {name: told[name] for name in names} == dict.fromkeys(names, "")
    assert all(name in UNIT.read_text("utf-8") for name in names)


def test_everywhere_a_worker_has_longer_to_end_than_a_request_may_take(tmp_path: Path) -> None:
    [deployment] = documents(EXAMPLES / "kubernetes/workers.yaml")
    grace = deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace >= DEFAULT_TIMEOUT_S + 60
    assert compose(tmp_path)["services"]["worker"]["stop_grace_period"] == "2m0s"
    assert "TimeoutStopSec=2min" in UNIT.read_text("utf-8")


@pytest.mark.parametrize("where", ["compose", "kubernetes"])
def test_the_probe_looks_whether_the_worker_said_that_it_works(where: str, tmp_path: Path) -> None:
    if where == "compose":
        worker: dict[str, Any] = compose(tmp_path)["services"]["worker"]
        probe, arguments = worker["healthcheck"]["test"][1].replace("$$", "$"), worker["command"]
    else:
        [deployment] = documents(EXAMPLES / "kubernetes/workers.yaml")
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        probe, arguments = container["livenessProbe"]["exec"]["command"][2], container["args"]
    assert arguments == ["worker", "--alive-file", "/tmp/alive"]
    alive = tmp_path / "alive"
    command = ["/bin/sh", "-c", probe.replace("/tmp/alive", str(alive))]

    def healthy() -> bool:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    assert not healthy()
    alive.touch()
    assert healthy()
    old = time.time() - 180
    os.utime(alive, (old, old))
    assert not healthy()
