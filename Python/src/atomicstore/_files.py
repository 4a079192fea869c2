"""Stores whose tables are mapped into memory: what is checked and derived whatever the format is."""

from __future__ import annotations

import uuid
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

import pyarrow as pa
import pyarrow.compute as pc

from . import _model
from ._errors import AtomicStoreError
from ._store import Store
from ._values import Column, chunked, is_typed, list_array, merged, null_array, single, typed


class FileStore(Store):
    """A store with a table for each concrete entity.

    References are unique within a hierarchy, and relationships name objects that exist. Both is checked for the columns
    that are asked for, once for each.
    """

    def __init__(self, path: str, entities: Dict[str, _model.Entity]) -> None:
        super().__init__(path, entities)
        self._known_references: Dict[str, pa.ChunkedArray] = {}
        self._with_texts: Dict[str, bool] = {}
        self._checked: Set[Tuple[str, str]] = set()

    # What formats provide

    def _has_table(self, name: str) -> bool:
        raise NotImplementedError

    def _read_references(self, name: str) -> pa.ChunkedArray:
        """The references of a table's objects: integers, or texts with a kind."""
        raise NotImplementedError

    def _read_column(self, name: str, property: _model.Property) -> Optional[Column]:
        """A column of a table; None if it does not have it."""
        raise NotImplementedError

    # Tables

    def _table(self, entity: str, columns: List[str], subentities: bool) -> pa.Table:
        names = _model.hierarchy(self._entities, entity) if subentities else [entity]
        concrete = [name for name in names if not self._entities[name].is_abstract]
        if not concrete:
            raise AtomicStoreError(f"{entity} is abstract, and no entity below it has objects")
        self._check_unique(_model.root(self._entities, entity))
        references = [self._references(name) for name in concrete]
        arrays: Dict[str, Any] = {}
        arrays[_model.identifier(self._entities[entity])] = merged("Reference", [Column(r) for r in references], entity)
        if "entity" in columns and "entity" not in self._entities[entity].properties:
            texts = [pa.repeat(pa.scalar(name, pa.utf8()), len(rows)) for name, rows in zip(concrete, references)]
            arrays["entity"] = pa.chunked_array(texts, pa.utf8())
        for property in self._entities[entity].properties.values():
            if property.name in columns:
                parts = [self._column(name, property) for name in concrete]
                arrays[property.name] = merged(property.type, parts, f"{self.path}: {entity}.{property.name}")
        return pa.table(arrays)

    def _concrete(self, entity: str) -> List[str]:
        return [name for name in _model.hierarchy(self._entities, entity) if self._has_table(name)]

    def _column(self, name: str, property: _model.Property) -> Column:
        rows = len(self._references(name))
        column = self._read_column(name, property) if self._has_table(name) else None
        what = f"{self.path}: {name}.{property.name}"
        if column is not None and len(column.array) != rows:
            raise AtomicStoreError(f"{what}: {len(column.array)} values for {rows} rows", "malformed")
        if column is None:
            if not property.is_relationship:
                return Column(chunked(null_array(property.type, rows)))
            column = Column(chunked(self._derived(name, property, what)))
        if property.destination is not None:
            self._check_destinations(name, property, column.array, what)
            if self._are_texts(property.destination) and not is_typed(column.array.type):
                return Column(chunked(typed(column.array)))
        return column

    # References

    def _references(self, name: str) -> pa.ChunkedArray:
        """The references of an entity's own objects, as texts if any in its hierarchy is a string."""
        if name not in self._known_references:
            found = self._stored_references(name)
            if self._are_texts(name) and not is_typed(found.type):
                found = chunked(typed(found))
            self._known_references[name] = found
        return self._known_references[name]

    def _stored_references(self, name: str) -> pa.ChunkedArray:
        if not self._has_table(name):
            return pa.chunked_array([], pa.int64())
        found = self._read_references(name)
        if found.null_count:
            raise AtomicStoreError(f"{self.path}: the references of {name} are null in some rows", "malformed")
        return found

    def _are_texts(self, entity: str) -> bool:
        """Whether any object of the entity's hierarchy has a string reference: then all references there are texts."""
        root = _model.root(self._entities, entity)
        if root not in self._with_texts:
            self._with_texts[root] = any(is_typed(self._stored_references(name).type) for name in self._concrete(root))
        return self._with_texts[root]

    def _all_references(self, entity: str) -> pa.ChunkedArray:
        parts = [self._references(name) for name in self._concrete(entity)]
        kind = pa.utf8() if self._are_texts(entity) else pa.int64()
        return pa.chunked_array([chunk for part in parts for chunk in part.chunks if len(chunk)], kind)

    def _check_unique(self, root: str) -> None:
        if (root, "") in self._checked:
            return
        found = self._all_references(root)
        if not _is_ascending(found) and pc.count_distinct(found).as_py() != len(found):
            counts = pc.value_counts(found)
            twice = counts.field(0).filter(pc.greater(counts.field(1), 1))[0].as_py()
            what = f"two objects of {root} have the reference {twice}"
            raise AtomicStoreError(f"{self.path}: {what}", "duplicateReference")
        self._checked.add((root, ""))

    def _check_destinations(
        self, name: str, property: _model.Property, column: pa.ChunkedArray, what: str
    ) -> None:
        assert property.destination is not None
        if (name, property.name) in self._checked:
            return
        targets = self._all_references(property.destination)
        for chunk in column.chunks:
            is_list = pa.types.is_list(chunk.type) or pa.types.is_large_list(chunk.type)
            missing = _missing(chunk.values if is_list else chunk, targets)
            if missing is not None:
                raise AtomicStoreError(f"{what}: {property.destination}/{missing} does not exist", "danglingReference")
        self._checked.add((name, property.name))

    # Relationships that a table does not have

    def _derived(self, name: str, property: _model.Property, what: str) -> pa.Array:
        """The values of a relationship that the store omits, from its inverse, in the order of references."""
        assert property.destination is not None
        own = self._references(name)
        rows = {reference: row for row, reference in enumerate(own.to_pylist())} if property.inverse else {}
        found: List[List[Any]] = [[] for _ in range(len(own))]
        for source, target in self._links(property):
            if target in rows:
                found[rows[target]].append(source)
        type = pa.utf8() if self._are_texts(property.destination) else pa.int64()
        if property.type == "To-one":
            for row, sources in enumerate(found):
                if len(sources) > 1:
                    raise AtomicStoreError(
                        f"{what}: {name}/{own[row].as_py()} is named by {sources[0]} and {sources[1]}, but the "
                        "relationship can lead to only one object", "inverseMismatch",
                    )
            return pa.array([sources[0] if sources else None for sources in found], type)
        ends = [0]
        for sources in found:
            ends.append(ends[-1] + len(sources))
        values = pa.array([source for sources in found for source in sorted(sources, key=_order)], type)
        return list_array(pa.array(ends, pa.int64()), values)

    def _links(self, property: _model.Property) -> Iterator[Tuple[Any, Any]]:
        """The ends of the inverse's links: an object that names, and one that is named."""
        assert property.destination is not None
        for other in self._concrete(property.destination) if property.inverse else []:
            inverse = self._entities[other].properties.get(property.inverse or "")
            if inverse is None or inverse.destination is None:
                continue
            stored = self._read_column(other, inverse)
            if stored is None:
                continue
            array = chunked(typed(stored.array)) if self._are_texts(inverse.destination) else stored.array
            for source, targets in zip(self._references(other).to_pylist(), array.to_pylist()):
                for target in targets if isinstance(targets, list) else [] if targets is None else [targets]:
                    yield source, target


def _order(reference: Any) -> Tuple[int, int, bytes]:
    """The order of references: integers, then strings by their bytes."""
    if isinstance(reference, int):
        return 0, reference, b""
    kind, _, text = reference.partition(":")
    return (0, int(text), b"") if kind == "integer" else (1, 0, text.encode())


def _is_ascending(references: pa.ChunkedArray) -> bool:
    if pa.types.is_string(references.type):
        return False
    array = single(references)
    return len(array) < 2 or bool(pc.all(pc.less(array[:-1], array[1:])).as_py())


def _missing(named: pa.Array, targets: pa.ChunkedArray) -> Any:
    """A reference that is not among the targets, if there is one."""
    if len(named) == named.null_count:
        return None
    if pa.types.is_integer(named.type) and pa.types.is_integer(targets.type) and len(targets):
        # Most stores have references without gaps: the least and the greatest say enough.
        have, wanted = pc.min_max(targets).as_py(), pc.min_max(named).as_py()
        is_dense = have["max"] - have["min"] + 1 == len(targets)
        if is_dense and have["min"] <= wanted["min"] and wanted["max"] <= have["max"]:
            return None
    if is_typed(named.type) != is_typed(targets.type):
        named, targets = single(typed(named)), chunked(typed(targets))
    is_known = pc.is_in(named, value_set=single(targets))
    missing = named.filter(pc.and_(pc.invert(is_known), pc.is_valid(named)))
    return missing[0].as_py() if len(missing) else None


def check_identity(identity: Any, last: Any, entries: Any, what: str) -> None:
    """Checks what property-list and Arrow stores have in common."""
    try:
        uuid.UUID(identity)
    except (ValueError, TypeError, AttributeError) as error:
        raise AtomicStoreError(f"{what}: 'UUID' is not a UUID", "malformed") from error
    if isinstance(last, bool) or not isinstance(last, int) or not -(2**63) <= last < 2**63:
        raise AtomicStoreError(f"{what}: 'lastReference' is not an integer", "malformed")
    if not isinstance(entries, dict):
        raise AtomicStoreError(f"{what}: 'metadata' is not a dictionary", "malformed")
