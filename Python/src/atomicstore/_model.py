"""What the model of a store says about its entities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Set, Tuple

from ._errors import AtomicStoreError

_ATTRIBUTES = {
    "Undefined", "Integer 16", "Integer 32", "Integer 64", "Decimal", "Double", "Float", "String", "Boolean", "Date",
    "Binary", "UUID", "URI", "Transformable",
}
_COMMON_KEYS = {"name", "required", "transient", "indexed", "renaming", "hashModifier", "userInfo", "extras"}
#: The keys that the kit writes; others are of a newer version.
_MODEL_KEYS = {
    "formatVersion", "versionIdentifiers", "entities", "composites", "configurations", "fetchRequests", "inferred",
    "inferredFrom", "extras",
}
_ENTITY_KEYS = {
    "name", "abstract", "class", "properties", "subentities", "uniqueness", "compoundIndexes", "fetchIndexes",
    "renaming", "hashModifier", "userInfo", "extras",
}
_ATTRIBUTE_KEYS = _COMMON_KEYS | {
    "type", "composite", "default", "minimum", "maximum", "minimumLength", "maximumLength", "pattern", "derivation",
    "transformer", "class", "external",
}
_RELATIONSHIP_KEYS = _COMMON_KEYS | {
    "destination", "inverse", "minimumCount", "maximumCount", "ordered", "orderUnknown", "deleteRule",
}
_FETCHED_KEYS = (_COMMON_KEYS | {"fetch"}) - {"transient", "indexed"}
_MOST_PROPERTIES = 100_000


@dataclass(frozen=True)
class Property:
    """A slot of an entity: an attribute, a part of a composite attribute, or a relationship."""

    name: str
    #: The name of the type in model files, such as ``Integer 16``; ``To-one`` or ``To-many`` for relationships.
    type: str
    #: The destination entity of a relationship.
    destination: Optional[str] = None
    #: The name of the inverse relationship, if the model has one.
    inverse: Optional[str] = None

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


def _malformed(what: str) -> AtomicStoreError:
    return AtomicStoreError(f"the model of the store: {what}", "malformed")


def _dictionary(value: Any, what: str) -> Dict[str, Any]:
    if not isinstance(value, dict):
        raise _malformed(f"{what} is not a dictionary")
    return value


def _list(item: Dict[str, Any], key: str, what: str) -> List[Dict[str, Any]]:
    value = item.get(key, [])
    if not isinstance(value, list):
        raise _malformed(f"{what}.{key} is not a list")
    return [_dictionary(element, f"{what}.{key}[{index}]") for index, element in enumerate(value)]


def _text(item: Dict[str, Any], key: str, what: str) -> str:
    value = item.get(key)
    if not isinstance(value, str):
        raise _malformed(f"{what}.{key} is missing or not a string")
    return value


def _flag(item: Dict[str, Any], key: str, what: str) -> bool:
    value = item.get(key, False)
    if not isinstance(value, bool):
        raise _malformed(f"{what}.{key} is not true or false")
    return value


def _check_keys(item: Dict[str, Any], known: Set[str], what: str) -> None:
    for key in item:
        if key not in known:
            raise AtomicStoreError(
                f"the model of the store: {what} has a key that is unknown to this version: {key}", "unsupportedVersion"
            )


class _Reader:
    """Makes entities of the model as stores contain it."""

    def __init__(self, model: Dict[str, Any]) -> None:
        self.found: Dict[str, Entity] = {}
        self._composites: Dict[str, List[Dict[str, Any]]] = {}
        self._count = 0
        for composite in _list(model, "composites", "model"):
            self._composites[_text(composite, "name", "composites")] = _list(composite, "attributes", "composites")

    def add(
        self, properties: Dict[str, Property], item: Dict[str, Any], name: str, inside: Tuple[str, ...] = ()
    ) -> None:
        """Adds a property of the model, or the parts of a composite one."""
        self._count += 1
        if self._count > _MOST_PROPERTIES:
            raise AtomicStoreError(f"the model has more than {_MOST_PROPERTIES} properties", "limitExceeded")
        is_attribute, is_relationship = "type" in item, "destination" in item
        known = _ATTRIBUTE_KEYS if is_attribute else _RELATIONSHIP_KEYS if is_relationship else _FETCHED_KEYS
        _check_keys(item, known, name)
        if not is_attribute and not is_relationship and "fetch" not in item:
            raise _malformed(f"{name}.type is missing")
        if _flag(item, "transient", name):
            return
        if is_attribute:
            type = _text(item, "type", name)
            if type == "Composite":
                composite = _text(item, "composite", name)
                if composite not in self._composites or composite in inside:
                    raise _malformed(f"{name} has the composite '{composite}', which is missing or contains itself")
                for part in self._composites[composite]:
                    self.add(properties, part, f"{name}.{_text(part, 'name', name)}", inside + (composite,))
                return
            if type not in _ATTRIBUTES:
                raise AtomicStoreError(
                    f"the model of the store: {name} is of the unknown type '{type}'", "unsupportedVersion"
                )
            properties[name] = Property(name, type)
        elif is_relationship:
            kind = "To-one" if item.get("maximumCount", 1) == 1 else "To-many"
            inverse = _text(item, "inverse", name) if "inverse" in item else None
            properties[name] = Property(name, kind, _text(item, "destination", name), inverse)

    def visit(self, descriptions: List[Dict[str, Any]], above: Optional[Entity]) -> None:
        """Adds entities and those below them."""
        for description in descriptions:
            name = _text(description, "name", "entities")
            _check_keys(description, _ENTITY_KEYS, name)
            if name in self.found:
                raise _malformed(f"two entities have the name '{name}'")
            own: Dict[str, Property] = {}
            for item in _list(description, "properties", name):
                self.add(own, item, _text(item, "name", name))
            properties = {**(above.properties if above else {}), **own}
            is_abstract = _flag(description, "abstract", name)
            entity = Entity(name, is_abstract, properties, above.name if above else None)
            self.found[name] = entity
            if above:
                above.subentities.append(name)
            self.visit(_list(description, "subentities", name), entity)


def entities(model: Any) -> Dict[str, Entity]:
    """The entities of a model by name. ``model`` is a model as property-list and Arrow stores contain it."""
    description = _dictionary(model, "it")
    _check_keys(description, _MODEL_KEYS, "it")
    version = description.get("formatVersion")
    if isinstance(version, bool) or version != 1:
        raise AtomicStoreError(f"the model of the store is of version {version}, and 1 is read", "unsupportedVersion")
    reader = _Reader(description)
    reader.visit(_list(description, "entities", "model"), None)
    for entity in reader.found.values():
        for property in entity.properties.values():
            if property.is_relationship and property.destination not in reader.found:
                raise _malformed(f"{entity.name}.{property.name} leads to '{property.destination}', which is no entity")
    return reader.found


def hierarchy(all_entities: Dict[str, Entity], name: str) -> List[str]:
    """The entity and all below it, in the order of their names' bytes, as the kit has them."""
    names = [name]
    for below in all_entities[name].subentities:
        names += hierarchy(all_entities, below)
    return sorted(names, key=lambda text: text.encode())


def root(all_entities: Dict[str, Entity], name: str) -> str:
    """The topmost super-entity: references are unique below it."""
    above = all_entities[name].superentity
    return root(all_entities, above) if above is not None and above in all_entities else name


def identifier(entity: Entity) -> str:
    """The name of the column with references, as Arrow stores have it."""
    name = "id"
    while name in entity.properties:
        name = "objectID" if name == "id" else name + "_"
    return name
