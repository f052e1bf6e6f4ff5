"""The program and its commands, each loaded when it is used.

The sentence that `--help` lists for each command is repeated here, so that `--version` and `--help`
need not load the commands: a command loads the engine, the database driver and more. A test
compares each sentence with its command's own.
"""

from __future__ import annotations

import gc
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from failproof_es.cli.app.program import Program
from failproof_es.cli.entry import interrupts_leave

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class CommandEntry(NamedTuple):
    """The place of a command (`module:name` in this package), and its sentence in the list."""

    place: str
    sentence: str


FIRST_DAY = (
    ("start quickstart", "Evaluate the embedded model on 15 cases. No key is needed."),
    ("start CONFIG", "Evaluate your own models on your own cases."),
    ("resume RUN", "Resume an interrupted run."),
    ("results RUN", "Print the result of every evaluation."),
    ("report RUN", "Write the report as a page."),
    ("verify RUN", "Prove that nothing in the record was changed."),
)
"""The commands that the program shows when it is called without one."""


_TABLE = {
    "Run": {
        "start": CommandEntry(
            "commands.start_resume:start",
            "Start a run of the configuration CONFIG, a file or the name of a shipped one.",
        ),
        "register": CommandEntry(
            "commands.register:register",
            "Register the plan of CONFIG: what a run will ask, and how it will be judged.",
        ),
        "resume": CommandEntry("commands.start_resume:resume", "Resume RUN."),
        "wait": CommandEntry(
            "watching.wait:wait", "Wait until RUN is over or paused, wherever it is driven."
        ),
        "give-up": CommandEntry(
            "commands.manage.give_up:give_up", "Give a paused RUN up for good."
        ),
        "watch": CommandEntry(
            "watching.watch:watch",
            "Run a small sample of CONFIG now, and at every change of it or its suites.",
        ),
        "worker": CommandEntry(
            "commands.worker:worker",
            "Drive runs together with other workers, on this host or on others.",
        ),
    },
    "Look": {
        "runs": CommandEntry("commands.runs:runs", "List the runs, newest first."),
        "workers": CommandEntry(
            "commands.workers:workers", "List the workers, and the work of each."
        ),
        "show": CommandEntry(
            "commands.show:show",
            "Show the facts of RUN: who, when, what was asked, and the results.",
        ),
        "results": CommandEntry(
            "commands.results:results",
            "Print the results of RUN, in plan order; with --failed the worst first.",
        ),
        "case": CommandEntry(
            "commands.case:case",
            "Print every result of the case ID, of all runs and models, newest first.",
        ),
        "report": CommandEntry(
            "commands.report:report",
            "Write a report of RUN, or of several runs and how they compare.",
        ),
        "console": CommandEntry(
            "commands.manage.console:console",
            "Serve the audit console: web pages of all runs, read-only without --review.",
        ),
        "diff": CommandEntry(
            "commands.diff:diff",
            "Show what differs between two runs: configuration, models, cases, results.",
        ),
        "requests": CommandEntry(
            "commands.requests:requests",
            "Print the whole requests, with the person who started the run, and the case.",
        ),
        "log": CommandEntry(
            "commands.log:log", "Print the events of the log, or of RUN, in commit order."
        ),
    },
    "Check": {
        "validate": CommandEntry(
            "commands.validate:validate",
            "Check the configuration CONFIG, its suites, its models and the database.",
        ),
        "replay": CommandEntry(
            "commands.replay:replay",
            "Score the recorded answers of RUN again, and compare with the record.",
        ),
    },
    "Judge": {
        "review": CommandEntry(
            "commands.review:review", "Review evaluations by hand: `failproof-es review RUN`."
        ),
        "judges": CommandEntry(
            "commands.judges:judges",
            "Probe how far the judges of a configuration can be swayed.",
        ),
        "calibrate": CommandEntry(
            "commands.calibrate:calibrate",
            "Measure the judges of a run by people's labels: "
            "`failproof-es calibrate RUN --labels 100`.",
        ),
    },
    "Prove": {
        "verify": CommandEntry(
            "commands.prove.verify:verify",
            "Verify that nothing in the log was changed, or that RUN is genuine.",
        ),
        "audit-questions": CommandEntry(
            "commands.audit_questions:audit_questions",
            "Answer what an auditor asks of RUN, from the record.",
        ),
        "evidence": CommandEntry(
            "commands.prove.evidence:evidence",
            "Export one run as evidence that anyone can verify offline.",
        ),
        "ledger": CommandEntry(
            "commands.prove.ledger:ledger",
            "Sign the log, have it cosigned, and check it against checkpoints kept elsewhere.",
        ),
        "audit": CommandEntry(
            "commands.audit:audit",
            "Print the audit trail of RUN, of a validation that failed, or of all runs.",
        ),
    },
    "Manage": {
        "init": CommandEntry(
            "commands.manage.init:init",
            "Write a configuration, a suite and a CI file, which run as they are.",
        ),
        "suites": CommandEntry(
            "commands.manage.suites:suites", "Create, check and list suites of cases."
        ),
        "prompts": CommandEntry(
            "commands.manage.prompts:prompts", "Work with collections of prompts in the log."
        ),
        "models": CommandEntry(
            "commands.manage.models:models",
            "List the models that can be installed, or those of a provider; or install one.",
        ),
        "projections": CommandEntry(
            "commands.manage.projections:projections",
            "Show the status of the projections, or rebuild them from the log.",
        ),
        "import": CommandEntry(
            "commands.manage.imports:import_",
            "Import the cases in PATH, which another tool wrote, as a suite and a configuration.",
        ),
        "export": CommandEntry(
            "commands.export:export", "Export all data of each RUN into FOLDER, for another system."
        ),
        "console-account": CommandEntry(
            "commands.manage.console_account:console_account",
            "Write the account NAME of the console into FILE.",
        ),
        "annotate": CommandEntry(
            "commands.manage.annotate:annotate", "Name, tag or hide RUN, or put a note beside it."
        ),
        "project": CommandEntry(
            "commands.manage.project:project",
            "Define projects, and who may see the runs of each.",
        ),
        "archive": CommandEntry(
            "commands.manage.archive:archive",
            "Move the events of old runs from the log into verified files.",
        ),
        "attach": CommandEntry(
            "commands.manage.archive:attach",
            "Put the run in FILE, which `archive` wrote, back into the log.",
        ),
        "completion": CommandEntry(
            "commands.manage.completion:completion",
            "Print the script that completes commands and options in SHELL.",
        ),
        "db": CommandEntry(
            "commands.manage.database:db",
            "Start, stop and inspect the database that holds the log.",
        ),
    },
}
"""The commands by purpose, the everyday ones first."""
COMMANDS = {name: entry for entries in _TABLE.values() for name, entry in entries.items()}
GROUPS = {group: tuple(entries) for group, entries in _TABLE.items()}


_INSTEAD = (
    (("run", "test", "eval", "evaluate"), "`failproof-es start CONFIG` runs a configuration."),
    (
        ("view", "ui", "serve", "web", "dashboard"),
        "`failproof-es console` shows all runs in the browser, `failproof-es report RUN` one.",
    ),
    (
        ("stop", "cancel", "kill", "abort"),
        "Ctrl-C pauses a run where it is driven; `failproof-es give-up RUN` ends a paused one.",
    ),
    (
        ("delete", "remove", "rm", "clean", "prune"),
        "Nothing on record is deleted. `failproof-es archive RUN --to FOLDER` takes a run out of "
        "the log.",
    ),
    (
        ("name", "rename", "tag", "note", "label", "hide"),
        "`failproof-es annotate RUN` has --name, --tag, --note and --hide.",
    ),
    (("list", "ls", "history"), "`failproof-es runs` lists the runs, newest first."),
    (("compare",), "`failproof-es diff RUN RUN` compares two runs."),
    (("score", "grade"), "`failproof-es replay RUN` scores the recorded answers again."),
    (("retry", "rerun"), "`failproof-es resume RUN --again failed` asks what failed again."),
    (("status", "progress"), "`failproof-es show RUN` tells how far a run is."),
    (("setup", "configure"), "`failproof-es init` makes a configuration."),
)
OTHER_WORDS = {word: instead for words, instead in _INSTEAD for word in words}
"""Advice for words that other tools use as commands, by word."""


class Commands(Program):
    """The program, with every command of `COMMANDS`."""

    other_words = OTHER_WORDS

    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        """Run the program as the whole process, which has no garbage collector while it imports.

        Imported modules are then frozen: the collector would otherwise scan them about ten times
        before work begins.
        """
        gc.disable()
        return super().__call__(*arguments, **settings)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, in the order of their groups."""
        return [name for names in GROUPS.values() for name in names]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands in groups, each with its whole sentence."""
        width = max(map(len, COMMANDS))  # the sentences of all groups begin in one column
        for group, names in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(width), COMMANDS[name].sentence) for name in names])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; without any, print the commands of a first day and exit."""
        if not args and not ctx.resilient_parsing:
            formatter = ctx.make_formatter()
            formatter.write_usage(ctx.command_path, "COMMAND [ARGS]...")
            with formatter.section("First steps"):
                formatter.write_dl(FIRST_DAY)
            formatter.write_paragraph()
            formatter.write_text("All commands: failproof-es --help")
            click.echo(formatter.getvalue().rstrip("\n"))
            ctx.exit()
        return super().parse_args(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported at its first use; `None` if there is none."""
        if (entry := COMMANDS.get(cmd_name)) is None:
            return None
        module, _, name = entry.place.partition(":")
        with interrupts_leave():
            command = getattr(import_module(f"failproof_es.cli.{module}"), name)
        assert isinstance(command, click.Command)
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin with `incomplete`, and the program's options. Loads none."""
        from click.shell_completion import CompletionItem

        commands = [
            CompletionItem(name, help=COMMANDS[name].sentence)
            for name in self.list_commands(ctx)
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def sentence_of(self, ctx: click.Context, name: str) -> str | None:
        """The command's sentence in the list of commands, without loading the command."""
        return COMMANDS[name].sentence


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="failproof-es", message="%(prog)s %(version)s")
def main() -> None:
    """Evaluate language models, and record every step in an append-only log.

    RUN is a run number, a run id, or `latest`. Data goes to stdout. Messages for people go
    to stderr.

    \b
    Exit codes:
      0    done, and all gates are met
      1    the run or the tool failed
      2    wrong usage, configuration or suite; nothing was sent
      3    the run is complete, and a gate is not met
      130  interrupted; the run can be resumed
    """
