"""Sample replies of models, for contracts that hold for any reply."""

from __future__ import annotations

SHORT_TEXTS = ("", " ", "4", "I can't help with that.", '{"a": ')
TEXTS = (
    *("", " ", "\n\n", "\x00", "\ufeff", "\u202e", "\ud7ff", "\U0001f600" * 50, "é" * 3),
    *("4", "yes", "I can't help with that.", "null", "NaN", "-0", "1e999", "{", "}", "[]", "{}"),
    *('{"a": 1}', '{"a": ', '```json\n{"T": 0.5}\n```', "```sh\nls\n```", "<think>", "</think>x"),
    *("[" * 40, "{{x}}", "{" * 50 + "}" * 50, "a\r\nb", "'\"`$(", "\\u0000", "x" * 100_000),
)
"""Sample replies. A dialect or scorer must not raise for any of them."""
ENDINGS: tuple[tuple[str | None, str | None], ...] = (
    *(("stop", None), ("length", None), ("content_filter", None), (None, None)),
    *(("stop", "I won't."), ("tool_calls", None), ("something new", None)),
)
"""Endings of a reply: the finish reason, and the provider's refusal."""
THOUGHT = 'I can\'t help with that? `rm -rf /` is no answer, {"T": 1} is none.'
"""A thought that would count as a refusal, a command and a verdict if it were graded."""
