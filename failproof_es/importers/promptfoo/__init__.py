"""promptfoo's configurations: prompts x tests x assertions, without running any of their code."""

from failproof_es.importers.promptfoo.importer import PROMPTFOO

__all__ = ["PROMPTFOO"]
