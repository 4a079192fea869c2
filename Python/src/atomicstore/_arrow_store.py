"""Arrow stores."""

from __future__ import annotations

import os
from typing import Any, Dict, Optional, Set, Tuple

import pyarrow as pa

from . import _model
from ._errors import AtomicStoreError, damage
from ._files import FileStore, check_identity
from ._ipc import checked, read_file
from ._plist import PropertyList
from ._values import Column, conformed, references

_SIGNATURE = "AtomicStore Arrow"
_KEYS = {"format", "version", "UUID", "lastReference", "metadata", "model", "members"}
_METADATA = "metadata.plist"


class ArrowFolderStore(FileStore):
    """An Arrow store, whose files are mapped into memory."""

    type = "Arrow"

    def __init__(self, path: str, metadata: Dict[str, Any]) -> None:
        super().__init__(path, _model.entities(metadata["model"]))
        self.uuid = metadata["UUID"]
        self.metadata = metadata["metadata"]
        self._files = {member["entity"]: member["file"] for member in metadata["members"]}
        self._tables: Dict[str, pa.Table] = {}
        for name in self._files:
            if name not in self._entities or self._entities[name].is_abstract:
                raise AtomicStoreError(
                    f"{path}: the store contains {name}, which the model does not have, or only as abstract",
                    "modelMismatch",
                )
        for file in os.listdir(path):
            # A table that nobody reads would be lost.
            if file.lower().endswith(".arrow") and file not in self._files.values():
                raise AtomicStoreError(f"{path}/{file}: the file is not listed in {_METADATA}", "malformed")

    def _has_table(self, name: str) -> bool:
        return name in self._files

    def _file(self, name: str) -> Tuple[pa.Table, str]:
        """The table of an entity, and the path of its file."""
        path = os.path.join(self.path, self._files[name])
        if name in self._tables:
            return self._tables[name], path
        table = read_file(path)
        entry = (table.schema.metadata or {}).get(b"atomicstore.entity", name.encode())
        if entry != name.encode():
            raise AtomicStoreError(f"{path}: the file contains objects of {entry!r}, not of {name}", "malformed")
        identifier = _model.identifier(self._entities[name])
        if identifier not in table.column_names:
            what = f"the file does not have a column '{identifier}' with references"
            raise AtomicStoreError(f"{path}: {what}", "malformed")
        for column in table.column_names:
            if column != identifier and column not in self._entities[name].properties:
                raise AtomicStoreError(f"{path}: {name} does not have a property '{column}'", "modelMismatch")
        self._tables[name] = table
        return table, path

    def _read_references(self, name: str) -> pa.ChunkedArray:
        table, path = self._file(name)
        identifier = _model.identifier(self._entities[name])
        what = f"{path}: {identifier}"
        with damage(what):
            return references(checked(table.column(identifier), what), what)

    def _read_column(self, name: str, property: _model.Property) -> Optional[Column]:
        table, path = self._file(name)
        if property.name not in table.column_names:
            return None
        what = f"{path}: {property.name}"
        with damage(what):
            column = conformed(property.type, checked(table.column(property.name), what), what)
            entries = table.schema.field(property.name).metadata or {}
            return Column(column, entries.get(b"atomicstore.decimals") == b"trimmed")


def read_metadata(path: str) -> Optional[Dict[str, Any]]:
    """What the directory's ``metadata.plist`` says; None if it is not an Arrow store."""
    file = os.path.join(path, _METADATA)
    try:
        with open(file, "rb") as stream:
            content = stream.read()
    except OSError:
        return None
    if not content.startswith(b"bplist00") or _SIGNATURE.encode() not in content[:80]:
        return None
    with damage(file):
        plist = PropertyList(memoryview(content))
        metadata = plist.value(plist.top)
        _check(metadata, file)
        return dict(metadata)


def _check(metadata: Any, file: str) -> None:
    def malformed(what: str) -> AtomicStoreError:
        return AtomicStoreError(f"{file}: {what}", "malformed")

    if not isinstance(metadata, dict) or metadata.get("format") != _SIGNATURE:
        raise malformed("this is not the metadata of an Arrow store")
    version = metadata.get("version")
    if isinstance(version, bool) or not isinstance(version, int):
        raise malformed("'version' is missing or not an integer")
    if version != 1:
        raise AtomicStoreError(f"{file}: the store is of version {version}, and 1 is read", "unsupportedVersion")
    for key in set(metadata) ^ _KEYS:
        raise malformed(f"the unknown key '{key}'" if key in metadata else f"'{key}' is missing")
    check_identity(metadata["UUID"], metadata["lastReference"], metadata["metadata"], file)
    if not isinstance(metadata["members"], list):
        raise malformed("'members' is not a list")
    files: Set[str] = set()
    entities: Set[str] = set()
    for member in metadata["members"]:
        if not isinstance(member, dict) or set(member) != {"file", "entity"}:
            raise malformed("'members' contains something else than a file and its entity")
        name, entity = member["file"], member["entity"]
        # A store has its files in its own directory, whatever it says.
        if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\0" in name:
            raise malformed(f"{name!r} is not the name of a file of the store")
        if not isinstance(entity, str) or name in files or entity in entities:
            raise malformed(f"'members' contains {name!r} or {entity!r} twice, or a name that is not text")
        files.add(name)
        entities.add(entity)
