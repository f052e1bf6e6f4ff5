"""Makes the labels of promptfoo's providers the `key` of their entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from failproof_es.importers.promptfoo.assertions import plain_text
from failproof_es.importers.promptfoo.documents import DocumentNode
from failproof_es.importers.protocol import Findings

LONGEST_LABEL = 100
_IS_NO_KEY = "the label names no model here: it is not unique, too long, or cannot be printed"


def label_models(
    mapped: Sequence[tuple[DocumentNode, dict[str, Any]]], findings: Findings
) -> Iterator[dict[str, Any]]:
    """Yield each entry once, with its provider's label as its `key`.

    `mapped` are the providers and their entries. Results name a model by its key, so a label that
    several providers or a model's name share is noted in `findings`, and names none.
    """
    labels = [_label_of(document.value) for document, _ in mapped]
    uses = Counter(labels)
    seen: list[dict[str, Any]] = []
    for (document, entry), label in zip(mapped, labels, strict=True):
        model = entry
        if label is not None and label != entry["model"]:
            is_taken = any(_may_be_derived(label, other) for _, other in mapped)
            if uses[label] == 1 and not is_taken and _is_key(label):
                model = {**entry, "key": label}
            else:
                findings.note(document.place("label"), _IS_NO_KEY)
        if model not in seen:
            seen.append(model)
            yield model


def _label_of(provider: Any) -> str | None:
    """The label of a provider as promptfoo writes it; `None` without one."""
    if isinstance(provider, dict) and "id" not in provider and len(provider) == 1:
        [provider] = provider.values()
    label = provider.get("label") if isinstance(provider, dict) else None
    return None if label is None else plain_text(label).strip()


def _may_be_derived(key: str, model: dict[str, Any]) -> bool:
    """Whether the key may be that of the entry `model` without a `key` of its own."""
    qualified_name = f"{model['provider']}:{model['model']}"
    return key in (model["model"], qualified_name) or key.startswith(f"{qualified_name}#")


def _is_key(label: str) -> bool:
    is_short = 0 < len(label) <= LONGEST_LABEL
    return is_short and label.isprintable() and not label.startswith("judge:")
