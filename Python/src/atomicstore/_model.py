"""What the model of a store says about its entities."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional


@dataclass(frozen=True)
class Property:
    """A slot of an entity: an attribute, a part of a composite attribute, or a relationship."""

    name: str
    #: The name of the type in model files, such as ``Integer 16``; ``To-one`` or ``To-many`` for relationships.
    type: str
    #: The destination entity of a relationship.
    destination: Optional[str] = None

    @property
    def is_relationship(self) -> bool:
        return self.destination is not None


@dataclass
class Entity:
    """An entity with inherited properties, the super-entity's first."""

    name: str
    is_abstract: bool
    properties: Dict[str, Property]
    superentity: Optional[str] = None
    subentities: List[str] = field(default_factory=list)

    @property
    def identifier(self) -> str:
        """The name of the column with references, as Arrow stores have it."""
        name = "id"
        while name in self.properties:
            name = "objectID" if name == "id" else name + "_"
        return name


def entities(described: List[Dict[str, Any]]) -> Dict[str, Entity]:
    """The entities by name, as ``inspect --json`` describes them."""
    found = {
        entity["name"]: Entity(
            entity["name"],
            entity["isAbstract"],
            {p["name"]: _property(p["name"], p["type"]) for p in entity["properties"]},
            entity["superentity"],
        )
        for entity in described
    }
    for entity in found.values():
        if entity.superentity is not None:
            found[entity.superentity].subentities.append(entity.name)
    return found


def _property(name: str, type: str) -> Property:
    """A relationship's type is ``to-one Employee``, ``to-many Project`` or ``ordered to-many Project``."""
    found = re.fullmatch("(?:ordered )?to-(one|many) (.+)", type, re.DOTALL)
    return Property(name, f"To-{found[1]}", found[2]) if found else Property(name, type)


def hierarchy(all_entities: Dict[str, Entity], name: str) -> List[Entity]:
    """The entity and all below it."""
    found = [all_entities[name]]
    for below in found[0].subentities:
        found += hierarchy(all_entities, below)
    return found
