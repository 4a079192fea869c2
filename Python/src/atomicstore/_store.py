"""Opening stores."""

from __future__ import annotations

import os
import plistlib
from types import TracebackType
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Type, Union

import pyarrow as pa
import pyarrow.compute as pc

from . import _model
from ._columns import Columns, null_array, typed
from ._command import Command
from ._errors import AtomicStoreError
from ._plist import PropertyList
from ._table import EntityTable

_SIGNATURE = b"AtomicStore BinaryPropertyList"
_FOLDER_SIGNATURE = "AtomicStore Arrow"


class Store(Mapping[str, EntityTable]):
    """An open store: a mapping from names of entities to tables. It is read-only.

    ``store["Employee"]`` has the objects of the entity and of its sub-entities, as a fetch has them, with the properties of
    ``Employee``. Names of abstract entities are keys too, if they have objects below them.
    """

    #: The type of the store, such as ``XML``.
    type: str
    #: The store's UUID, in upper case.
    uuid: str
    #: The entries of the metadata, as ``plistlib`` has them; empty for stores that the command reads.
    metadata: Dict[str, Any]

    def __init__(self, path: str, entities: Dict[str, _model.Entity]) -> None:
        self.path = path
        self._entities = entities
        self.metadata = {}

    # As a mapping

    def __getitem__(self, entity: str) -> EntityTable:
        return self.table(entity)

    def __iter__(self) -> Iterator[str]:
        return iter(self.entities)

    def __len__(self) -> int:
        return len(self._entities)

    def __contains__(self, entity: object) -> bool:
        return entity in self._entities

    def __repr__(self) -> str:
        return f"<Store {self.path} ({self.type}): {', '.join(self.entities)}>"

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, type: Optional[Type[BaseException]], error: Optional[BaseException], traceback: Optional[TracebackType]
    ) -> None:
        return None

    @property
    def entities(self) -> List[str]:
        """The names of the entities, in the order of their bytes."""
        return sorted(self._entities, key=lambda text: text.encode())

    def properties(self, entity: str) -> Dict[str, _model.Property]:
        """The stored properties of an entity by name, with the inherited ones."""
        return dict(self._entities[entity].properties)

    def table(
        self, entity: str, columns: Optional[Sequence[str]] = None, subentities: bool = True
    ) -> EntityTable:
        """The objects of an entity.

        Parameters
        ----------
        entity: The name of the entity.
        columns: The names of the columns; by default all: the references, then the properties.
        subentities: Whether the objects of sub-entities are included. A column ``entity`` then has the name of each
            object's entity, if the entity has sub-entities and no property of that name.
        """
        if entity not in self._entities:
            raise KeyError(f"{self.path} does not have an entity '{entity}'; it has {', '.join(self.entities)}")
        table = self._table(entity, list(columns) if columns is not None else None, subentities)
        if columns is not None:
            missing = [name for name in columns if name not in table.column_names]
            if missing:
                raise KeyError(f"{entity} does not have a column '{missing[0]}'; it has {', '.join(table.column_names)}")
            table = table.select(list(columns))
        return EntityTable(entity, table)

    def _table(self, entity: str, columns: Optional[List[str]], subentities: bool) -> pa.Table:
        names = _model.hierarchy(self._entities, entity) if subentities else [entity]
        concrete = [name for name in names if not self._entities[name].is_abstract]
        parts = [self._part(name, entity, columns) for name in concrete]
        if len(self._entities[entity].subentities) > 0 and subentities:
            parts = [_with_entity(part, name) for name, part in zip(concrete, parts)]
        if not parts:
            raise AtomicStoreError(f"{entity} is abstract, and no entity below it has objects")
        # Types can depend on values: dates, decimals, long texts.
        return pa.concat_tables(_common(parts))

    def _part(self, name: str, entity: str, columns: Optional[List[str]]) -> pa.Table:
        raise NotImplementedError

    def _identifier(self, entity: str) -> str:
        """The name of the column with references, as Arrow stores have it."""
        name = "id"
        while name in self._entities[entity].properties:
            name = "objectID" if name == "id" else name + "_"
        return name


def _with_entity(table: pa.Table, name: str) -> pa.Table:
    if "entity" in table.column_names:
        return table
    at = min(1, table.num_columns)
    return table.add_column(at, "entity", pa.repeat(pa.scalar(name, pa.utf8()), table.num_rows))


def _common(tables: List[pa.Table]) -> List[pa.Table]:
    """Tables with one type for each column: where two differ, one that both can be cast to."""
    if len(tables) == 1:
        return tables
    for name in tables[0].column_names:
        types = [table.schema.field(name).type for table in tables]
        if all(type == types[0] for type in types):
            continue
        wanted = _common_type(types)
        for index, table in enumerate(tables):
            place = table.schema.get_field_index(name)
            column = table.column(place)
            if column.type == wanted:
                continue
            if pa.types.is_timestamp(column.type) and pa.types.is_float64(wanted):
                seconds = pc.divide(column.cast(pa.int64()).cast(pa.float64()), _per_second(column.type))
                column = pc.subtract(seconds, 978307200.0)
            tables[index] = table.set_column(place, name, column.cast(wanted))
    return tables


def _per_second(type: pa.TimestampType) -> float:
    return {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[type.unit]


def _common_type(types: List[pa.DataType]) -> pa.DataType:
    if all(pa.types.is_decimal(type) for type in types):
        return pa.decimal128(38, max(type.scale for type in types))
    if all(pa.types.is_timestamp(type) for type in types):
        return pa.timestamp("ns" if any(type.unit == "ns" for type in types) else "us", tz="UTC")
    if any(pa.types.is_timestamp(type) for type in types):
        return pa.float64()
    if any(pa.types.is_large_binary(type) for type in types):
        return pa.large_binary()
    if any(pa.types.is_list(type) or pa.types.is_large_list(type) for type in types):
        return next(type for type in types if pa.types.is_large_list(type))
    return pa.large_utf8() if any(pa.types.is_large_string(type) for type in types) else pa.utf8()


class PropertyListStore(Store):
    """A property-list store, mapped into memory."""

    type = "BinaryPropertyList"

    def __init__(self, path: str) -> None:
        self._map = pa.memory_map(path)
        self._buffer = self._map.read_buffer()
        self._plist = PropertyList(memoryview(self._buffer))
        top = self._plist.dictionary(self._plist.top)
        for key in ("format", "version", "UUID", "metadata", "model", "entities"):
            if key not in top:
                raise AtomicStoreError(f"{path}: the key '{key}' is missing", "malformed")
        version = self._plist.value(top["version"])
        if version not in (1, 2):
            raise AtomicStoreError(
                f"{path}: the store is of version {version}, and 1 and 2 are read", "unsupportedVersion"
            )
        super().__init__(path, _model.entities(self._plist.value(top["model"])))
        self.uuid = self._plist.value(top["UUID"])
        self.metadata = self._plist.value(top["metadata"])
        self._stored = self._plist.dictionary(top["entities"])
        self._columns = Columns(self._plist, self._buffer)

    def _part(self, name: str, entity: str, columns: Optional[List[str]]) -> pa.Table:
        properties = self._entities[entity].properties
        identifier = self._identifier(entity)
        stored: Dict[str, int] = {}
        rows, present = 0, {}
        if name in self._stored:
            stored = self._plist.dictionary(self._stored[name])
            rows = self._plist.value(stored["count"])
            present = self._plist.dictionary(stored["columns"])
        arrays: Dict[str, pa.Array] = {}
        if columns is None or identifier in columns:
            references = self._columns.references(stored, rows, name) if stored else pa.array([], pa.int64())
            arrays[identifier] = references
        for property in properties.values():
            if columns is not None and property.name not in columns:
                continue
            what = f"{self.path}: {name}.{property.name}"
            if property.name in present:
                arrays[property.name] = self._columns.array(
                    present[property.name], property.type, rows, what,
                    lambda destination=property.destination: self._destinations(destination),
                )
            else:
                arrays[property.name] = null_array(property.type, rows)
        return pa.table(arrays)

    def _destinations(self, entity: Optional[str]) -> pa.Array:
        """The references of an entity's objects and those of its sub-entities, in the order of the entities' names."""
        parts = []
        for name in _model.hierarchy(self._entities, entity) if entity in self._entities else []:
            if name in self._stored:
                stored = self._plist.dictionary(self._stored[name])
                parts.append(typed(self._columns.references(stored, self._plist.value(stored["count"]), name)))
        return pa.concat_arrays(parts) if parts else pa.array([], pa.utf8())


class ArrowFolderStore(Store):
    """An Arrow store, whose files are mapped into memory."""

    type = "Arrow"

    def __init__(self, path: str, metadata: Dict[str, Any]) -> None:
        super().__init__(path, _model.entities(metadata["model"]))
        self.uuid = metadata["UUID"]
        self.metadata = metadata["metadata"]
        self._files = {member["entity"]: member["file"] for member in metadata["members"]}

    def _part(self, name: str, entity: str, columns: Optional[List[str]]) -> pa.Table:
        identifier = self._identifier(entity)
        names = [identifier] + list(self._entities[entity].properties)
        if columns is not None:
            names = [known for known in names if known in columns]
        if name not in self._files:
            types = {key: value.type for key, value in self._entities[entity].properties.items()}
            return pa.table({key: null_array(types.get(key, "Integer 64"), 0) for key in names})
        member = self._files[name]
        # A store has its files in its own directory, whatever it says.
        if not isinstance(member, str) or member in ("", ".", "..") or "/" in member or "\0" in member:
            raise AtomicStoreError(f"{self.path}: {member!r} is not the name of a file of the store", "malformed")
        file = os.path.join(self.path, member)
        try:
            table = pa.ipc.open_file(pa.memory_map(file)).read_all()
        except (OSError, pa.ArrowInvalid) as error:
            raise AtomicStoreError(f"{file}: {error}", "malformed") from error
        own = self._identifier(name)
        if own != identifier and own in table.column_names:
            table = table.rename_columns([identifier if key == own else key for key in table.column_names])
        # FORMAT.md: a column without values may be left out.
        types = {key: value.type for key, value in self._entities[entity].properties.items()}
        for key in names:
            if key not in table.column_names:
                table = table.append_column(key, null_array(types.get(key, "Integer 64"), table.num_rows))
        return table.select(names).replace_schema_metadata(None)


def _property(name: str, type: str) -> _model.Property:
    """A property as ``inspect`` describes it: ``to-one Employee`` for a relationship."""
    for prefix, kind in (("to-one ", "To-one"), ("to-many ", "To-many")):
        if type.startswith(prefix):
            return _model.Property(name, kind, type[len(prefix):])
    return _model.Property(name, type)


class CommandStore(Store):
    """A store of any other format, read by the command."""

    def __init__(self, path: str, command: Optional[str] = None) -> None:
        self._command = Command(command)
        seen = self._command.inspect(path)
        entities: Dict[str, _model.Entity] = {}
        for entity in seen.get("entities", []):
            entities[entity["name"]] = _model.Entity(
                entity["name"],
                bool(entity.get("isAbstract")),
                {p["name"]: _property(p["name"], p.get("type", "")) for p in entity.get("properties", [])},
                entity.get("superentity"),
            )
        for name, found in entities.items():
            if found.superentity in entities:
                entities[found.superentity].subentities.append(name)
        super().__init__(path, entities)
        self.type = seen.get("type", "")
        self.uuid = seen.get("uuid", "")

    def _table(self, entity: str, columns: Optional[List[str]], subentities: bool) -> pa.Table:
        arguments = ["fetch", self.path, "--entity", entity]
        if not subentities:
            arguments.append("--no-subentities")
        table = self._command.table(*arguments)
        identifier = self._identifier(entity)
        first = table.column_names[0]
        names = [identifier if name == first else name for name in table.column_names]
        kind = first + "Entity"
        if kind in names:
            at = names.index(kind)
            if "entity" in names:
                table, names = table.remove_column(at), names[:at] + names[at + 1:]
            else:
                names[at] = "entity"
        return table.rename_columns(names).replace_schema_metadata(None)


def open(path: Union[str, "os.PathLike[str]"], command: Optional[str] = None) -> Store:
    """Opens a store.

    Property-list and Arrow stores are mapped into memory; every other format, and URLs of databases, are read by the
    command ``atomicstore``.

    Parameters
    ----------
    path: The file or directory, or the URL of a database.
    command: The command; by default ``$ATOMICSTORE_COMMAND``, or ``atomicstore`` of the search path.
    """
    text = os.fspath(path)
    if os.path.isdir(text):
        metadata = _folder_metadata(text)
        if metadata is not None:
            return ArrowFolderStore(text, metadata)
    elif os.path.isfile(text):
        with _open_file(text) as file:
            head = file.read(64)
        if head.startswith(b"bplist00") and _SIGNATURE in head:
            return PropertyListStore(text)
    elif "://" not in text and ":" not in text:
        raise FileNotFoundError(2, "the store does not exist", text)
    return CommandStore(text, command)


def _open_file(path: str) -> Any:
    import builtins

    return builtins.open(path, "rb")


def _folder_metadata(path: str) -> Optional[Dict[str, Any]]:
    try:
        with _open_file(os.path.join(path, "metadata.plist")) as file:
            metadata = plistlib.load(file)
    except (OSError, plistlib.InvalidFileException, ValueError):
        return None
    if not isinstance(metadata, dict) or metadata.get("format") != _FOLDER_SIGNATURE:
        return None
    if metadata.get("version") != 1:
        raise AtomicStoreError(
            f"{path}: the store is of version {metadata.get('version')}, and 1 is read", "unsupportedVersion"
        )
    return metadata
