"""From a YAML file to a checked configuration, or to every reason why not."""

from __future__ import annotations

import difflib
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import orjson
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from failproof_es import shipped
from failproof_es.configuration.schema import Configuration, Model
from failproof_es.configuration.yaml_tree import Location, YamlTree, dotted, read_yaml
from failproof_es.problems import InvalidInput, Problems

_SECRET = re.compile(r"key|secret|token|password|credential", re.IGNORECASE)
_LOOKS_SECRET = re.compile(r"\b(sk|pk|hf|ghp|xox[a-z])[-_]\w|://[^/]*@|[\w+/=-]{32,}")
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_PLACEHOLDERS = ("{timestamp}", "{test_name}")


@dataclass(frozen=True, slots=True)
class LoadedConfiguration:
    """A configuration and the file it came from."""

    configuration: Configuration
    path: Path

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where relative paths in it are looked for, in this order."""
        return (Path.cwd(), self.path.absolute().parent, shipped.folder())

    def resolved(self) -> dict[str, Any]:
        """The whole configuration as JSON, defaults filled in. Holds no secret."""
        return self.configuration.model_dump(mode="json", by_alias=True)

    def digest(self) -> str:
        """SHA-256 of what determines the run: everything but `test_run.id` and `timestamp`."""
        resolved = self.resolved()
        for name in ("id", "timestamp"):
            resolved["test_run"].pop(name)
        return hashlib.sha256(orjson.dumps(resolved, option=orjson.OPT_SORT_KEYS)).hexdigest()


def configuration_from_resolved(resolved: dict[str, Any]) -> Configuration:
    """The configuration that `RunStarted` recorded."""
    return Configuration.model_validate(resolved)


def load_configuration(path: Path) -> LoadedConfiguration:
    """Read and check a configuration file. Raises `InvalidInput` with every problem in it."""
    problems = Problems()
    tree = read_yaml(path, problems)
    if tree is None:
        raise InvalidInput(problems.errors)
    if not isinstance(tree.value, dict):
        problems.error(
            "is not a configuration: a mapping is expected at the top",
            path=path,
            remedy="see configs/quickstart.yaml",
        )
        problems.raise_errors()
    configuration = None
    try:
        configuration = Configuration.model_validate(tree.value)
    except ValidationError as error:
        for detail in error.errors():
            _report(path, tree, detail, problems)
    else:
        _check_rules(path, tree, configuration, problems)
    problems.raise_errors()
    assert configuration is not None
    return LoadedConfiguration(configuration, path)


# -- what the schema finds, in plain words -------------------------------------------------


def _report(path: Path, tree: YamlTree, detail: ErrorDetails, problems: Problems) -> None:
    location: Location = detail["loc"]
    name = str(location[-1]) if location else ""
    message, remedy = _plain(detail, name, location)
    problems.error(
        message,
        path=path,
        line=tree.line_of(location),
        field=dotted(location) or None,
        remedy=remedy,
    )


def _plain(detail: ErrorDetails, name: str, location: Location) -> tuple[str, str | None]:
    context = detail.get("ctx", {})
    if detail["type"] == "extra_forbidden":
        return _unknown_key(name, location)
    if detail["type"] == "missing":
        return "is missing", f"add `{name}:`"
    if name == "source" and detail["input"] == "database":
        return (
            "`database` is not available in this version",
            "use `source: file` with a path",
        )
    if _SECRET.search(name):
        return (
            "must be the name of an environment variable",
            "a configuration names the variable that holds the key, never the key itself",
        )
    if detail["type"] == "literal_error":
        return f"is {_shown(detail['input'])}", f"use {context.get('expected')}"
    return f"{_lower_first(detail['msg'])}; it is {_shown(detail['input'])}", None


def _unknown_key(name: str, location: Location) -> tuple[str, str | None]:
    if _SECRET.search(name):
        return (
            "keys do not belong into a configuration",
            "put the key into an environment variable and name that in `api_key_env`",
        )
    known = _keys_at(location[:-1])
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return "is not a known key", f"did you mean `{close[0]}`?"
    return "is not a known key", f"known here: {', '.join(known)}" if known else None


def _keys_at(location: Location) -> list[str]:
    schema: Any = Configuration.model_json_schema(by_alias=True)
    definitions = schema.get("$defs", {})

    def resolve(part: Any) -> Any:
        for option in (part, *part.get("anyOf", [])):
            if "$ref" in option:
                return definitions[option["$ref"].rsplit("/", 1)[-1]]
        return part

    for step in location:
        schema = resolve(schema)
        schema = schema.get("items", {}) if isinstance(step, int) else schema["properties"][step]
    return sorted(resolve(schema).get("properties", {}))


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):  # what is inside may be a secret
        return "a mapping" if isinstance(value, dict) else "a list"
    if isinstance(value, str) and _LOOKS_SECRET.search(value):
        return "what looks like a key"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


# -- rules between values ------------------------------------------------------------------


def _check_rules(
    path: Path, tree: YamlTree, configuration: Configuration, problems: Problems
) -> None:
    def error(location: Location, message: str, remedy: str | None = None) -> None:
        problems.error(
            message, path=path, line=tree.line_of(location), field=dotted(location), remedy=remedy
        )

    if (given := configuration.test_run.id) is not None and not _is_uuid(given):
        error(("test_run", "id"), "is not a UUID", "leave it out to have one generated")
    for index, model in enumerate(configuration.models):
        for name, message, remedy in _model_problems(model):
            error(("models", index, name), message, remedy)
    if configuration.judge is not None:
        for name, message, remedy in _model_problems(configuration.judge):
            error(("judge", name), message, remedy)
    if configuration.output.file is not None:
        for placeholder in _PLACEHOLDER.findall(configuration.output.file.path):
            if placeholder not in _PLACEHOLDERS:
                error(
                    ("output", "file", "path"),
                    f"the placeholder {placeholder} is not known",
                    f"use {' or '.join(_PLACEHOLDERS)}",
                )


_TAKEN = {
    "openai": ("base_url", "api_key_env"),
    "local": (),
    "python": ("class", "api_key_env"),
}
_OWN_PLACE = frozenset({"model", "messages", "max_tokens", "temperature", "seed", "stream", "n"})
_NEEDED = {"openai": ("base_url",), "local": (), "python": ("class",)}


def _model_problems(model: Model) -> list[tuple[str, str, str | None]]:
    values = {
        "base_url": model.base_url,
        "class": model.class_,
        "api_key_env": model.api_key_env,
    }
    found: list[tuple[str, str, str | None]] = []
    for name, value in values.items():
        if value is None and name in _NEEDED[model.provider]:
            found.append((name, f"is missing: provider `{model.provider}` needs it", None))
        if value is not None and name not in _TAKEN[model.provider]:
            found.append((name, f"means nothing to provider `{model.provider}`", "take it out"))
    for name in sorted(_OWN_PLACE & set(model.parameters)):
        found.append(
            ("parameters", f"may not hold `{name}`", "what is asked of whom stands in its own key")
        )
    if model.base_url is not None:
        found += [("base_url", *problem) for problem in _url_problems(model.base_url)]
    return found


def _url_problems(url: str) -> list[tuple[str, str | None]]:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return [("is not a URL", "write it like http://127.0.0.1:8000/v1")]
    if parts.username or parts.password:
        return [("holds a user name or a password", "name the key's variable in `api_key_env`")]
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return [("is not an http or https URL", "write it like http://127.0.0.1:8000/v1")]
    return []


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
