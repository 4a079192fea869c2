"""Property-list stores."""

from __future__ import annotations

from typing import Dict, List, Optional

import pyarrow as pa

from . import _model
from ._columns import Columns
from ._errors import AtomicStoreError, damage
from ._files import FileStore, check_identity
from ._plist import PropertyList
from ._values import Column, chunked, single, typed

_KEYS = ("format", "version", "UUID", "lastReference", "metadata", "model", "entities")
_ENTITY_KEYS = ("count", "references", "referenceTexts", "columns")


class _Stored:
    """What the store has of an entity: positions of its data objects."""

    def __init__(self, rows: int, keys: Dict[str, int], columns: Dict[str, int]) -> None:
        self.rows = rows
        self.keys = keys
        self.columns = columns


class PropertyListStore(FileStore):
    """A property-list store, mapped into memory."""

    type = "BinaryPropertyList"

    def __init__(self, path: str) -> None:
        with damage(path):
            self._buffer = pa.memory_map(path).read_buffer()
            plist = self._plist = PropertyList(memoryview(self._buffer))
            top = plist.dictionary(plist.top)
            self._check_keys(path, top)
            super().__init__(path, _model.entities(plist.value(top["model"])))
            self.uuid = plist.value(top["UUID"])
            self.metadata = plist.value(top["metadata"])
            check_identity(self.uuid, plist.value(top["lastReference"]), self.metadata, path)
            stored = plist.dictionary(top["entities"])
            self._stored = {name: self._entity(name, index) for name, index in stored.items()}
            self._columns = Columns(plist, self._buffer)

    def _check_keys(self, path: str, top: Dict[str, int]) -> None:
        version = self._plist.value(top["version"]) if "version" in top else None
        if isinstance(version, bool) or version not in (1, 2, 3):
            raise AtomicStoreError(
                f"{path}: the store is of version {version}, and 1 to 3 are read", "unsupportedVersion"
            )
        for key in set(_KEYS) ^ set(top):
            what = f"the unknown key '{key}'" if key in top else f"the key '{key}' is missing"
            raise AtomicStoreError(f"{path}: {what}", "malformed")

    def _entity(self, name: str, index: int) -> _Stored:
        what = f"{self.path}: {name}"
        if name not in self._entities or self._entities[name].is_abstract:
            raise AtomicStoreError(f"{what}: the model does not have the entity, or only as abstract", "modelMismatch")
        keys = self._plist.dictionary(index)
        for key in keys:
            if key not in _ENTITY_KEYS:
                raise AtomicStoreError(f"{what}: the unknown key '{key}'", "malformed")
        for key in ("count", "references", "columns"):
            if key not in keys:
                raise AtomicStoreError(f"{what}: the key '{key}' is missing", "malformed")
        rows = self._plist.value(keys["count"])
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 0:
            raise AtomicStoreError(f"{what}: {rows!r} is not a number of rows", "malformed")
        columns = self._plist.dictionary(keys["columns"])
        for column in columns:
            if column not in self._entities[name].properties:
                raise AtomicStoreError(f"{what}: the entity does not have a property '{column}'", "modelMismatch")
        return _Stored(rows, keys, columns)

    def _has_table(self, name: str) -> bool:
        return name in self._stored

    def _read_references(self, name: str) -> pa.ChunkedArray:
        stored = self._stored[name]
        with damage(f"{self.path}: {name}"):
            return chunked(self._columns.references(stored.keys, stored.rows, name))

    def _read_column(self, name: str, property: _model.Property) -> Optional[Column]:
        stored = self._stored[name]
        if property.name not in stored.columns:
            return None
        what = f"{self.path}: {name}.{property.name}"
        array = self._columns.array(
            stored.columns[property.name], property.type, stored.rows, what,
            lambda: self._destinations(property.destination),
        )
        return Column(chunked(array))

    def _destinations(self, entity: Optional[str]) -> pa.Array:
        """The references of an entity's objects and those of its sub-entities, in the order of the entities' names."""
        names: List[str] = self._concrete(entity) if entity is not None else []
        parts = [single(typed(self._references(name))) for name in names]
        return pa.concat_arrays(parts) if parts else pa.array([], pa.utf8())
