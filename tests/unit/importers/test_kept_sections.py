"""The sections of a configuration that a repeated import keeps, and those that it replaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from failproof_es.importers.kept_sections import merge_configuration
from failproof_es.importers.run_configuration import configuration_text
from failproof_es.problems import InvalidInput

MODEL = {"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}
OWN = "judges:\n  - {provider: local, model: smollm2}\ngates:\n  pass_rate: 0.5\n"


def written(prompt: str = "Say {prompt}.", models: tuple[dict[str, str], ...] = (MODEL,)) -> str:
    prompts = {"prompt-1": {"user": prompt}}
    return configuration_text(
        "run", ["judged.jsonl"], "redteam", models, judged=True, prompts=prompts
    )


def test_sections_of_the_user_are_kept_and_the_prompt_is_new(tmp_path: Path) -> None:
    file = tmp_path / "judged.yaml"
    filters = "prompts:\n  filters: {tags: [x]}\n"
    file.write_text(written().replace("prompts:\n  path", f"{filters}  path") + OWN)
    merged = merge_configuration(written("Say {prompt}!"), file, keep_models=False)
    assert merged.kept == ("prompts.filters", "judges", "gates") and merged.replaced == ()
    assert "Say {prompt}!" in merged.text and "No judge is named" not in merged.text
    assert "pass_rate: 0.5" in merged.text and "smollm2" in merged.text


def test_a_configuration_without_own_sections_is_written_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "judged.yaml"
    file.write_text(written("Old {prompt}"))
    merged = merge_configuration(written(), file, keep_models=True)
    assert merged == type(merged)(written(), (), ())


@pytest.mark.parametrize(("keep", "kept"), [(True, ("models",)), (False, ())])
def test_models_are_kept_only_where_no_source_names_one(
    tmp_path: Path, keep: bool, kept: tuple[str, ...]
) -> None:
    file = tmp_path / "judged.yaml"
    file.write_text(written())
    merged = merge_configuration(written(models=()), file, keep_models=keep)
    assert merged.kept == kept and merged.replaced == (() if keep else ("models",))
    assert ("No model was named" in merged.text) is not keep
    assert "No judge is named" in merged.text


@pytest.mark.parametrize(
    ("own", "keep", "kept"),
    [
        ("most: 100\n  parameters: {seed: [1, 2]}", False, ("matrix.parameters", "matrix.most")),
        ("most: 100", True, ("models", "matrix.most")),
        ("most: 100", False, ()),
        ("parameters: {seed: [1, 2]}", False, ("matrix.parameters",)),
        ("most: many\n  parameters: {seed: [1, 2]}", False, ("matrix.parameters",)),
    ],
)
def test_the_most_variants_are_kept_with_the_models_and_parameters_that_need_them(
    tmp_path: Path, own: str, keep: bool, kept: tuple[str, ...]
) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(written().replace("matrix:\n", f"matrix:\n  {own}\n"))
    merged = merge_configuration(written(models=()), file, keep_models=keep)
    assert merged.kept == kept
    assert ("most: 100" in merged.text) is ("matrix.most" in kept)


def test_a_larger_most_of_the_import_replaces_a_kept_one(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(written().replace("matrix:\n", "matrix:\n  most: 65\n"))
    prompts = {f"prompt-{number}": {"user": "{prompt}"} for number in range(66)}
    new = configuration_text("run", ["a.jsonl"], "checks", [], judged=False, prompts=prompts)
    merged = merge_configuration(new, file, keep_models=True)
    assert merged.kept == ("models",) and "most: 66" in merged.text


def test_a_file_that_is_no_yaml_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("a: [")
    with pytest.raises(InvalidInput, match="not-yaml"):
        merge_configuration(written(), tmp_path / "run.yaml", keep_models=False)
