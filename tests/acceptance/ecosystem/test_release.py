"""What a release is made of: the version, the packages, the signed statement, what it needs."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path

import orjson
import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from failproof_es.ledger.note import SigningKey
from tests.acceptance.commands import ROOT
from tests.acceptance.ecosystem.installing import ARCHIVAL, PINS
from tests.acceptance.ecosystem.test_pre_commit import git
from tools.releasing import provenance
from tools.releasing.artefacts import build_twice, sha256
from tools.releasing.sbom import write_sbom
from tools.releasing.version import FALLBACK, TOLD, of_description, version


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        ("v1.2.3", "1.2.3"),
        ("v1.2.3-0-gabc1234", "1.2.3"),
        ("v1.2.3-4-gabc1234", "1.2.4.dev4+gabc1234"),
        ("v1.2.3-0-gabc1234-dirty", "1.2.4.dev0+gabc1234.dirty"),
        ("v2.0.0rc1", "2.0.0rc1"),
        ("v2.0.0rc1-2-gabc1234", "2.0.0.dev2+gabc1234"),
        ("2.0.0", None),
        ("v2.0.0; touch x", None),
        ("abc1234", f"{FALLBACK}+gabc1234"),
        ("abc1234-dirty", f"{FALLBACK}+gabc1234.dirty"),
        ("a" * 40, f"{FALLBACK}+g{'a' * 12}"),
        ("", None),
        ("$Format:%(describe:tags=true,match=v[0-9]*,abbrev=12)$", None),
    ],
)
def test_the_version_is_that_of_the_tag(described: str, expected: str | None) -> None:
    assert of_description(described) == expected


def test_a_source_without_git_has_the_version_that_it_was_packed_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "around it")
    git(tmp_path, "tag", "v7.7.7")
    source = tmp_path / "source"
    source.mkdir()
    assert version(source) == FALLBACK
    (source / ".git_archival.txt").write_text("commit: a\ndescribe: v1.2.3\n")
    assert version(source) == "1.2.3"
    (source / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: x\nVersion: 1.2.4\n\ntext\n")
    assert version(source) == "1.2.4"
    assert version(tmp_path) == "7.7.7"
    monkeypatch.setenv(TOLD, "3.2.1")
    assert version(source) == "3.2.1"
    monkeypatch.setenv(TOLD, "3.2.1; touch x")
    with pytest.raises(ValueError, match="is not a version"):
        version(source)


def test_a_commit_without_a_tag_has_its_name_in_the_version_wherever_it_is_built(
    tmp_path: Path,
) -> None:
    """No two commits have one version: not in a shallow clone, an archive or a changed tree."""
    whole, shallow, archive = (tmp_path / name for name in ("whole", "shallow", "archive"))
    for folder in (whole, archive):
        folder.mkdir()
    git(whole, "init", "-q")
    (whole / ".gitattributes").write_text(".git_archival.txt export-subst\n")
    (whole / ".git_archival.txt").write_text(ARCHIVAL)
    git(whole, "add", ".")
    git(whole, "commit", "-q", "-m", "one")
    git(whole, "tag", "v1.0.0")
    assert version(whole) == "1.0.0"
    git(whole, "commit", "-q", "--allow-empty", "-m", "two")
    commit = git(whole, "rev-parse", "HEAD")[:12]
    assert version(whole) == f"1.0.1.dev1+g{commit}"
    git(tmp_path, "clone", "-q", "--depth=1", "--no-tags", whole.as_uri(), str(shallow))
    assert version(shallow) == f"{FALLBACK}+g{commit}"
    (shallow / ".gitattributes").write_text("changed\n")
    assert version(shallow) == f"{FALLBACK}+g{commit}.dirty"
    git(whole, "tag", "-d", "v1.0.0")
    git(whole, "archive", "-o", str(tmp_path / "a.tar"), "HEAD")
    with tarfile.open(tmp_path / "a.tar") as tar:
        tar.extractall(archive, filter="data")
    assert version(archive) == version(whole) == f"{FALLBACK}+g{commit}"


class TestProvenance:
    """A statement about three files, checked by both programs that check it."""

    @pytest.fixture
    def key(self) -> SigningKey:
        return SigningKey.generate("failproof-es.release")

    @pytest.fixture
    def folder(self, tmp_path: Path, key: SigningKey) -> Path:
        files = [tmp_path / name for name in ("a.whl", "b.tar.gz", "SHA256SUMS")]
        for file in files:
            file.write_bytes(file.name.encode())
        told = provenance.statement(
            files,
            commit="c" * 40,
            source="https://example.org/r",
            version="1.0",
            builder="urn:x",
            at="2026-01-01T00:00:00+00:00",
        )
        (tmp_path / provenance.FILE).write_text(provenance.signed(told, key))
        return tmp_path

    def outcome(self, folder: Path, key: SigningKey) -> str | None:
        """Why it is not as signed; both say the same of whether it is."""
        done = subprocess.run(
            [
                sys.executable, "-I", ROOT / "docs/reference/verify_release.py", folder,
                "--key", str(key.public),
            ],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode in (0, 1), done.stderr
        try:
            provenance.check(folder, key.public)
        except provenance.NotAsSigned as reason:
            assert done.returncode == 1, done.stdout
            return f"{reason} / {done.stdout}"
        assert done.returncode == 0, done.stdout
        return None

    def test_what_was_signed_is_as_signed(self, folder: Path, key: SigningKey) -> None:
        assert self.outcome(folder, key) is None

    def test_a_changed_file_is_named(self, folder: Path, key: SigningKey) -> None:
        (folder / "a.whl").write_bytes(b"A.whl")
        assert "a.whl is another file" in (self.outcome(folder, key) or "")

    def test_a_missing_and_an_added_file_are_named(self, folder: Path, key: SigningKey) -> None:
        (folder / "a.whl").rename(folder / "z.whl")
        said = self.outcome(folder, key) or ""
        assert "a.whl is missing; z.whl is not named" in said

    def test_a_folder_among_the_files_is_refused_by_both(
        self, folder: Path, key: SigningKey
    ) -> None:
        (folder / "more").mkdir()
        with pytest.raises(provenance.NotAsSigned, match="more cannot be read"):
            provenance.check(folder, key.public)
        verifier = ROOT / "docs/reference/verify_release.py"
        command = [sys.executable, "-I", str(verifier), str(folder), "--key", str(key.public)]
        assert subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 2

    def test_a_changed_statement_and_another_key_are_refused(
        self, folder: Path, key: SigningKey
    ) -> None:
        assert "not signed by" in (
            self.outcome(folder, SigningKey.generate("failproof-es.release")) or ""
        )
        note = folder / provenance.FILE
        note.write_text(note.read_text().replace("example.org/r", "example.org/s"))
        assert "not valid" in (self.outcome(folder, key) or "")


@pytest.mark.slow
def test_the_bill_of_materials_has_every_dependency_at_its_pin_and_no_tool_of_the_checks(
    tmp_path: Path,
) -> None:
    file = tmp_path / "sbom.json"
    count = write_sbom(PINS, ROOT / "pyproject.toml", file)
    told = orjson.loads(file.read_bytes())
    listed = {each["name"].lower(): each.get("version") for each in told["components"]}
    assert (told["bomFormat"], len(listed)) == ("CycloneDX", count)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(file.read_text()) is None
    own = {
        canonicalize_name(Requirement(each).name)
        for each in metadata.requires("failproof-es") or ()
    }
    assert own - {"failproof-es"} <= {canonicalize_name(name) for name in listed}
    assert {name for name, found in listed.items() if found is None} == {"inspect-ai"}
    assert {"httptools", "psycopg", "psycopg-binary", "scipy", "pandas", "pydantic-core"} <= {
        name.replace("_", "-") for name in listed
    }
    assert not {"aiohttp", "pytest", "mypy", "ruff", "hatchling"} & listed.keys()
    assert f"httptools=={listed['httptools']}" in PINS.read_text().splitlines()
    again = tmp_path / "again.json"
    write_sbom(PINS, ROOT / "pyproject.toml", again)
    assert file.read_bytes() == again.read_bytes()


@pytest.mark.slow
@pytest.mark.slow
def test_two_builds_of_a_tag_are_the_same_bytes_and_so_is_one_of_the_source_package(
    repository: Path, tmp_path: Path
) -> None:
    (repository / "failproof_es/stray.py").write_text("not of the commit\n")
    source, wheel = sorted(
        build_twice("v9.8.7", tmp_path / "out", repository), key=lambda each: each.suffix
    )
    assert (source.name, wheel.name) == (
        "failproof_es-9.8.7.tar.gz",
        "failproof_es-9.8.7-py3-none-any.whl",
    )
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
        points = packed.read("failproof_es-9.8.7.dist-info/entry_points.txt").decode()
    assert "failproof_es/data/configs/quickstart.yaml" in names
    assert "failproof_es/stray.py" not in names
    assert not {name for name in names if name.startswith(("tests/", "tools/", "docs/"))}
    assert "failproof = failproof_es.testing.pytest_plugin" in points
    with tarfile.open(source) as tar:
        tar.extractall(tmp_path / "unpacked", filter="data")
    time = git(repository, "show", "-s", "--format=%ct", "v9.8.7")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "again"],
        cwd=tmp_path / "unpacked/failproof_es-9.8.7",
        env={**os.environ, "SOURCE_DATE_EPOCH": time},
        check=True,
        capture_output=True,
        timeout=120,
    )
    assert sha256(tmp_path / "again" / wheel.name) == sha256(wheel)
