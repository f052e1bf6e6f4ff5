"""`completion`: prints the script by which a shell completes this program's words."""

from __future__ import annotations

import click

from failproof_es.cli.app.program import CliCommand

SHELLS = ("bash", "zsh", "fish")
_NAME = "failproof-es"
_VARIABLE = "_FAILPROOF_ES_COMPLETE"


@click.command(cls=CliCommand)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that completes commands and options in SHELL.

    \b
    bash  failproof-es completion bash > ~/.failproof-es-completion
          and in ~/.bashrc: source ~/.failproof-es-completion
    zsh   the same with ~/.zshrc
    fish  failproof-es completion fish > ~/.config/fish/completions/failproof-es.fish
    """
    from click.shell_completion import ShellComplete, get_completion_class

    program = click.get_current_context().find_root().command
    kind = get_completion_class(shell)
    assert kind is not None
    # The script itself; bash's own method would start bash to check its version.
    click.echo(ShellComplete.source(kind(program, {}, _NAME, _VARIABLE)))
