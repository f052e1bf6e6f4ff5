"""`python -m tools.releasing build|key|verify`: docs/how-to/release.md says how it is used."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click

from failproof_es.assurance.signing.signing_key import create_key, read_key, read_public_key
from failproof_es.ledger.note import ED25519, LOG_SIGNATURES
from failproof_es.problems import InvalidInput
from tools.releasing import provenance
from tools.releasing.artefacts import ROOT, NotReproducible, build_twice, git, sha256, source_of
from tools.releasing.sbom import write_sbom

OUTPUT = ROOT / "build/release"
KEY_NAME = "failproof-es.release"


@click.group()
def main() -> None:
    """Make a release, and check one."""


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
def key(file: Path) -> None:
    """Make a key for releases in FILE, which nobody else can read; its public half in FILE.pub."""
    click.echo(create_key(file, KEY_NAME, ED25519).public)


@main.command()
@click.option("--commit", default="HEAD", show_default=True, help="What is released.")
@click.option("--output", type=click.Path(path_type=Path), default=OUTPUT, help="A folder, empty.")
@click.option("--key", "key_file", type=click.Path(path_type=Path), help="Signs the provenance.")
@click.option("--unsigned", is_flag=True, help="Without provenance: nobody can check the files.")
@click.option("--source", required=True, metavar="URL", help="Where the commit can be read.")
@click.option(
    "--builder",
    default="urn:failproof-es:local",
    show_default=True,
    metavar="URI",
    help="Who builds.",
)
def build(
    commit: str, output: Path, key_file: Path | None, unsigned: bool, source: str, builder: str
) -> None:
    """Build the wheel, the source package, the SBOM, the digests and the signed provenance."""
    if (key_file is None) != unsigned:
        raise click.UsageError("name a key with --key, or say --unsigned")
    signing = None if key_file is None else read_key(key_file, LOG_SIGNATURES)
    if output.exists() and any(output.iterdir()):
        raise click.UsageError(f"{output} is not empty: a release is made in a folder of its own")
    commit = git("rev-parse", "--verify", f"{commit}^{{commit}}")
    if changed := git("status", "--porcelain", "--untracked-files=all").splitlines():
        click.echo(
            f"not released, for no commit has them: {len(changed)} files, among them", err=True
        )
        for line in changed[:5]:
            click.echo(f"  {line}", err=True)
    files = build_twice(commit, output)
    version = files[0].name.split("-")[1]
    sbom = output / f"failproof_es-{version}.cdx.json"
    with source_of(commit) as tree:
        packages = write_sbom(tree / ".ci/constraints.txt", tree / "pyproject.toml", sbom)
    files = sorted([*files, sbom])
    sums = output / "SHA256SUMS"
    sums.write_text("".join(f"{sha256(each)}  {each.name}\n" for each in files))
    if signing is not None:
        told = provenance.statement(
            [*files, sums],
            commit=commit,
            source=source,
            version=version,
            builder=builder,
            at=git("show", "-s", "--format=%cI", commit),
        )
        (output / provenance.FILE).write_text(provenance.signed(told, signing))
    click.echo(
        f"failproof-es {version} of {commit}: {len(files)} files, {packages} packages listed"
    )
    for each in sorted(output.iterdir()):
        click.echo(f"  {sha256(each)}  {each.name}")


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--key", "key_text", required=True, help="The public key, or a file that holds it.")
def verify(folder: Path, key_text: str) -> None:
    """Check that the key signed the files in FOLDER, all of them and no others."""
    told = provenance.check(folder, read_public_key(key_text, LOG_SIGNATURES))
    click.echo("as signed: " + json.dumps(told["predicate"]["buildDefinition"]))


if __name__ == "__main__":
    try:
        main(prog_name="python -m tools.releasing", standalone_mode=True)
    except (InvalidInput, NotReproducible, provenance.NotAsSigned) as error:
        sys.exit(f"error: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: {error}: {(error.stderr or b'').decode(errors='replace').strip()}")
