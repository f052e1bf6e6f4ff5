"""`sed` scripts as lists of commands, without the delimiters of `s`, with flags sorted.

A script with an unusual construct is compared as written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from failproof_es.shell_analysis.equivalence.arguments import Option
from failproof_es.shell_analysis.equivalence.words import Form

_PLAIN_DELIMITERS = "/,#:%!@_;~= "
_ADDRESS = re.compile(r"[0-9]+(?:~[0-9]+)?|\$")
_SECOND = re.compile(r"[+~][0-9]+")
_ALONE = "=dDgGhHnNpPxzF}"
_BRACKET = re.compile(r"\\.|\[\^?\]?(?:\[[:.=].*?[:.=]\]|[^\]])*(?P<closed>\])?", re.DOTALL)
_END = re.compile(r"[ \t]*(?=[;\n}#]|\Z)")


class _Unusual(Exception):
    """The script has a construct that these rules don't cover."""


def normal_script(scripts: Sequence[Option]) -> Form:
    """The normal form of the script that all `-e` and `-f` options of `sed` make up.

    As written if a part is in a file, computed or not covered by the rules.
    """
    texts = [script.value.text if script.value is not None else None for script in scripts]
    if any(script.name != "-e" for script in scripts) or None in texts:
        return ("scripts", tuple(scripts))
    text = "\n".join(map(str, texts))
    try:
        return ("sed", *_Script(text).commands())
    except _Unusual:
        return ("script", text)


class _Script:
    def __init__(self, text: str) -> None:
        if text.startswith("#n"):
            raise _Unusual
        self._text = text
        self._at = 0

    def commands(self) -> list[Form]:
        """Every command with its addresses; a brace is a command, too."""
        commands: list[Form] = []
        while True:
            self._match(r"(?:[;\s]|#[^\n]*)*")
            if self._at == len(self._text):
                return commands
            commands.append(self._command())

    def _match(self, pattern: str | re.Pattern[str]) -> str | None:
        match = re.compile(pattern).match(self._text, self._at)
        if match is None:
            return None
        self._at = match.end()
        return match[0]

    def _next_character(self) -> str:
        if self._at >= len(self._text):
            raise _Unusual
        self._at += 1
        return self._text[self._at - 1]

    def _command(self) -> Form:
        addresses: list[Form] = []
        first = self._address()
        if first is not None:
            addresses.append(first)
            self._match(r"[ \t]*")
            if self._match(","):
                self._match(r"[ \t]*")
                second = self._match(_SECOND) or self._address()
                if second is None:
                    raise _Unusual
                addresses.append(second)
        self._match(r"[ \t]*")
        negated = self._match(r"![ \t]*") is not None
        return (tuple(addresses), negated, *self._function())

    def _address(self) -> Form | None:
        if plain := self._match(_ADDRESS):
            return plain
        if self._match("/"):
            delimiter = "/"
        elif self._match(r"\\"):
            delimiter = self._next_character()
        else:
            return None
        pattern = self._pattern(delimiter)
        return ("regex", pattern, "".join(sorted(self._match("[IM]*") or "")))

    def _function(self) -> tuple[Form, ...]:
        name = self._next_character()
        if name == "{":
            return (name,)
        if name in _ALONE:
            return self._require_end((name,))
        if name in "qQlL:btTrRwWaic":
            self._match(r"[ \t]*")
        if name in "qQlL":
            return self._require_end((name, self._match(r"[0-9]+") or ""))
        if name in ":btT":
            return self._require_end((name, self._label()))
        if name in "rRwW":
            return (name, self._match(r"[^\n]*"))
        if name in "aic":
            return (name, self._inserted_text())
        if name == "s":
            return self._require_end(self._substitution())
        if name == "y":
            delimiter = self._next_character()
            return self._require_end(
                (name, self._text_to_delimiter(delimiter), self._text_to_delimiter(delimiter))
            )
        raise _Unusual

    def _require_end(self, form: tuple[Form, ...]) -> tuple[Form, ...]:
        if self._match(_END) is None:
            raise _Unusual
        return form

    def _label(self) -> str:
        label = self._match(r"[^;\s]*") or ""
        if "}" in label:  # in some seds part of the label, in others the end of a block
            raise _Unusual
        return label

    def _inserted_text(self) -> str:
        """The text of `a`, `i` or `c` on the command's line. Raises `_Unusual` for any other
        notation."""
        text = self._match(r"[^\n]*") or ""
        if not text or "\\" in text:
            raise _Unusual
        return text

    def _substitution(self) -> tuple[Form, ...]:
        delimiter = self._next_character()
        pattern, replacement = self._pattern(delimiter), self._text_to_delimiter(delimiter)
        flags = self._match(r"[gpiImM0-9]*") or ""
        numbers = re.findall(r"[0-9]+", flags)
        letters = set(re.sub(r"[0-9]", "", flags).replace("i", "I").replace("m", "M"))
        refused = len(numbers) > 1 or flags.count("g") > 1 or flags.count("p") > 1
        if refused or self._match("[we]"):
            raise _Unusual
        return ("s", pattern, replacement, tuple(numbers), "".join(sorted(letters)))

    def _pattern(self, delimiter: str) -> str:
        """A regex up to its delimiter. Raises `_Unusual` for an open bracket: seds read it
        differently."""
        text = self._text_to_delimiter(delimiter)
        for match in _BRACKET.finditer(text):
            if match[0].startswith("[") and not match["closed"]:
                raise _Unusual
        return text

    def _text_to_delimiter(self, delimiter: str) -> str:
        """The text up to the delimiter; an escaped delimiter loses its backslash.

        Raises `_Unusual` if seds may read the part differently.
        """
        if delimiter in "\\\n":
            raise _Unusual
        text = ""
        while (character := self._next_character()) != delimiter:
            if character == "\n":
                raise _Unusual
            if character != "\\":
                text += character
                continue
            escaped = self._next_character()
            if escaped == delimiter and delimiter not in _PLAIN_DELIMITERS:
                raise _Unusual
            text += escaped if escaped == delimiter else "\\" + escaped
        return text
