"""Copies of a tree with an environment of their own, so that every process imports the copy."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path

import psutil

from tools.mutants.reach import PROBE

_MEMORY = "/dev/shm/"  # noqa: S108 - where the tests' servers have their data
RECORDING, ORDERING = "failproof_mutants_recording", "failproof_mutants_ordering"
_mtimes = count(int(time.time()) - 10**6)
"""Each change of a file has another time, so that no compiled file of an earlier one fits."""


class Copy:
    """A copy of what is tracked in `tree`, and of its `.venv`."""

    def __init__(self, tree: Path, root: Path, packages: tuple[str, ...]) -> None:
        """Made at `root` if it is missing. Raises `RuntimeError` if processes import another."""
        self.root, self._tree, self._packages = root, tree, packages
        self.temporary = root.with_name(root.name + "t")
        if not (root / ".complete").exists():
            shutil.rmtree(root, ignore_errors=True)
            root.mkdir(parents=True)
            for path in tracked_files(tree):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(tree / path, root / path)
            self._copy_environment()
            (root / ".complete").touch()
        self.check_imports()

    @property
    def python(self) -> str:
        """The interpreter of the copy."""
        return str(self.root / ".venv/bin/python")

    def _copy_environment(self) -> None:
        """By hard links: whatever writes there replaces files. What names the tree is rewritten."""
        ours, theirs = self.root / ".venv", self._tree / ".venv"
        shutil.copytree(theirs, ours, symlinks=True, copy_function=os.link)
        packages = self._site_packages
        naming = [*(ours / "bin").iterdir(), *packages.glob("*.pth"), ours / "pyvenv.cfg"]
        naming += packages.glob("*.dist-info/direct_url.json")
        pattern = re.compile(re.escape(os.fsencode(self._tree)) + rb"(?![\w-])")
        for file in naming:
            if file.is_symlink() or not file.is_file() or file.stat().st_size > 10**6:
                continue
            raw = file.read_bytes()
            if (changed := pattern.sub(os.fsencode(self.root), raw)) != raw:
                mode = file.stat().st_mode
                file.unlink()
                file.write_bytes(changed)
                file.chmod(mode)
        here = Path(__file__).parent
        shutil.copy2(here / "recording_plugin.py", packages / f"{RECORDING}.py")
        shutil.copy2(here / "ordering_plugin.py", packages / f"{ORDERING}.py")

    @property
    def _site_packages(self) -> Path:
        (packages,) = (self.root / ".venv/lib").glob("python3*/site-packages")
        return packages

    def check_imports(self) -> None:
        """Raises `RuntimeError` where a process of the copy imports another tree."""
        program = "; ".join(f"import {name}; print({name}.__file__)" for name in self._packages)
        done = subprocess.run(
            [self.python, "-c", program], cwd="/", env=self.environment(), capture_output=True,
            text=True, check=True,
        )  # fmt: skip
        for path in done.stdout.split():
            if not path.startswith(f"{self.root}/"):
                raise RuntimeError(f"a process of the copy {self.root} imports {path}")

    def environment(self) -> dict[str, str]:
        """That of the caller, without what interpreters, pytest and make read."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "PYTEST", "VIRTUAL_ENV", "MAKE", "MFLAGS"))
        }
        return {**kept, "TMPDIR": str(self.temporary)}

    def write(self, path: str, raw: bytes) -> None:
        """Replace a file of the copy, and what was compiled from it."""
        file = self.root / path
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
            compiled.unlink()
        file.write_bytes(raw)
        stamp = next(_mtimes)
        os.utime(file, (stamp, stamp))

    def restore(self, path: str) -> None:
        """The file as it is in the tree."""
        self.write(path, (self._tree / path).read_bytes())

    def install_probes(self, files: Mapping[str, bytes]) -> Path:
        """Write files with probes, and what they call. Returns the folder of the record."""
        record = self._site_packages / "failproof_mutants_record"
        (record / "current").mkdir(parents=True, exist_ok=True)
        for name in ("hits", "files.jsonl"):
            (record / name).touch()
            (record / name).chmod(0o666)  # a server's user may write, too
        text = (Path(__file__).parent / "probe.py").read_text()
        text = text.replace("RECORD = Path()", f"RECORD = Path({str(record)!r})")
        (self.root / self._packages[0] / f"{PROBE}.py").write_text(text)
        for path, raw in files.items():
            self.write(path, raw)
        return record

    def pytest(self, *arguments: str, log: Path, timeout_s: float | None) -> int | None:
        """The exit code of pytest in the copy; `None` if it had to be ended after `timeout_s`.

        Afterwards no process of the copy runs, and its temporary folder is empty.
        """
        self.clean()
        command = [self.python, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
        command += [f"--basetemp={self.temporary}/p"]
        try:
            with log.open("wb") as output:
                process = subprocess.Popen(
                    command, cwd=self.root, env=self.environment(), stdin=subprocess.DEVNULL,
                    stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                )  # fmt: skip
                try:
                    return process.wait(timeout_s)
                except subprocess.TimeoutExpired:
                    return None
        finally:
            self.clean()

    def clean(self) -> None:
        """End every process whose program or arguments are in the copy; empty what they leave."""
        for process in self._processes():
            with suppress(psutil.Error):
                folders = {
                    Path(word).parts[3] for word in process.cmdline() if word.startswith(_MEMORY)
                }
                process.kill()
                process.wait(10)
                for folder in folders:
                    shutil.rmtree(_MEMORY + folder, ignore_errors=True)
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir(mode=0o755)

    def _processes(self) -> Iterator[psutil.Process]:
        place = f"{self.root}/"
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.exe().startswith(place) or process.cmdline()[:1] == [self.python]:
                    yield process


def tracked_files(tree: Path) -> list[str]:
    """What git tracks in `tree` or does not ignore; without git all files."""
    git = [shutil.which("git") or "git", "-c", f"safe.directory={tree}", "-C", str(tree)]
    listing = ["ls-files", "-coz", "--exclude-standard", "--deduplicate"]
    done = subprocess.run([*git, *listing], capture_output=True, check=False)
    if done.returncode:
        files = (file.relative_to(tree) for file in tree.rglob("*") if file.is_file())
        return [str(path) for path in files if not {".venv", "__pycache__"} & set(path.parts)]
    return [
        path for path in os.fsdecode(done.stdout).split("\0") if path and (tree / path).is_file()
    ]
