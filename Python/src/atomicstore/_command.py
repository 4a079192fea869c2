"""The command ``atomicstore``, which reads every format."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from typing import IO, Any, Callable, Dict, List, Optional, Set, TypeVar

import pyarrow as pa

from ._errors import AtomicStoreError, CommandNotFoundError
from ._values import property_column

_Answer = TypeVar("_Answer")


class Command:
    """Runs the command. It is ``$ATOMICSTORE_COMMAND``, or the one that was installed with this package, or
    ``atomicstore`` of the search path."""

    def __init__(self, path: Optional[str] = None) -> None:
        found = path or os.environ.get("ATOMICSTORE_COMMAND") or _installed() or shutil.which("atomicstore")
        if found is None:
            raise CommandNotFoundError(
                "stores are read by the command 'atomicstore', which is not in PATH; ATOMICSTORE_COMMAND can name it"
            )
        self.path = found
        #: What was shown already: each request may find the same to say about a store.
        self._shown: Set[str] = set()

    def inspect(self, store: str) -> Dict[str, Any]:
        """What ``inspect --json`` says of a store."""
        seen = self._run(["inspect", _argument(store)], json.load)
        if not isinstance(seen, dict) or "entities" not in seen:
            raise AtomicStoreError(f"{store} is not a store", "malformed")
        return seen

    def objects(
        self, store: str, entity: str, identifier: str, columns: Optional[List[str]] = None, subentities: bool = True
    ) -> pa.Table:
        """The objects of an entity: their references in a column of the name ``identifier``, with sub-entities the
        column ``entity``, and all properties, or those of the names ``columns``."""
        arguments = ["fetch", _argument(store), f"--entity={entity}", "--format=arrow"]
        if not subentities:
            arguments.append("--no-subentities")
        if columns is not None:
            # Quotes make one key of a name, whatever characters it has.
            keys = [name.replace("\\", "\\\\").replace('"', '\\"') for name in columns]
            arguments.append("--columns=" + ",".join(["SELF"] + [f'#"{key}"' for key in keys]))
        table = self._run(arguments, _read_table)
        names = table.column_names if columns is None else table.column_names[: -len(columns) or None] + columns
        found: Dict[str, pa.ChunkedArray] = {}
        for index, field in enumerate(table.schema):
            type = (field.metadata or {}).get(b"atomicstore.type", b"").decode()
            if index == 0 and type == "Reference":
                found[identifier] = table.column(0)
            elif index == 1 and not type:
                found["entity"] = table.column(1)
            elif index > 0 and type:
                found[names[index]] = property_column(type, table.column(index))
            else:
                raise AtomicStoreError(
                    f"{store}: {entity}.{field.name} has no type of the model: {self.path} is of another version"
                )
        return pa.table(found)

    def tables(self, store: str, folder: str) -> List[Dict[str, Any]]:
        """Writes the store to a new directory of Arrow tables, and returns what ``tables --json`` says of each."""
        written = self._run(["tables", _argument(store), f"--output={folder}", "--format=arrow"], json.load)
        described: List[Dict[str, Any]] = written["tables"]
        return described

    def _run(self, arguments: List[str], read: Callable[[IO[bytes]], _Answer]) -> _Answer:
        """What ``read`` makes of the output, while the command writes it. It counts only if the command succeeded."""
        # In a file: nothing has to read it while the output is read.
        with tempfile.TemporaryFile() as errors:
            try:
                process = subprocess.Popen(
                    [self.path, *arguments, "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
                )
            except OSError as error:
                raise CommandNotFoundError(f"{self.path} cannot be run: {error.strerror}") from error
            assert process.stdout is not None
            failure: Optional[Exception] = None
            try:
                with process.stdout as output:
                    try:
                        answer = read(output)
                    except (pa.ArrowException, OSError, ValueError) as error:
                        failure = error
                code = process.wait()
            finally:
                # Only if the caller was interrupted: otherwise it has ended.
                process.kill()
                process.wait()
            errors.seek(0)
            text = errors.read().decode(errors="replace")
        # A reader that gives up closes the output: then the command has not failed by itself.
        if code != 0 and not (failure and code == -signal.SIGPIPE):
            raise _failure(text, f"{self.path} ended with exit code {code}")
        if failure is not None:
            raise AtomicStoreError(f"{self.path} did not answer as expected: {failure}") from failure
        self._show(text)
        return answer

    def _show(self, text: str) -> None:
        """Shows on standard error what the command said there."""
        for line in text.splitlines():
            try:
                said = [f"atomicstore: note: {note}" for note in json.loads(line)["notes"]]
            except (ValueError, KeyError, TypeError):
                said = [line]
            for note in said:
                if note not in self._shown:
                    self._shown.add(note)
                    print(note, file=sys.stderr)


def _installed() -> Optional[str]:
    """The command of the wheel that this package was installed from: the wheel of the sources has none."""
    try:
        files = importlib.metadata.files("atomicstore") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    found = (os.path.realpath(file.locate()) for file in files if file.parts[-2:] == ("bin", "atomicstore"))
    return next((path for path in found if os.access(path, os.X_OK)), None)


def _argument(store: str) -> str:
    """The store as an argument that is not an option, nor standard input."""
    return "./" + store if store.startswith("-") else store


def _read_table(output: IO[bytes]) -> pa.Table:
    table = pa.ipc.open_stream(output).read_all()
    if output.read(1):
        raise ValueError("something follows the table")
    return table


def _failure(text: str, otherwise: str) -> AtomicStoreError:
    """The error that the command printed, as the kit spells it: place and object, then the message."""
    # Warnings, of plug-ins for example, may precede the JSON.
    before, brace, rest = text.partition("{\n")
    try:
        error = json.loads(brace + rest)["error"]
        place = ":".join(str(error[key]) for key in ("file", "line", "column") if key in error)
        if "offset" in error and "line" not in error:
            place += f"{', ' if place else ''}byte {error['offset']}"
        object = "/".join(error[key] for key in ("entity", "reference") if key in error)
        object = ".".join(part for part in (object, error.get("property")) if part)
        where = f"{place} ({object})" if place and object else place or object
        return AtomicStoreError(before + (f"{where}: " if where else "") + error["message"], error["code"])
    except (ValueError, KeyError, TypeError):
        return AtomicStoreError(text.strip() or otherwise)
