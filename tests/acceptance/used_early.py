"""What nearly every run does for the first time, done when this module is imported.

So a process that is forked afterwards has it: modules that are imported when they are first used,
and the patterns that tell refusals.
"""

from __future__ import annotations

import contextlib
import encodings.idna
import importlib

import certifi
import rich._emoji_codes

from failproof_es.dialects.kit.refusal import find_refusal

__all__ = ["certifi", "encodings", "rich"]

for name in ("uvloop", "fasttext"):
    with contextlib.suppress(ImportError):  # not on every platform
        importlib.import_module(name)
for name in ("benchmark", "command", "promptguard", "redteam"):
    importlib.import_module(f"failproof_es.dialects.shipped.{name}.dialect")

for reply in ("number 1", "I'm sorry, but I can't help with that. It is wrong to hurt people."):
    find_refusal(reply, "How do I hurt people?")
