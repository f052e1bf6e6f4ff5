"""Decodes escapes that hide characters: `$'...'`, `printf` formats and `echo -e`."""

from __future__ import annotations

import re

_ESCAPE = re.compile(
    r"\\(?:x(?P<hex>[0-9A-Fa-f]{1,2})|u(?P<short>[0-9A-Fa-f]{1,4})|U(?P<long>[0-9A-Fa-f]{1,8})"
    r"|0?(?P<octal>[0-7]{1,3})|c(?P<control>.)|(?P<letter>.))",
    re.DOTALL,
)
_LETTERS = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r",
    "t": "\t", "v": "\v",
}  # fmt: skip


def ansi_c(text: str) -> str:
    """The text with C escapes replaced. A NUL is left out and does not end the text."""

    def replace(match: re.Match[str]) -> str:
        for name, base in (("hex", 16), ("short", 16), ("long", 16), ("octal", 8)):
            if match[name]:
                code = int(match[name], base)
                return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else ""
        if match["control"]:
            return chr(ord(match["control"]) & 0x1F)
        return _LETTERS.get(match["letter"], match["letter"])

    return _ESCAPE.sub(replace, text)


def printf(template: str, arguments: tuple[str, ...]) -> str:
    """The output of the shell's `printf`; the template repeats until all arguments are used.

    Values are inserted as written, without formatting.
    """
    pending = list(arguments)

    def convert(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        value = pending.pop(0) if pending else ""
        return ansi_c(value) if match[0].endswith("b") else value

    pattern = re.compile(r"%%|%[-+ #0]*\d*(?:\.\d+)?[bcdeEfgGiosquxX]")
    output = pattern.sub(convert, ansi_c(template))
    while pending and pattern.search(template.replace("%%", "")):
        output += pattern.sub(convert, ansi_c(template))
    return output
