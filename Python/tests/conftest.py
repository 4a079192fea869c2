import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SAMPLES = ROOT / "SampleStores"

COMMAND = os.environ.get("ATOMICSTORE_COMMAND") or shutil.which("atomicstore")
if COMMAND is None and (ROOT / ".build" / "debug" / "atomicstore").exists():
    COMMAND = str(ROOT / ".build" / "debug" / "atomicstore")
if COMMAND is not None:
    # Also for the processes of Spark.
    os.environ["ATOMICSTORE_COMMAND"] = COMMAND


@pytest.fixture(autouse=True)
def command():
    if COMMAND is None:
        pytest.skip("the command atomicstore is not built")
    return lambda *arguments: subprocess.run([COMMAND, *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture
def company():
    return SAMPLES / "Company" / "Company.plist"


@pytest.fixture
def first_version():
    """A property list of version 0.1.0 of the kit."""
    return ROOT / "Tests" / "StoreFormatsTests" / "Fixtures" / "0.1.0" / "Company.plist"


@pytest.fixture
def text_references():
    """A store of version 1 in which every second reference is a string."""
    return ROOT / "Tests" / "StoreFormatsTests" / "Fixtures" / "PropertyListVersion1" / "Texts.plist"
