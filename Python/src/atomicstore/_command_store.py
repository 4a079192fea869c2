"""Stores of other formats, which the command reads."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Optional

import pyarrow as pa
import pyarrow.compute as pc

from . import _model
from ._command import Command
from ._errors import AtomicStoreError, damage
from ._ipc import checked
from ._store import Store
from ._values import Column, chunked, conformed, is_typed, merged, null_array, typed


def _property(name: str, type: str) -> _model.Property:
    """A property as ``inspect`` describes it: ``to-one Employee``, ``ordered to-many Project`` for relationships."""
    found = re.fullmatch("(?:ordered )?to-(one|many) (.+)", type, re.DOTALL)
    if found:
        return _model.Property(name, f"To-{found[1]}", found[2])
    return _model.Property(name, type)


def _entities(seen: Dict[str, Any]) -> Dict[str, _model.Entity]:
    entities: Dict[str, _model.Entity] = {}
    for entity in seen["entities"]:
        entities[entity["name"]] = _model.Entity(
            entity["name"],
            bool(entity.get("isAbstract")),
            {p["name"]: _property(p["name"], p["type"]) for p in entity["properties"]},
            entity.get("superentity"),
        )
    for name, found in entities.items():
        if found.superentity in entities:
            entities[found.superentity].subentities.append(name)
    return entities


class CommandStore(Store):
    """A store of any other format, read by the command."""

    def __init__(self, path: str, command: Optional[str] = None) -> None:
        self._command = Command(command)
        seen = self._command.inspect(path)
        with damage(f"{path}: the answer of {self._command.path} inspect"):
            super().__init__(path, _entities(seen))
            self.type = seen["type"]
            self.uuid = seen["uuid"]

    def _table(self, entity: str, columns: List[str], subentities: bool) -> pa.Table:
        what = f"{self.path}: the answer of {self._command.path} for {entity}"
        names = _model.hierarchy(self._entities, entity) if subentities else [entity]
        if all(self._entities[name].is_abstract for name in names):
            raise AtomicStoreError(f"{entity} is abstract, and no entity below it has objects")
        arguments = ["fetch", self.path, "--entity", entity]
        if not subentities:
            arguments.append("--no-subentities")
        table = self._command.table(*arguments)
        with damage(what):
            parts = [self._part(entity, table, "entity" in columns, what)]
        if parts[0] is None:
            # An answer without the objects' entities: each entity by itself has one.
            parts = []
            for name in (name for name in names if not self._entities[name].is_abstract):
                table = self._command.table("fetch", self.path, "--entity", name, "--no-subentities")
                with damage(what):
                    parts.append(self._part(entity, table, False, what, own=name))
        identifier = _model.identifier(self._entities[entity])
        with damage(what):
            types = {identifier: "Reference", "entity": "String"}
            types.update({property.name: property.type for property in self._entities[entity].properties.values()})
            wanted = [identifier] + [name for name in columns if name != identifier]
            found = [part for part in parts if part is not None]
            return pa.table({
                name: merged(types[name], [part[name] for part in found], f"{what}: {name}") for name in wanted
            })

    def _part(
        self, entity: str, table: pa.Table, needs_entity: bool, what: str, own: Optional[str] = None
    ) -> Optional[Dict[str, Column]]:
        """The command's columns with the types of the model; None if the entities of the objects are missing.

        ``own`` is the entity of all objects, if these were asked for alone.
        """
        properties = self._entities[entity].properties
        everything = self._entities[own].properties if own is not None else properties
        names = list(table.column_names)
        kind = names[0] + "Entity" if names else ""
        kinds: Optional[pa.ChunkedArray] = None
        # A property may have that name too.
        if len(names) > 1 and names[1] == kind and (kind not in everything or names.count(kind) == 2):
            kinds = checked(table.column(1), what)
            table, names = table.remove_column(1), names[:1] + names[2:]
        if not names or names[0] in everything or len(set(names)) != len(names):
            raise AtomicStoreError(f"{what} has no column with the objects, or two of one name: {', '.join(names)}")
        for name in names[1:]:
            if name not in everything:
                raise AtomicStoreError(f"{what} has the column '{name}', which is no property of the entity")
        first = checked(table.column(0), what)
        if first.null_count:
            raise AtomicStoreError(f"{what}: the objects are missing in some rows")
        if not _follows_model(table, names[0]):
            first = self._references(entity, first)
        part = {_model.identifier(self._entities[entity]): Column(conformed("Reference", first, what))}
        if own is not None and "entity" not in properties:
            part["entity"] = Column(chunked(pa.repeat(pa.scalar(own, pa.utf8()), len(table))))
        elif needs_entity and "entity" not in properties:
            if kinds is None:
                return None
            part["entity"] = Column(conformed("String", kinds, what))
        for property in properties.values():
            if property.name not in names:
                raise AtomicStoreError(f"{what} does not have the column '{property.name}'")
            where = f"{what}: {property.name}"
            column = checked(table.column(property.name), where)
            if not _follows_model(table, property.name):
                column = self._loosened(property, column, where)
            entries = table.schema.field(property.name).metadata or {}
            is_trimmed = entries.get(b"atomicstore.decimals") == b"trimmed"
            part[property.name] = Column(conformed(property.type, column, where), is_trimmed)
        return part

    # Answers that were made of values alone, without the model

    def _loosened(self, property: _model.Property, column: pa.ChunkedArray, what: str) -> pa.ChunkedArray:
        """The column in a type of the model."""
        if property.destination is not None:
            if property.type == "To-many":
                return self._lists(property.destination, column)
            return self._references(property.destination, column)
        if column.null_count == len(column) and column.type in (pa.utf8(), pa.null()):
            return chunked(null_array(property.type, len(column)))
        if property.type == "Float" and pa.types.is_float64(column.type):
            narrow = column.cast(pa.float32(), safe=False)
            is_same = pc.or_(pc.equal(narrow.cast(pa.float64()), column), pc.is_nan(column))
            if pc.all(is_same).as_py() is False:
                raise AtomicStoreError(f"{what}: a value is not a Float", "invalidValue")
            return narrow
        return column

    def _references(self, entity: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """References to an entity's objects, as texts with a kind if any in its hierarchy is a string."""
        known = self._names(_model.root(self._entities, entity))
        are_texts = any(isinstance(reference, str) for reference in known.values())
        if column.null_count == len(column):
            return chunked(pa.nulls(len(column), pa.utf8() if are_texts else pa.int64()))
        if not is_typed(column.type):
            return chunked(typed(column)) if are_texts else column
        # Without a kind if all are strings.
        references = set(known.values())
        return chunked(pa.array(
            [text if text is None or text in references else known[text] for text in column.to_pylist()], pa.utf8()
        ))

    def _lists(self, destination: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Lists that the command gave as JSON texts, such as ``["Project/9"]``, as lists of references."""
        known = self._names(_model.root(self._entities, destination))
        are_texts = any(isinstance(reference, str) for reference in known.values())
        lists = [json.loads(text) if text is not None else [] for text in column.to_pylist()]
        found = [[known[name.partition("/")[2]] for name in names] for names in lists]
        return chunked(pa.array(found, pa.list_(pa.utf8() if are_texts else pa.int64())))

    def _names(self, root: str) -> Dict[str, Any]:
        """The references of a hierarchy's objects by their text without a kind, as JSON has them."""
        table = self._command.table("fetch", self.path, "--entity", root, "--columns", "SELF")
        references = table.column(0).to_pylist()
        # With kinds if there are integers and strings; a string may look as if it had one.
        if all(isinstance(text, str) and not _KINDS.match(text) for text in references):
            references = [f"string:{text}" for text in references]
        found: Dict[str, Any] = {}
        for reference in references:
            text = reference.partition(":")[2] if isinstance(reference, str) else str(reference)
            if text in found:
                raise AtomicStoreError(f"{self.path}: {found[text]} and {reference} of {root} look alike")
            found[text] = reference
        return found


_KINDS = re.compile("integer:-?[0-9]+$|string:")


def _follows_model(table: pa.Table, name: str) -> bool:
    """Whether the command made the column by the model."""
    return b"atomicstore.type" in (table.schema.field(name).metadata or {})
