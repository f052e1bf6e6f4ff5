"""`import`: cases of other tools' files as suites, with a list of losses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from failproof_es.cli.app.option_values import check_key_variable, read_assignments
from failproof_es.cli.app.options import base_url_option, key_variable_option
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.commands.manage.recorded_runs import (
    import_recorded_run,
    is_recorded_run,
    say_not_mapped,
)
from failproof_es.cli.rendering.output import Format, format_option, print_json, say
from failproof_es.engine.imported_cases import (
    CONFIGURATIONS,
    CaseImport,
    PreparedImport,
    record_and_write,
)
from failproof_es.importers.protocol import MOST_LISTED, Options
from failproof_es.problems import InvalidInput, Problem, Problems
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import one_line


@click.command("import", cls=CliCommand)
@click.argument("kind")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="The folder to write to. Created if it is missing.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="WHAT=COLUMN",
    help="Which column holds what: prompt=question, expected=answer, match, id, system, choices, "
    "tags, suite, severity or metadata; expected2 and match2 to 9 for more expectations. A dot "
    "leads into a column: expected=answers.text.",
)
@click.option(
    "--match",
    metavar="HOW",
    help="How an answer is compared with the expected one: contains, icontains, equals, iequals, "
    "begins, ends, regex or refusal, all also as not-contains and so on; or judge. An i ignores "
    "case. A column `match` says it for each row.",
)
@click.option("--split", metavar="NAME", help="The split of a data set.")
@click.option("--name", metavar="NAME", help="The name of the suite and of its runs.")
@click.option("--provider", metavar="NAME", help="For the configuration: the model's provider.")
@click.option("--model", metavar="NAME", help="For the configuration: the model's exact name.")
@base_url_option
@key_variable_option
@click.option("--strict", is_flag=True, help="Write nothing if anything is not mapped; exit 2.")
@click.option(
    "--force",
    is_flag=True,
    help="Replace files that are there. Sections of a configuration that an import does not write, "
    "such as judges and gates, are kept.",
)
@click.option("--again", is_flag=True, help="Import a recorded run that is on record already.")
@format_option(Format.TABLE, Format.JSON)
def import_(
    kind: str,
    path: Path,
    output: Path | None,
    columns: tuple[str, ...],
    match: str | None,
    split: str | None,
    name: str | None,
    provider: str | None,
    model: str | None,
    base_url: str | None,
    api_key_env: str | None,
    strict: bool,
    force: bool,
    again: bool,
    output_format: Format,
) -> None:
    """Import the cases in PATH, which another tool wrote, as a suite and a configuration.

    KIND is promptfoo, inspect, openai-evals, csv, parquet, hf or suite, or what an installed
    package offers. What has no counterpart here is listed with its place and the reason, and
    stands in the event that records the import.

    The kinds inspect-log, promptfoo-results, garak-report and every-eval-ever are of runs that
    another tool recorded. The answers are kept as a run of their own, which says that it is
    imported. They are scored by checks here where these decide alike, and no model is asked. The
    only options are --again and --json.
    """
    if is_recorded_run(kind):
        case_options: dict[str, Any] = {
            "--output": output, "--column": columns, "--match": match, "--split": split,
            "--name": name, "--provider": provider, "--model": model, "--base-url": base_url,
            "--api-key-env": api_key_env, "--strict": strict, "--force": force,
        }  # fmt: skip
        import_recorded_run(kind, path, case_options, again=again, output_format=output_format)
        return
    problems = Problems()
    if again:
        problems.error("options-conflict", "is for recorded runs only", field="--again")
    if output is None:
        remedy = "name one with -o FOLDER"
        problems.error("missing-option", "no folder is named", field="--output", remedy=remedy)
    column_of = read_assignments("--column", "WHAT=COLUMN", columns, problems)
    models = _models(provider, model, base_url, api_key_env, problems)
    problems.raise_errors()
    assert output is not None
    options = Options(column_of, match, split)
    with CaseImport(kind, path, output, name) as importing:
        prepared = importing.prepare(options, models, force=force)
        if strict and prepared.findings.not_mapped.count:
            raise InvalidInput(_not_mapped_problems(prepared))
        with session().open_store() as store:
            record_and_write(store, prepared)
        if output_format is Format.JSON:
            print_json(_document(prepared))
        else:
            _print_findings(prepared)


def _models(
    provider: str | None,
    model: str | None,
    base_url: str | None,
    api_key_env: str | None,
    problems: Problems,
) -> list[dict[str, Any]]:
    """The entry of `models:` that the options describe, in a list; empty without options.

    A missing provider or model and an invalid name of a variable go to `problems`.
    """
    check_key_variable(api_key_env, problems)
    options = {"provider": provider, "model": model, "base_url": base_url}
    options["api_key_env"] = api_key_env
    entry: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if not entry:
        return []
    for name in ("provider", "model"):
        if name not in entry:
            problems.error("missing-option", "is missing", field=f"--{name}")
    return [{**entry, "max_tokens": 1024, "temperature": 0.0}]


def _not_mapped_problems(prepared: PreparedImport) -> list[Problem]:
    not_mapped = prepared.findings.not_mapped
    message = (
        f"{plural(not_mapped.count, 'part')} not mapped, and --strict was given: "
        "nothing was written"
    )
    return [
        Problem("not-mapped", message, prepared.source.path),
        *(
            Problem(
                "not-mapped", part.reason, Path(part.place.path), part.place.line, part.place.field
            )
            for part in not_mapped.entries
        ),
        *(
            Problem("not-mapped", f"{count} more: {reason}")
            for reason, count in not_mapped.more.items()
        ),
    ]


def _document(prepared: PreparedImport) -> dict[str, Any]:
    findings = prepared.findings
    return {
        "import": str(prepared.import_id),
        "kind": prepared.importer.name,
        "path": str(prepared.source.path),
        "records": findings.read,
        "cases": prepared.cases,
        "sources": [file._asdict() for file in prepared.source.files],
        "written": [
            {"path": str(file.path), "bytes": file.bytes, "sha256": file.sha256}
            for file in prepared.files
        ],
        "remarks": findings.remarks,
        "not_mapped_count": findings.not_mapped.count,
        "not_mapped": [
            {**part.place._asdict(), "reason": part.reason} for part in findings.not_mapped.entries
        ],
        "more_not_mapped": dict(findings.not_mapped.more),
    }


def _print_findings(prepared: PreparedImport) -> None:
    findings = prepared.findings
    not_mapped = findings.not_mapped
    most = "all" if not_mapped.count <= MOST_LISTED else f"the first {MOST_LISTED}"
    parts = (f"{part.place}: {part.reason}" for part in not_mapped.entries)
    more = f"--json lists {most}, and counts the rest by reason"
    say_not_mapped(parts, not_mapped.count, more)
    for remark in findings.remarks:
        say(one_line(remark))
    records = f"{findings.read:,} {'record' if findings.read == 1 else 'records'}"
    say(f"{records} read, {plural(prepared.cases, 'case')} written")
    for file in prepared.files:
        purpose = prepared.purposes.get(file.path.name)
        say(f"written: {one_line(file.path)}" + (f": {purpose}" if purpose else ""))
    say(f"record of this import: failproof-es audit {prepared.import_id}")
    for name in CONFIGURATIONS.values():
        for path in (file.path for file in prepared.files if file.path.name == name):
            say(f"next: failproof-es start {one_line(path)}")
