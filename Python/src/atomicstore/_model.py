"""What the model of a store says about its entities."""

from __future__ import annotations

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


def entities(model: Dict[str, Any]) -> Dict[str, Entity]:
    """The entities of a model by name. ``model`` is a model as property-list and Arrow stores contain it."""
    composites = {c["name"]: c.get("attributes", []) for c in model.get("composites", [])}
    found: Dict[str, Entity] = {}

    def add(properties: Dict[str, Property], description: Dict[str, Any], name: str) -> None:
        if description.get("transient"):
            return
        if "destination" in description:
            kind = "To-one" if description.get("maximumCount") == 1 else "To-many"
            properties[name] = Property(name, kind, description["destination"])
        elif description.get("type") == "Composite":
            for part in composites.get(description.get("composite"), []):
                add(properties, part, name + "." + part["name"])
        elif "type" in description:
            properties[name] = Property(name, description["type"])

    def visit(descriptions: List[Dict[str, Any]], above: Optional[Entity]) -> None:
        for description in descriptions:
            properties = dict(above.properties) if above else {}
            for item in description.get("properties", []):
                add(properties, item, item["name"])
            entity = Entity(
                description["name"], bool(description.get("abstract")), properties, above.name if above else None
            )
            found[entity.name] = entity
            if above:
                above.subentities.append(entity.name)
            visit(description.get("subentities", description.get("entities", [])), entity)

    visit(model.get("entities", []), None)
    return found


def hierarchy(all_entities: Dict[str, Entity], name: str) -> List[str]:
    """The entity and all below it, in the order of their names' bytes, as the kit has them."""
    names = [name]
    for below in all_entities[name].subentities:
        names += hierarchy(all_entities, below)
    return sorted(names, key=lambda text: text.encode())
