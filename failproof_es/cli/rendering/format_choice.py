"""The values of `--format`; the name of an export's shape is answered with its command."""

from __future__ import annotations

from typing import Any

import click


class FormatChoice(click.Choice[str]):
    """Some formats. The message for the name of an export's shape names the command for it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The chosen format. Raises `click.BadParameter` if it is none of them."""
        if value not in self.choices:
            # Imported here: only this message needs the dialects and exporters.
            from failproof_es.exports.registry import shape_names

            if value in shape_names():
                command = f"failproof-es export RUN --shape {value} -o FOLDER"
                self.fail(f"{value!r} is a shape: `{command}` writes it", param, ctx)
        return super().convert(value, param, ctx)
