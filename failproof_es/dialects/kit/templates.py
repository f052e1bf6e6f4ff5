"""Fills untrusted text into templates, unaltered and in one pass.

A placeholder is `{{name}}`. A delimiter is derived from the SHA-256 of the texts between it, so
that no author can write a text that contains it, and the same texts always have the same one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import count

from failproof_es.problems import Problems

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_DIGITS = 32


def names(template: str) -> list[str]:
    """The names of the template's placeholders, in order, with repetitions."""
    return _PLACEHOLDER.findall(template)


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with each placeholder replaced; placeholders inside a value stay.

    A placeholder that is not in `values` stays as it is.
    """
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), template)


def defects(template: str, required: Sequence[str], optional: Sequence[str]) -> Iterator[str]:
    """The defects of a template: required placeholders that it lacks, and unknown ones.

    Each is the predicate of a sentence, such as `must hold {{question}}`; none for a usable
    template.
    """
    held = names(template)
    placeholders = list(dict.fromkeys([*required, *optional]))
    for name in required:
        if name not in held:
            yield f"must hold {{{{{name}}}}}"
    for name in dict.fromkeys(held):
        if name not in placeholders:
            placeholder_list = ", ".join(f"{{{{{placeholder}}}}}" for placeholder in placeholders)
            yield f"holds {{{{{name}}}}}, which nothing fills in; known: {placeholder_list}"


def report_defects(
    options: object,
    placeholders: Mapping[str, tuple[Sequence[str], Sequence[str]]],
    problems: Problems,
) -> None:
    """Report the defects of the templates among a dialect's options.

    `placeholders` has the required and the optional ones of each template; `None` as an option is
    the shipped template.
    """
    for name, (required, optional) in placeholders.items():
        template = getattr(options, name)
        for defect in () if template is None else defects(template, required, optional):
            problems.error("invalid-template", defect, field=f"prompts.options.{name}")


def shipped(package: str, name: str) -> str:
    """The text of the template in the file NAME.txt of a package."""
    return files(package).joinpath(f"{name}.txt").read_text("utf-8").strip("\n")


def delimiter(*untrusted: str) -> str:
    """32 hexadecimal digits that none of the texts contains; the same for the same texts."""
    content = b"\0".join(text.encode("utf-8", "surrogatepass") for text in untrusted)
    for attempt in count():
        digits = hashlib.sha256(content + b"\0" * attempt).hexdigest()[:_DIGITS]
        if not any(digits in text for text in untrusted):
            break
    return digits
