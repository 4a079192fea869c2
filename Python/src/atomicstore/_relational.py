"""A store as the tables and views of a DuckDB connection."""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Set, Union

import pyarrow as pa

from ._command import Command
from ._table import without_extensions

if TYPE_CHECKING:
    import duckdb as engine


def duckdb(
    path: "Union[str, os.PathLike[str]]",
    connection: "Optional[engine.DuckDBPyConnection]" = None,
    command: Optional[str] = None,
) -> "engine.DuckDBPyConnection":
    """A connection of DuckDB that has the store as tables, as ``atomicstore tables`` writes them: every entity, and a
    join table ``ENTITY_RELATIONSHIP`` (``owner``, ``member``, ``position`` if it has an order) for each to-many
    relationship that does not follow from a to-one. A sub-entity is a view of its rows with its own columns.

    The first column is the key, which to-ones contain: ``id``, or ``objectID`` if a property in the hierarchy of the
    entity is called ``id``. DuckDB ignores the case of names: of tables, or of columns of one table, whose names differ
    only in case, each after the first gets an underscore.

    The store is read once, into memory. Changes in the connection do not change it.

    Parameters
    ----------
    path: The file or directory, or the URL of a database.
    connection: The connection that gets the tables, as temporary views; by default a new one, in memory. If it has a
        table or view of one of their names, that is a ``ValueError``, and the connection does not change.
    command: The command; by default ``$ATOMICSTORE_COMMAND``, or ``atomicstore`` of the search path.
    """
    import duckdb as engine

    text = os.fspath(path)
    if ":" not in text and not os.path.exists(text):
        raise FileNotFoundError(2, "the store does not exist", text)
    target = engine.connect() if connection is None else connection
    with tempfile.TemporaryDirectory(prefix="atomicstore-") as directory:
        folder = os.path.join(directory, "tables")
        described = Command(command).tables(text, folder)
        contents = _contents(folder)
    # Tables first: a view gets an underscore if their names differ only in case.
    taken: Set[str] = set()
    tables = {each["table"]: _free(each["table"], taken) for each in described}
    views = {
        entity["entity"]: _free(entity["entity"], taken)
        for each in described
        for entity in each.get("entities", [])
        if entity["superentity"] is not None
    }
    if connection is not None:
        _refuse_existing([*tables.values(), *views.values()], connection, text)
    for each in described:
        table = contents[each["table"]]
        columns = _distinct(table.column_names)
        target.register(tables[each["table"]], without_extensions(table).rename_columns(list(columns.values())))
        subentities = _subentities(each.get("entities", []))
        for entity in each.get("entities", []):
            if entity["superentity"] is not None:
                below = _below(entity["entity"], subentities)
                _add_view(target, views[entity["entity"]], entity, each, tables[each["table"]], columns, below)
    return target


def _refuse_existing(names: Iterable[str], connection: "engine.DuckDBPyConnection", store: str) -> None:
    """Raises an error if a name without a schema already means a table or view: a temporary view would hide it."""
    found = connection.execute(
        "SELECT name FROM (SELECT database_name, schema_name, table_name AS name, internal FROM duckdb_tables() "
        "UNION ALL SELECT database_name, schema_name, view_name, internal FROM duckdb_views()) "
        "WHERE NOT internal AND (database_name = 'temp' "
        "OR database_name = current_database() AND list_contains(current_schemas(true), schema_name))"
    ).fetchall()
    existing = {row[0].lower() for row in found}
    taken = [name for name in names if name.lower() in existing]
    if taken:
        raise ValueError(
            f"{store}: the connection already has a table or view of the name {', '.join(map(_quoted, taken))}: "
            "rename or drop it, or use another connection"
        )


def _contents(folder: str) -> Dict[str, pa.Table]:
    """The tables of an Arrow store by name."""
    found: Dict[str, pa.Table] = {}
    for file in pathlib.Path(folder).glob("*.arrow"):
        with pa.OSFile(str(file)) as source:
            table = pa.ipc.open_file(source).read_all()
        found[(table.schema.metadata or {})[b"atomicstore.entity"].decode()] = table
    return found


def _add_view(
    target: "engine.DuckDBPyConnection",
    view_name: str,
    entity: Dict[str, Any],
    described: Dict[str, Any],
    table_name: str,
    columns: Dict[str, str],
    below: Iterable[str],
) -> None:
    """Adds a sub-entity. ``columns`` has the names of the table's columns in DuckDB by those in the store."""
    entity_column = described["entityColumn"]
    # By the names that they have in the view: the key, the entity, the properties.
    sources = {next(iter(columns)): next(iter(columns)), entity_column: entity_column, **entity["columns"]}
    selected = [f"{_quoted(columns[sources[name]])} AS {_quoted(free)}" for name, free in _distinct(sources).items()]
    rows = ", ".join("'" + name.replace("'", "''") + "'" for name in below)
    target.execute(
        f"CREATE TEMP VIEW {_quoted(view_name)} AS SELECT {', '.join(selected)} "
        f"FROM {_quoted(table_name)} WHERE {_quoted(columns[entity_column])} IN ({rows})"
    )


def _subentities(entities: Iterable[Dict[str, Any]]) -> Dict[str, List[str]]:
    """The names of the direct sub-entities of each entity that has any."""
    found: Dict[str, List[str]] = {}
    for each in entities:
        if each["superentity"] is not None:
            found.setdefault(each["superentity"], []).append(each["entity"])
    return found


def _below(name: str, subentities: Dict[str, List[str]]) -> List[str]:
    """The entity and all below it."""
    found = [name]
    for each in found:
        found += subentities.get(each, [])
    return found


def _distinct(names: Iterable[str]) -> Dict[str, str]:
    """Names that DuckDB, which ignores case, keeps apart, by the names that they are made of."""
    taken: Set[str] = set()
    return {name: _free(name, taken) for name in names}


def _free(name: str, taken: Set[str]) -> str:
    while name.lower() in taken:
        name += "_"
    taken.add(name.lower())
    return name


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
