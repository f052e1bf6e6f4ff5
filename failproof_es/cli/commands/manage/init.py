"""`init`: a configuration, a suite and a CI file for a new project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from typing import Any

import click

from failproof_es.cli.app.option_values import (
    NOT_THE_KEY,
    check_key_variable,
    is_variable,
    read_assignments,
)
from failproof_es.cli.app.options import (
    MODEL_OPTIONS,
    base_url_option,
    key_variable_option,
    provider_options_option,
)
from failproof_es.cli.app.process import at_a_terminal
from failproof_es.cli.app.program import CliCommand
from failproof_es.cli.rendering.output import say, write_file
from failproof_es.configuration.gates_section import Gates
from failproof_es.configuration.loading import load_configuration
from failproof_es.configuration.providers import PROVIDERS, rules_of
from failproof_es.configuration.schema import Configuration
from failproof_es.dialects.registry import names as dialect_names
from failproof_es.engine.planning.new_project import (
    CONFIGURATION,
    DEFAULT_MODELS,
    Answers,
    files_of,
    is_name,
)
from failproof_es.engine.planning.pipeline import CI, key_variables, pairs_to_allow, pipeline_of
from failproof_es.problems import InvalidInput, Problem, Problems
from failproof_es.support.untrusted_text import one_line

_DEFAULTS = {"name": "my-evaluation", "provider": "local", "suite": "failproof", "ci": "none"}


@click.command(cls=CliCommand)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=".")
@click.option("--name", metavar="NAME", help="The name of the run and of its suite.")
@click.option("--provider", metavar="NAME", help="Who answers: local, openai, ...")
@click.option("--model", metavar="NAME", help="The exact name of the model.")
@base_url_option
@key_variable_option
@provider_options_option
@click.option("--suite", metavar="DIALECT", help="What the cases are written in.")
@click.option("--ci", metavar="SYSTEM", help="github, gitlab or none.")
@click.option(
    "--config",
    "existing",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A configuration in FOLDER: only its CI file is written. Needs --ci.",
)
@click.option("--yes", is_flag=True, help="Ask nothing: the defaults for all that is not given.")
@click.option("--force", is_flag=True, help="Replace files that are there.")
def init(
    folder: Path,
    name: str | None,
    provider: str | None,
    model: str | None,
    base_url: str | None,
    api_key_env: str | None,
    options: tuple[str, ...],
    suite: str | None,
    ci: str | None,
    existing: Path | None,
    yes: bool,
    force: bool,
) -> None:
    """Write a configuration, a suite and a CI file, which run as they are.

    The configuration and the suite go into FOLDER, the CI file to the root of its repository.

    Asks five questions, but for what is given as an option. With --config it asks none, and writes
    only the CI file. Nothing is sent, and no file that is there is replaced without --force.
    """
    presets: dict[str, Any] = {
        "name": name, "provider": provider, "model": model, "suite": suite, "ci": ci,
    }  # fmt: skip
    connection = _check(presets, base_url, api_key_env, options)
    if existing is not None:
        _require_only_ci(presets | connection)
        _write_ci(str(ci), folder, existing, force=force)
        return
    missing = [question for question in presets if presets[question] is None]
    if missing and yes:
        answers = Answers(**_by_default(presets), **connection)
    elif not missing:
        answers = Answers(**presets, **connection)
    elif at_a_terminal():
        answers = _ask_missing(presets, **connection)
    else:
        flags = ", ".join(f"--{question}" for question in missing)
        raise InvalidInput.because(
            "missing-option",
            f"nobody can be asked here: this is no terminal, and {flags} "
            f"{'is' if len(missing) == 1 else 'are'} missing",
            remedy="name them, or take the defaults with --yes",
        )
    _write(answers, folder, force=force)


def _check(
    presets: Mapping[str, str | None],
    base_url: str | None,
    api_key_env: str | None,
    options: Sequence[str],
) -> dict[str, Any]:
    """The answers that are no questions. Raises `InvalidInput` with every invalid answer.

    The keys of `presets` are the questions; `None` is a missing answer.
    """
    problems = Problems()
    if (name := presets["name"]) is not None and not is_name(name):
        message = "is no name: letters, digits, dot, dash and underscore, up to 100"
        problems.error("invalid-option", message, field="--name")
    choices = {"provider": PROVIDERS.names(), "suite": dialect_names(), "ci": list(CI)}
    for question, names in choices.items():
        if (value := presets[question]) is not None and value not in names:
            problems.error(
                "unknown-name",
                f"there is no {value!r}",
                field=f"--{question}",
                remedy=f"there are: {', '.join(names)}",
            )
    check_key_variable(api_key_env, problems)
    provider_options = read_assignments("--option", "NAME=VALUE", options, problems)
    problems.raise_errors()
    return {"base_url": base_url, "api_key_env": api_key_env, "options": provider_options}


def _by_default(presets: Mapping[str, str | None]) -> dict[str, Any]:
    filled = {question: value or _DEFAULTS.get(question) for question, value in presets.items()}
    filled["model"] = filled["model"] or DEFAULT_MODELS.get(str(filled["provider"]))
    if filled["model"] is None:
        message = f"the provider {filled['provider']!r} has no default model"
        raise InvalidInput.because("missing-option", message, field="--model", remedy="name one")
    return filled


def _ask_missing(
    presets: Mapping[str, Any],
    base_url: str | None,
    api_key_env: str | None,
    options: dict[str, str],
) -> Answers:
    """All answers; those that `presets` lacks are asked at the terminal.

    The keys of `presets` are the questions; `None` is a missing answer.
    """
    name = presets["name"] or click.prompt(
        "1. Name of the run", default=_DEFAULTS["name"], value_proc=_name, err=True
    )
    provider = presets["provider"] or _choice(
        "2. Provider", PROVIDERS.names(), _DEFAULTS["provider"]
    )
    rules = rules_of(provider)
    default = DEFAULT_MODELS.get(provider)
    model = presets["model"] or click.prompt("3. Model, its exact name", default=default, err=True)
    if base_url is None and "base_url" in rules.needs:
        base_url = click.prompt("   Base URL of its server", err=True)
    if api_key_env is None and "api_key_env" in rules.takes:
        variable = rules.default_key_variable(base_url) or ""
        prompt = "   Environment variable of the key" + ("" if variable else " (or nothing)")
        api_key_env = click.prompt(prompt, default=variable, value_proc=_variable, err=True) or None
    suite = presets["suite"] or _choice("4. Kind of suite", dialect_names(), _DEFAULTS["suite"])
    ci = presets["ci"] or _choice("5. CI", list(CI), _DEFAULTS["ci"])
    return Answers(name, provider, model, suite, ci, base_url, api_key_env, options)


def _choice(question: str, names: Sequence[str], default: str) -> str:
    choice: str = click.prompt(question, type=click.Choice(names), default=default, err=True)
    return choice


def _name(text: str) -> str:
    if not is_name(text):
        raise click.BadParameter("letters, digits, dot, dash and underscore, up to 100")
    return text


def _variable(text: str) -> str:
    if text and not is_variable(text):
        raise click.BadParameter(NOT_THE_KEY)
    return text


def _require_only_ci(answers: dict[str, Any]) -> None:
    """Raise `InvalidInput` unless the answers name a CI system and nothing else."""
    others = dict(answers)
    problems = Problems()
    if (others.pop("ci") or "none") == "none":
        message = "is missing: with --config only the file of a CI system is written"
        remedy = f"name one of {', '.join(name for name in CI if name != 'none')}"
        problems.error("missing-option", message, field="--ci", remedy=remedy)
    for name, value in others.items():
        if value:
            option = MODEL_OPTIONS.get(name, f"--{name}")
            message = "is for a new configuration, and --config names one that exists"
            problems.error("invalid-option", message, field=option, remedy="leave out one")
    problems.raise_errors()


def _write_ci(ci: str, folder: Path, existing: Path, *, force: bool) -> None:
    """Write the file of this CI system for a configuration that exists in `folder`."""
    if existing.is_absolute() or ".." in existing.parts:
        message = "is not inside FOLDER"
        remedy = "name it from FOLDER on"
        raise InvalidInput.because("invalid-option", message, field="--config", remedy=remedy)
    configuration = load_configuration(folder / existing).configuration
    path = existing.as_posix()
    _write_files(_pipeline(ci, configuration, folder, existing), force=force)
    for variable in key_variables(configuration):
        say(f"put the key into the CI system's secret variable {one_line(variable)}")
    if configuration.gates == Gates():
        say(f"{one_line(path)} has no gates: failed cases do not fail the build")


def _write(answers: Answers, folder: Path, *, force: bool) -> None:
    contents = files_of(answers)
    configuration = _validated(contents[CONFIGURATION])
    files = {folder / name: content for name, content in contents.items()}
    if answers.ci != "none":
        files |= _pipeline(answers.ci, configuration, folder, Path(CONFIGURATION))
    _write_files(files, force=force)
    for variable in key_variables(configuration):
        say(f"before a run: put the key into the environment variable {one_line(variable)}")
    place = "" if folder == Path() else f"cd {folder} && "
    allow = "".join(f" --allow {quote(str(pair))}" for pair in pairs_to_allow(configuration))
    say(f"next: {one_line(f'{place}failproof-es start {CONFIGURATION}{allow}')}")


def _pipeline(ci: str, configuration: Configuration, folder: Path, path: Path) -> dict[Path, bytes]:
    """The path and the content of the file of this CI system, at the root of the repository.

    `path` is the configuration in `folder`. Without a repository `folder` counts as the root.
    """
    here = folder.absolute()
    root = next((place for place in (here, *here.parents) if (place / ".git").exists()), None)
    if root is None:
        root = here
        say(f"{ci} reads {CI[ci]} only at the root of a repository: let that be FOLDER")
    file = (folder if root == here else root) / str(CI[ci])
    from_root = (here / path).relative_to(root).as_posix()
    return {file: pipeline_of(ci, configuration, from_root)}


def _write_files(files: dict[Path, bytes], *, force: bool) -> None:
    """Write them all, or raise `InvalidInput` if one exists and `force` is not set."""
    there = [path for path in files if path.exists()]
    if there and not force:
        remedy = "choose another folder, or replace it with --force"
        if any(path.name == CONFIGURATION for path in there):
            remedy += f"; for its CI file alone: --ci github --config {CONFIGURATION}"
        raise InvalidInput(
            [Problem("file-exists", "is there already", file, remedy=remedy) for file in there]
        )
    for path, content in files.items():
        write_file(path, [content])
        say(f"written: {one_line(path)}")


def _validated(configuration: bytes) -> Configuration:
    """The generated configuration. Raise `InvalidInput` if it is not valid.

    Problems name the option that would set the field, and no file: none was written.
    """
    with TemporaryDirectory(prefix="failproof-es-init-") as aside:
        path = Path(aside) / CONFIGURATION
        path.write_bytes(configuration)
        try:
            return load_configuration(path).configuration
        except InvalidInput as error:
            raise InvalidInput(
                list(dict.fromkeys(_of_option(problem) for problem in error.problems))
            ) from None


def _of_option(problem: Problem) -> Problem:
    name = (problem.field or "").rpartition(".")[2]
    return replace(problem, path=None, line=None, field=MODEL_OPTIONS.get(name, problem.field))
