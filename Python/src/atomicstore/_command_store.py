"""Stores of other formats, which the command reads."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional

import pyarrow as pa

from . import _model
from ._command import Command
from ._errors import AtomicStoreError, damage
from ._ipc import checked
from ._store import Store
from ._values import Column, chunked, conformed, merged


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
            return self._typed(entity, table, columns, what)

    def _typed(self, entity: str, table: pa.Table, columns: List[str], what: str) -> pa.Table:
        """The command's columns with the types of the model, as tables of mapped stores have them."""
        properties = self._entities[entity].properties
        names = list(table.column_names)
        if not names or names[0] in properties or len(set(names)) != len(names):
            raise AtomicStoreError(f"{what} has no column with the objects, or two of one name: {', '.join(names)}")
        arrays = {
            _model.identifier(self._entities[entity]): conformed("Reference", checked(table.column(0), what), what)
        }
        kind = names[0] + "Entity"
        if "entity" in columns and "entity" not in properties:
            if kind not in names or kind in properties:
                raise AtomicStoreError(f"{what} does not have the column '{kind}' with the objects' entities")
            arrays["entity"] = conformed("String", checked(table.column(kind), what), what)
        for name in names[1:]:
            if name not in properties and name != kind:
                raise AtomicStoreError(f"{what} has the column '{name}', which is no property of the entity")
        for property in properties.values():
            if property.name not in columns:
                continue
            if property.name not in names:
                raise AtomicStoreError(f"{what} does not have the column '{property.name}'")
            where = f"{what}: {property.name}"
            column = conformed(property.type, checked(table.column(property.name), where), where)
            entries = table.schema.field(property.name).metadata or {}
            is_trimmed = entries.get(b"atomicstore.decimals") == b"trimmed"
            arrays[property.name] = merged(property.type, [Column(chunked(column), is_trimmed)], where)
        return pa.table(arrays)
