"""Opening stores, and what an open store is."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Type, Union

from . import _model
from ._command import Command
from ._errors import AtomicStoreError
from ._table import EntityTable
from ._values import property_list


class Store(Mapping[str, EntityTable]):
    """An open store: a mapping from names of entities to tables. It is read-only.

    ``store["Employee"]`` has the objects of the entity and of its sub-entities, as a fetch has them, with the
    properties of ``Employee``. Names of abstract entities are keys too, if they have objects below them.
    """

    #: The type of the store, such as ``XML``.
    type: str
    #: The store's UUID, in upper case.
    uuid: str
    #: The entries of the metadata, as ``plistlib`` has them.
    metadata: Dict[str, Any]

    def __init__(self, path: str, command: Command) -> None:
        seen = command.inspect(path)
        self.path = path
        self.type = seen["type"]
        self.uuid = seen["uuid"]
        self.metadata = {key: property_list(value) for key, value in seen["metadata"].items()}
        self._command = command
        self._entities = _model.entities(seen["entities"])

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
        known = self._column_names(entity, subentities)
        if columns is not None:
            if isinstance(columns, str):
                raise TypeError(f"columns must be a list of names: ['{columns}']")
            columns = list(columns)
            for name in columns:
                if name not in known:
                    raise KeyError(f"{entity} does not have a column '{name}'; it has {', '.join(known)}")
        concerned = _model.hierarchy(self._entities, entity) if subentities else [self._entities[entity]]
        if all(each.is_abstract for each in concerned):
            raise AtomicStoreError(f"{entity} is abstract, and no entity below it has objects")
        properties = self._entities[entity].properties
        wanted = [name for name in properties if name in columns] if columns is not None else None
        table = self._command.objects(self.path, entity, self._entities[entity].identifier, wanted, subentities)
        return EntityTable(entity, table.select(columns if columns is not None else known))

    def _column_names(self, entity: str, subentities: bool) -> List[str]:
        found = self._entities[entity]
        names = [found.identifier]
        if subentities and found.subentities and "entity" not in found.properties:
            names.append("entity")
        return names + list(found.properties)


def open(path: "Union[str, os.PathLike[str]]", command: Optional[str] = None) -> Store:
    """Opens a store: reads it with the command ``atomicstore``, and keeps what its model and metadata say.

    Parameters
    ----------
    path: The file or directory, or the URL of a database.
    command: The command; by default ``$ATOMICSTORE_COMMAND``, or ``atomicstore`` of the search path.
    """
    text = os.fspath(path)
    if ":" not in text and not os.path.exists(text):
        raise FileNotFoundError(2, "the store does not exist", text)
    return Store(text, Command(command))
