import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SAMPLES = ROOT / "SampleStores"


@pytest.fixture
def company():
    return SAMPLES / "Company" / "Company.plist"


@pytest.fixture
def first_version():
    """A store from before columns were aligned."""
    return ROOT / "Tests" / "StoreFormatsTests" / "Fixtures" / "0.1.0" / "Company.plist"


@pytest.fixture
def text_references():
    """A store of version 1 in which every second reference is a string."""
    return ROOT / "Tests" / "StoreFormatsTests" / "Fixtures" / "PropertyListVersion1" / "Texts.plist"


@pytest.fixture
def command(monkeypatch):
    path = os.environ.get("ATOMICSTORE_COMMAND") or shutil.which("atomicstore")
    if path is None and (ROOT / ".build" / "debug" / "atomicstore").exists():
        path = str(ROOT / ".build" / "debug" / "atomicstore")
    if path is None:
        pytest.skip("the command atomicstore is not built")
    monkeypatch.setenv("ATOMICSTORE_COMMAND", path)
    return lambda *arguments: subprocess.run([path, *map(str, arguments)], check=True, capture_output=True)
