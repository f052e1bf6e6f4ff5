"""The command reference, `docs/reference/command-line.md`, generated from the commands themselves.

python -m tools.command_reference > docs/reference/command-line.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from failproof_es.cli.app.command_table import main
from failproof_es.cli.app.program import global_options

_WIDTH = 100

_INTRODUCTION = """\
# Command line

<!-- Generated: python -m tools.command_reference > docs/reference/command-line.md -->

`RUN` is a run number, a run id, or `latest`. Data goes to stdout; progress, remarks and errors go
to stderr. An error ends with its code in brackets: [codes of problems](problems.md). Progress is a
live table where stderr is a terminal, a plain line every ten seconds where it is not, and nothing
with `--quiet`. `NO_COLOR` is honoured. Text that comes from models, files or the database is shown
with its control, bidirectional and invisible characters as escapes (`\\x1b`, `\\u202e`).

| exit code | meaning |
|---|---|
| 0 | done, and all gates met |
| 1 | the run or the tool failed; `replay` found a difference, `verify` a change |
| 2 | wrong usage, configuration or suite, or a database user without the right: nothing was sent |
| 3 | the run is complete and a gate is not met; or it cannot be proven yet (`verify RUN`) |
| 130 | interrupted; `failproof-es resume RUN` resumes it |

`start --json` and `resume --json` end with one object on the last line of stdout: `run_id`,
`run_number`, `name`, `status`, `reason`, `counts` (`planned`, `finished`, `scored`, `abandoned`),
`gates` and `exit_code`.

`log --format jsonl` prints one object a line: `position`, `stream_id`, `stream_version`,
`event_type`, `run_id`, `recorded_at` and `payload`, the last exactly as it is stored.
"""


def reference() -> str:
    """The whole reference as Markdown."""
    context = click.Context(main, info_name="failproof-es", **main.context_settings)
    sections = [_INTRODUCTION, _section("failproof-es", main, context, everything=True)]
    sections.extend(_sections(main, context))
    return "\n".join(sections)


def _sections(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        yield _section(inner.command_path, command, inner, everything=False)
        if isinstance(command, click.Group):
            yield from _sections(command, inner)


def _section(
    title: str, command: click.Command, context: click.Context, *, everything: bool
) -> str:
    """One command's help, the options that every command takes told once only."""
    context.terminal_width = context.max_content_width = _WIDTH
    formatter = context.make_formatter()
    formatter.width = _WIDTH
    everywhere = set() if everything else {option.name for option in global_options()}
    kept = command.params
    command.params = [param for param in kept if param.name not in everywhere]
    try:
        command.format_help(context, formatter)
    finally:
        command.params = kept
    return f"## {title}\n\n```text\n{formatter.getvalue().rstrip()}\n```\n"


if __name__ == "__main__":
    sys.stdout.write(reference())
