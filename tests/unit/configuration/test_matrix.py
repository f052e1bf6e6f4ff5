"""A matrix: every model with each prompt template and each combination of parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.configuration.choices import PromptTemplate
from failproof_es.configuration.loading import configuration_from_resolved, load_configuration
from failproof_es.configuration.prompt_template import (
    apply_template,
    recorded_template,
    text_as_sent,
)
from failproof_es.core.case import Turn
from failproof_es.core.history_errors import ImpossibleHistory
from failproof_es.models import model_keys, snapshot
from failproof_es.problems import InvalidInput
from tests.coded import coded
from tests.every import every

MODEL = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "m"}


def write(folder: Path, **sections: Any) -> Path:
    configuration = {
        "test_run": {"name": "crossed"}, "models": [MODEL], "prompts": {"path": "x"}, **sections,
    }  # fmt: skip
    (folder / "run.yaml").write_bytes(orjson.dumps(configuration, option=orjson.OPT_INDENT_2))
    return folder / "run.yaml"


def test_every_model_meets_every_template_and_every_combination_of_parameters(
    tmp_path: Path,
) -> None:
    models = [{**MODEL, "parameters": {"stop": ["x"]}}, {**MODEL, "model": "n", "temperature": 1.0}]
    matrix = {
        "prompts": {"plain": {}, "terse": {"system": "In one word."}},
        "parameters": {"temperature": [0.0, 0.7], "top_p": [1]},
    }
    loaded = load_configuration(write(tmp_path, models=models, matrix=matrix))
    found = loaded.configuration.models
    assert model_keys(found) == [
        f"{model}@{name},temperature={value},top_p=1"
        for model in ("m", "n") for name in ("plain", "terse") for value in ("0.0", "0.7")
    ]  # fmt: skip
    assert [each.temperature for each in found] == [0.0, 0.7] * 4
    assert found[0].parameters == {"stop": ["x"], "top_p": 1}
    assert found[-1].parameters == {"top_p": 1}
    assert loaded.of_models == 8
    assert loaded.matrix == "matrix: 8 variants (2 models, 2 prompts, temperature 2, top_p 1)"
    again = configuration_from_resolved(loaded.resolved())
    assert again == loaded.configuration, "what is recorded is not multiplied once more"
    told = snapshot(found[2], "k").parameters
    assert recorded_template(told) == PromptTemplate(system="In one word.")
    assert told["temperature"] == 0.0


def test_a_selection_chooses_among_the_variants(tmp_path: Path) -> None:
    matrix = {"parameters": {"seed": [1, 2, 3]}}
    file = write(tmp_path, matrix=matrix, selection={"models": ["*seed=2"]})
    loaded = load_configuration(file)
    assert model_keys(loaded.configuration.models) == ["m@seed=2"]
    assert loaded.of_models == 3


@pytest.mark.parametrize(("most", "count"), [(256, 255), (256, 256), (256, 257), (None, 64)])
def test_as_many_variants_as_are_allowed_and_no_more(
    tmp_path: Path, most: int | None, count: int
) -> None:
    matrix: dict[str, Any] = {"parameters": {"seed": list(range(count))}}
    if most is not None:
        matrix["most"] = most
    file = write(tmp_path, matrix=matrix)
    if count <= (most or 64):
        assert len(load_configuration(file).configuration.models) == count
        return
    with pytest.raises(InvalidInput) as refused:
        load_configuration(file)
    said = "makes 257 variants (1 model, seed 257), and matrix.most is 256"
    assert said in str(refused.value)


@pytest.mark.long
def test_a_product_that_nobody_could_build_is_refused_at_once(tmp_path: Path) -> None:
    parameters = {f"p{n}": list(range(100)) for n in range(20)}
    with pytest.raises(InvalidInput, match="leave some out"):
        load_configuration(write(tmp_path, matrix={"parameters": parameters}))


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        (
            {"matrix": {"parameters": {"seed": [1, 1]}}},
            "matrix.parameters.seed[1]: duplicate-value",
        ),
        (
            {"matrix": {"parameters": {"temperature": [1, 1.0]}}},
            "matrix.parameters.temperature[1]: duplicate-value",
        ),
        (
            {"matrix": {"parameters": {"stop": [["a"], ["a"]]}}},
            "matrix.parameters.stop[1]: duplicate-value",
        ),
        ({"matrix": {"parameters": {"x": [1, "1"]}}}, "matrix: key: duplicate-name"),
        ({"matrix": {"parameters": {"messages": [1]}}}, "matrix: parameters: reserved-field"),
        (
            {"matrix": {"parameters": {"prompt_template": [1]}}},
            "matrix.parameters.prompt_template: reserved-field",
        ),
        (
            {"matrix": {"parameters": {"base_url": ["http://a"]}}},
            "matrix.parameters.base_url: reserved-field",
        ),
        ({"matrix": {"parameters": {"class": ["a:B"]}}}, "matrix.parameters.class: reserved-field"),
        ({"matrix": {"prompts": {"a": {"sytem": "x"}}}}, "matrix.prompts.a.sytem: unknown-field"),
        (
            {"matrix": {"prompts": {"a": {"user": "Hello"}}}},
            "matrix.prompts.a.user: missing-placeholder",
        ),
        (
            {"matrix": {"prompts": {"a": {"user": "{{prompt}}"}}}},
            "matrix.prompts.a.user: invalid-template",
        ),
        (
            {"matrix": {"prompts": {"a": {"system": "{prompt}"}}}},
            "matrix.prompts.a.system: invalid-template",
        ),
        ({"matrix": {"prompts": {}}}, "matrix.prompts: empty-value"),
        ({"matrix": {"parameters": {"seed": []}}}, "matrix.parameters.seed: empty-value"),
        ({"matrix": {"parameters": {"x": ["y" * 300]}}}, "matrix: out-of-range"),
        ({"matrix": {"parameters": {"x": ["a\u0007"]}}}, "matrix: key: invalid-name"),
        (
            {"judge": {**MODEL, "prompt_template": {"system": "x"}}},
            "judge.prompt_template: no-effect",
        ),
    ],
)
def test_what_makes_no_variants_is_refused_with_its_place(
    tmp_path: Path, sections: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        load_configuration(write(tmp_path, **sections))
    assert coded(refused.value) == said
    assert "run.yaml:" in str(refused.value)


def test_every_value_of_a_matrix_that_cannot_be_sent_is_told_at_once(tmp_path: Path) -> None:
    parameters = {"temperature": [9, 0.5, "hot"], "max_tokens": [True, 10], "stream": [False, 1]}
    with pytest.raises(InvalidInput) as refused:
        load_configuration(write(tmp_path, matrix={"parameters": parameters}))
    assert [each.field for each in refused.value.problems] == [
        f"matrix.parameters.{place}"
        for place in ("temperature[0]", "temperature[2]", "max_tokens[0]", "stream[1]")
    ]
    assert "it is 9" in str(refused.value)


SYSTEM, USER = Turn(role="system", content="Be kind."), Turn(role="user", content="A {prompt}?")
REPLY = Turn(role="assistant", content="{prompt}")


@pytest.mark.parametrize(
    ("template", "sent"),
    [
        (None, (SYSTEM, USER, REPLY, USER)),
        (PromptTemplate(), (SYSTEM, USER, REPLY, USER)),
        (
            PromptTemplate(system="S", user="<{prompt}|{prompt}>"),
            (
                Turn(role="system", content="S\n\nBe kind."),
                *(
                    turn
                    if turn is REPLY
                    else Turn(role="user", content="<A {prompt}?|A {prompt}?>")
                    for turn in (USER, REPLY, USER)
                ),
            ),
        ),
    ],
)
def test_a_template_is_put_around_each_turn_of_the_user_and_around_nothing_else(
    template: PromptTemplate | None, sent: tuple[Turn, ...]
) -> None:
    assert apply_template(template, (SYSTEM, USER, REPLY, USER)) == sent


def test_a_system_text_comes_before_a_case_that_has_none() -> None:
    found = apply_template(PromptTemplate(system="S"), (USER,))
    assert found == (Turn(role="system", content="S"), USER)


def test_the_text_as_sent_holds_the_recorded_template_of_its_model() -> None:
    assert text_as_sent({"temperature": 0}, (USER,)) == "A {prompt}?"
    template = PromptTemplate(system="S", user="<{prompt}>").model_dump(mode="json")
    assert text_as_sent({"prompt_template": template}, (USER,)) == "S\n\n<A {prompt}?>"


@every("recorded", [None, "{prompt}", {"user": 7}, {"other": "x"}])
def test_a_template_that_nobody_recorded_so_is_an_impossible_history(recorded: object) -> None:
    with pytest.raises(ImpossibleHistory, match="prompt template"):
        text_as_sent({"prompt_template": recorded}, (USER,))
