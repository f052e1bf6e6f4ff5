"""Importing a part of the program in its own interpreter imports no more than that part needs."""

from __future__ import annotations

import json
import subprocess
import sys

from failproof_es import shell_analysis
from failproof_es.abstraction import enums, types
from tests.unit.abstraction.test_protocols import METHODS

LIBRARY = shell_analysis.__name__


def test_the_interfaces_are_imported_without_the_engine() -> None:
    names = [*(protocol.__module__ for protocol in METHODS), types.__name__, enums.__name__]
    program = (
        f"import sys, {', '.join(names)}\n"
        "ours = {m for m in sys.modules if m.startswith('failproof_es')}\n"
        "print(sorted(ours | ({'psycopg', 'pydantic', 'httpx'} & set(sys.modules))))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert printed.strip() == str(sorted({"failproof_es", "failproof_es.abstraction", *names}))


def test_the_stub_is_imported_without_the_engine() -> None:
    program = (
        "import sys, failproof_es.abstraction.testing\n"
        "print([m for m in ('failproof_es.engine', 'failproof_es.store', 'psycopg') "
        "if m in sys.modules])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert printed.strip() == "[]"


def test_loading_compiles_none() -> None:
    program = (
        "import regex\n"
        "regex.compile = None\n"
        "import failproof_es.dialects.kit.patterns_when_used as when_used\n"
        "assert when_used.compile_now is None\n"
        "import failproof_es.dialects.kit.refusal\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_only_the_provider_that_is_named_is_imported() -> None:
    program = (
        "import sys\n"
        "from failproof_es.configuration.schema import Model\n"
        "from failproof_es.models import snapshot\n"
        "model = Model(provider='ollama', model='m')\n"
        "assert snapshot(model, 'k').settings == {'base_url': 'http://127.0.0.1:11434'}\n"
        "there = [m for m in sys.modules if m.startswith('failproof_es.models.providers.')]\n"
        "print(sorted({m.split('.')[3] for m in there}), 'httpx' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "['ollama'] False"


def test_importing_the_library_imports_no_part_of_it() -> None:
    code = (
        f"import json, sys, {LIBRARY} as library; before = sorted(sys.modules); "
        "library.judge_safety; print(json.dumps([before, sorted(sys.modules)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    before, after = json.loads(done.stdout)
    assert [name for name in before if name.startswith(f"{LIBRARY}.") or name == "orjson"] == []
    assert f"{LIBRARY}.safety.judge" in after
    assert not [name for name in after if name.startswith(f"{LIBRARY}.equivalence")]
