"""Recognises texts that look like keys, in what people write.

Which keys are removed from what servers answer does not depend on their shape:
`engine/drive/redaction.py`.
"""

from __future__ import annotations

import re

_PLACEHOLDER = r"(?:[A-Z_]+|\$?\{[^\s{}/@]+\}|<[^\s<>/@]+>|\*+|(?i:password))"
"""Placeholders that documentation writes for the password of a URL, such as
`://USER:PASSWORD@host`."""
_KEY = re.compile(
    r"sk-(?<!\wsk-)(?=[\w-]{0,40}\d)[\w-]{16,}"
    r"|(?:AKIA|ASIA)(?<!\w....)[0-9A-Z]{16}(?!\w)"
    r"|AIza(?<!\wAIza)[\w-]{35}"
    r"|gh[oprsu]_(?<!\w....)[0-9A-Za-z]{36,}"
    r"|github_pat_\w{22,}"
    r"|glpat-[\w-]{20,}"
    r"|gsk_[0-9A-Za-z]{40,}"
    r"|hf_(?<!\whf_)[0-9A-Za-z]{30,}"
    r"|nvapi-[\w-]{40,}"
    r"|pplx-[0-9A-Za-z]{40,}"
    r"|xai-[0-9A-Za-z]{40,}"
    r"|xox[a-z]-[0-9A-Za-z-]{16,}"
    r"|eyJ(?<!\weyJ)[\w-]{16,600}\.eyJ[\w-]{16,600}\.[\w-]{16,}"
    r"|-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"
    rf"|://[^\s/:@]+:(?!{_PLACEHOLDER}@)[^\s/@]{{6,}}@"
)
"""Keys of vendors: a prefix and as many characters as a key has. Each alternative begins with a
character of few texts, so that others are passed over quickly, and looks ahead a bounded way."""
_MAY_BE_KEY = re.compile(r"\b(sk|pk|hf|ghp|xox[a-z])[-_]\w|://[^/]*@|[\w+/=-]{32,}")


def find_key(text: str) -> str | None:
    """The first part of the text that has the shape of a key; `None` without one.

    A made-up key has that shape, too. No message may quote the result.
    """
    match = _KEY.search(text)
    return None if match is None else match[0]


def hide_keys(text: str) -> str:
    """The text with `***` for each part that has the shape of a key."""
    return _KEY.sub("***", text)


def may_hold_key(text: str) -> bool:
    """Whether the text may hold a key, also an unknown or a shortened one: do not quote it."""
    return _MAY_BE_KEY.search(text) is not None or find_key(text) is not None
