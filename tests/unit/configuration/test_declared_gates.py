"""Gates that a dialect declares are keys of a configuration like any other, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from failproof_es.configuration.gates_section import Gates
from failproof_es.configuration.loading import configuration_from_resolved, load_configuration
from failproof_es.declared_gates import DECLARED, ENTRY_POINT_GROUP
from failproof_es.gates import judge_gates
from failproof_es.problems import InvalidInput
from tests.plugin_packages import install, look_again
from tests.unit.summaries import summary_of

SOURCE = """
from failproof_es.declared_gates import DeclaredGate
from failproof_es.core.tally import Group

GATE = DeclaredGate(
    "min_haiku", "Haikus.", lambda tally: tally.suites.get("haiku", Group()), "accuracy"
)
"""


@pytest.fixture
def haiku(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    offered = {ENTRY_POINT_GROUP: {"min_haiku": "their_gates:GATE", "min_gone": "no:X"}}
    install(monkeypatch, tmp_path / "site", "their-gates", offered, {"their_gates": SOURCE})
    yield
    monkeypatch.undo()
    look_again()


def problems_of(folder: Path, gates: str) -> list[str]:
    file = folder / "run.yaml"
    file.write_text(
        "test_run: {name: x}\nmodels: [{provider: local, model: smollm2}]\n"
        f"prompts: {{path: x}}\ngates:\n  {gates}\n"
    )
    try:
        load_configuration(file)
    except InvalidInput as error:
        return [str(problem) for problem in error.problems]
    return []


@pytest.mark.parametrize(
    ("gates", "said"),
    [
        (
            "min_crs: 0.5",
            "gates.min_crs: is not a known field (did you mean `min_csr`? known here: ",
        ),
        (
            "min_csr: 50",
            "gates.min_csr: input should be less than or equal to 1; it is 50 (write",
        ),
        ("min_csr: high", "gates.min_csr: input should be a valid number; it is 'high'"),
        ("min_csr: '0.5'", "(remove the quotes: 0.5)"),
        ("min_haiku: 0.5", "gates.min_haiku: is not a known field"),
    ],
)
def test_what_is_wrong_with_one_is_said_at_its_place(tmp_path: Path, gates: str, said: str) -> None:
    (told,) = problems_of(tmp_path, gates)
    assert f"{tmp_path}/run.yaml:5: " in told and said in told


def test_one_that_is_good_is_recorded_as_it_is_written(tmp_path: Path) -> None:
    assert problems_of(tmp_path, "min_csr: 0.5") == []
    loaded = load_configuration(tmp_path / "run.yaml")
    assert loaded.resolved()["gates"]["min_csr"] == 0.5
    assert "min_safety_accuracy" not in loaded.resolved()["gates"]
    older = {**loaded.resolved()["gates"], "min_csr": None}
    assert Gates.model_validate(older).declared() == {"min_csr": None}
    assert judge_gates(Gates.model_validate(older), summary_of({"m": []}, planned=1)) == {}


@pytest.mark.usefixtures("haiku")
def test_an_installed_package_declares_a_gate(tmp_path: Path) -> None:
    assert problems_of(tmp_path, "min_haiku: 0.5") == []
    loaded = load_configuration(tmp_path / "run.yaml")
    judged = judge_gates(loaded.configuration.gates, summary_of({"m": []}, planned=1))
    assert judged["min_haiku"]["limit"] == 0.5 and not judged["min_haiku"]["met"]
    assert DECLARED.package_of("min_haiku") == ("their-gates", "1.0")
    assert problems_of(tmp_path, "min_gone: 0.5") == [
        "the gate 'min_gone' of the package their-gates 1.0 can't be loaded: "
        "ModuleNotFoundError: No module named 'no' (update or remove the package) [plugin-failed]"
    ]


def test_a_run_whose_gate_is_not_installed_any_more_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert problems_of(tmp_path, "min_csr: 0.5") == []
    resolved = load_configuration(tmp_path / "run.yaml").resolved()
    resolved["gates"]["min_haiku"] = 0.5
    with pytest.raises(
        InvalidInput, match=r"is not supported by this installation: gates\.min_haiku"
    ):
        configuration_from_resolved(resolved)
