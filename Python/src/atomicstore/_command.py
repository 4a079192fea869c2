"""The command ``atomicstore``, which reads every format."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from typing import Any, Dict, List, Optional

import pyarrow as pa

from ._errors import AtomicStoreError, CommandNotFoundError


class Command:
    """Runs the command. It is ``$ATOMICSTORE_COMMAND``, or ``atomicstore`` of the search path."""

    def __init__(self, path: Optional[str] = None) -> None:
        found = path or os.environ.get("ATOMICSTORE_COMMAND") or shutil.which("atomicstore")
        if found is None:
            raise CommandNotFoundError(
                "this store is read by the command 'atomicstore', which is not in PATH; ATOMICSTORE_COMMAND can name it"
            )
        self.path = found

    @staticmethod
    def _failure(errors: bytes, code: int) -> AtomicStoreError:
        text = errors.decode(errors="replace").strip()
        try:
            error = json.loads(text)["error"]
            return AtomicStoreError(error.get("message", text), error.get("code"))
        except (ValueError, KeyError, TypeError):
            return AtomicStoreError(text or f"atomicstore ended with exit code {code}")

    def _popen(self, arguments: List[str], errors: Any) -> "subprocess.Popen[bytes]":
        try:
            return subprocess.Popen(
                [self.path] + arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
            )
        except OSError as error:
            raise CommandNotFoundError(f"{self.path} cannot be run: {error.strerror}") from error

    def json(self, *arguments: str) -> Any:
        """The JSON that the command prints."""
        with self._popen(list(arguments) + ["--json"], subprocess.PIPE) as process:
            output, errors = process.communicate()
        if process.returncode != 0:
            raise self._failure(errors, process.returncode)
        return json.loads(output)

    def table(self, *arguments: str) -> pa.Table:
        """The Arrow stream that the command prints."""
        # In a file: nothing has to read it while the stream is read.
        with tempfile.TemporaryFile() as errors:
            with self._popen(list(arguments) + ["--format", "arrow", "--json"], errors) as process:
                assert process.stdout is not None
                failure: Optional[Exception] = None
                try:
                    table = pa.ipc.open_stream(process.stdout).read_all()
                except (pa.ArrowInvalid, OSError) as error:
                    failure = error
            if process.returncode != 0:
                errors.seek(0)
                raise self._failure(errors.read(), process.returncode)
            if failure is not None:
                raise AtomicStoreError(f"{self.path} wrote no Arrow stream: {failure}") from failure
            return table

    def inspect(self, path: str) -> Dict[str, Any]:
        """What ``inspect --json`` says of a store."""
        result = self.json("inspect", path)
        assert isinstance(result, dict)
        return result
