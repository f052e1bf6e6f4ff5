"""Patterns of `grep` that are the same as a basic and as an extended regular expression.

POSIX (XBD § 9.3, 9.4) gives both languages one meaning for: ordinary characters, `.`, bracket
expressions, one `*` behind any of these, `^` as the first and `$` as the last character. GNU grep
compiles both for one matcher, so other options (`-i`, `-w`, `-x`, `-o`) act on the same
expression. Excluded, because they differ or are undefined in one of the two: `\\`, `+`, `?`,
`|`, `(`, `)`, `{`, `}`, inner anchors, `*` at the start or twice, brackets with classes in them,
line ends, and characters outside ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from failproof_es.shell_analysis.equivalence.arguments import Option

_ORDINARY = r"A-Za-z0-9 _,:;/@%#\"'=~!<>&\-"
_SAME_IN_BOTH = re.compile(rf"\^?(?:(?:[{_ORDINARY}.]|\[\^?[A-Za-z0-9 _,;/@%#~!\-]+\])\*?)+\$?")
_MATCHERS = ("-E", "-F", "-G", "-P")


def without_idle_matcher(options: Sequence[Option]) -> list[Option]:
    """The options of `grep` without `-G`, the default, and without an `-E` that changes no pattern.

    Both stay if another of `-E`, `-F`, `-G`, `-P` is given; `-E` also stays if a pattern is in a
    file or computed.
    """
    matchers = {option.name for option in options if option.name in _MATCHERS}
    patterns = [option.value for option in options if option.name == "-e"]
    idle = matchers == {"-G"} or (
        matchers == {"-E"}
        and not any(option.name == "-f" for option in options)
        and all(
            pattern is not None and _SAME_IN_BOTH.fullmatch(pattern.text or "")
            for pattern in patterns
        )
    )
    return [option for option in options if not (idle and option.name in matchers)]
