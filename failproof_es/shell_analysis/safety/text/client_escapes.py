"""Commands that database clients and transfer programs hand to a shell: `sqlite3 f '.shell ls'`.

The search covers every argument and the client's standard input, line by line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from failproof_es.shell_analysis.safety.commands import ShellCommand
from failproof_es.shell_analysis.safety.text import marks

_SQLITE = re.compile(
    r"^\s*\.(?:sh(?:ell?)?|sy(?:s(?:t(?:em?)?)?)?)\s+(\S.*)"
    r"|^\s*\.(?:on(?:ce?)?|o(?:utput)?|re(?:ad?)?|im(?:port?)?)\s[^|\n]*\|\s*([^\s\"'][^\"']*)",
    re.MULTILINE,
)
_PSQL = re.compile(
    r"\\!\s*(\S.*)|\\(?:o|out|g|gx|w|write)\s*\|\s*(\S.*)|\bprogram\s*'((?:[^']|'')*)'",
    re.IGNORECASE,
)
_MYSQL = re.compile(
    r"(?:^|[;\n])\s*(?:system|pager|tee\s*\|)\s+(\S.*)|\\!\s*(\S.*)|\\P\s*(\S.*)", re.IGNORECASE
)
_SQLPLUS = re.compile(r"^\s*(?:host|ho)\s+(\S.*)|^\s*[!$]\s*(\S.*)", re.IGNORECASE | re.MULTILINE)
_BANG = re.compile(r"(?:^|[;\n])\s*:?!{1,2}\s*(\S.*)", re.MULTILINE)
_SHELL_ESCAPES: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(("sqlite3", "sqlite", "duckdb", "litecli"), _SQLITE),
    **dict.fromkeys(("psql", "pgcli", "cockroach"), _PSQL),
    **dict.fromkeys(("mysql", "mariadb", "mycli", "mysqlsh"), _MYSQL),
    **dict.fromkeys(("sqlplus", "sql"), _SQLPLUS),
    **dict.fromkeys(("sqlcmd", "ftp", "sftp", "lftp", "isql", "tsql", "cqlsh"), _BANG),
}


def escaped_scripts(command: ShellCommand) -> list[str]:
    """The texts that a database client or a transfer program would give to a shell, each once.

    They follow escapes such as `.shell` in its arguments or on its standard input. Empty for any
    other program.
    """
    escape = _SHELL_ESCAPES.get(command.name)
    if escape is None:
        return []
    texts = [*command.arguments, *([command.feed.text] if command.feed.text else [])]
    return list(
        dict.fromkeys(
            script
            for text in texts
            for match in escape.finditer(marks.plain(text))
            for script in match.groups()
            if script
        )
    )
