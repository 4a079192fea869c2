"""How the command is run: what it says is shown, and what it writes counts only if it succeeds."""

import json
import os
import time

import pyarrow as pa
import pytest

import atomicstore
from atomicstore import _command

from conftest import COMMAND


@pytest.fixture
def fake(tmp_path):
    """A program that does something else in the place of ``fetch``, and is the command otherwise."""

    def make(fetch):
        path = tmp_path / "fake"
        path.write_text(f"#!/bin/sh\nif [ \"$1\" = fetch ]; then\n{fetch}\nfi\nexec '{COMMAND}' \"$@\"\n")
        path.chmod(0o755)
        return str(path)

    return make


def ended(path):
    """Whether the process whose number is in the file has ended."""
    try:
        os.kill(int(path.read_text()), 0)
    except ProcessLookupError:
        return True
    return False


def test_a_whole_table_counts_only_if_the_command_succeeds(company, fake):
    error = json.dumps({"exitCode": 74, "error": {"code": "inputOutput", "message": "gone", "file": "a", "offset": 7}})
    indented = error.replace("{", "{\n", 1)
    command = fake(f"'{COMMAND}' \"$@\"\necho 'a warning' >&2\necho '{indented}' >&2\nexit 74")
    with pytest.raises(atomicstore.AtomicStoreError) as found:
        atomicstore.open(company, command)["Employee"]
    assert found.value.code == "inputOutput"
    assert str(found.value) == "a warning\na, byte 7: gone"
    with pytest.raises(atomicstore.AtomicStoreError, match="ended with exit code 3"):
        atomicstore.open(company, fake(f"'{COMMAND}' \"$@\"\nexit 3"))["Employee"]


def test_a_part_of_a_table_is_an_error(company, fake):
    for output in [f"'{COMMAND}' \"$@\" | head -c 5000", "echo hello", f"'{COMMAND}' \"$@\"; echo more", "true"]:
        with pytest.raises(atomicstore.AtomicStoreError, match="did not answer as expected"):
            atomicstore.open(company, fake(f"{output}\nexit 0"))["Employee"]


def test_a_table_without_the_types_of_the_model_is_an_error(company, fake, tmp_path):
    with pa.OSFile(str(tmp_path / "table"), "wb") as file:
        table = pa.table({"SELF": [1], "name": ["a"]})
        with pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    with pytest.raises(atomicstore.AtomicStoreError, match="another version"):
        atomicstore.open(company, fake(f"cat '{tmp_path}/table'\nexit 0"))["Employee"]


def test_what_the_command_says_is_shown_once(company, fake, capfd):
    said = json.dumps({"notes": ["Company.plist: it is old"]})
    store = atomicstore.open(company, fake(f"echo '{said}' >&2\necho careful >&2"))
    assert len(store["Employee"]) == 6 and len(store["Project"]) == 4
    assert capfd.readouterr().err == "atomicstore: note: Company.plist: it is old\ncareful\n"


def test_no_process_is_left_if_the_reader_gives_up(company, fake, tmp_path, monkeypatch):
    number = tmp_path / "number"
    endless = fake(f"echo $$ > '{number}'\nexec yes")
    with pytest.raises(atomicstore.AtomicStoreError, match="did not answer as expected"):
        atomicstore.open(company, endless)["Employee"]
    assert ended(number)

    def interrupted(output):
        while not (number.exists() and number.read_text().strip()):
            time.sleep(0.01)
        raise KeyboardInterrupt

    number.unlink()
    store = atomicstore.open(company, fake(f"echo $$ > '{number}'\nexec sleep 1000"))
    monkeypatch.setattr(_command, "_read_table", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store["Employee"]
    assert ended(number)


def test_a_command_that_cannot_be_run_is_named(company, tmp_path):
    with pytest.raises(atomicstore.CommandNotFoundError, match="cannot be run"):
        atomicstore.open(company, str(tmp_path))


def test_a_name_that_begins_like_an_option_is_a_path(company, tmp_path, monkeypatch):
    (tmp_path / "-json").write_bytes(company.read_bytes())
    monkeypatch.chdir(tmp_path)
    assert len(atomicstore.open("-json")["Employee"]) == 6


def test_the_command_of_the_wheel_is_found(tmp_path, monkeypatch):
    command = tmp_path / "bin" / "atomicstore"
    command.parent.mkdir()
    command.write_text("")
    command.chmod(0o755)
    site = tmp_path / "lib" / "site-packages"
    information = site / "atomicstore-9.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: atomicstore\nVersion: 9\n")
    (information / "RECORD").write_text("atomicstore/__init__.py,,\n../../bin/atomicstore,,\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delenv("ATOMICSTORE_COMMAND", raising=False)
    assert _command.Command().path == str(command)
    command.chmod(0o644)
    assert _command.Command("other").path == "other" and _command._installed() is None
