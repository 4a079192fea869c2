"""A store as the tables and views of a DuckDB connection."""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any, Dict, Iterable, Optional, Set, Union

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

    The store is read once, into memory. Changes in the connection do not change it.

    Parameters
    ----------
    path: The file or directory, or the URL of a database.
    connection: The connection that gets the tables; by default a new one, in memory.
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
    # DuckDB ignores the case of names.
    taken: Set[str] = set()
    names: Dict[str, str] = {}
    for each in described:
        names[each["table"]] = _free(each["table"], taken)
    for each in described:
        table = contents[each["table"]]
        target.register(names[each["table"]], without_extensions(table))
    for each in described:
        for entity in each.get("entities", []):
            if entity["superentity"] is not None:
                _add_view(target, entity, each, names[each["table"]], contents[each["table"]], taken)
    return target


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
    entity: Dict[str, Any],
    described: Dict[str, Any],
    table_name: str,
    table: pa.Table,
    taken: Set[str],
) -> None:
    columns = [table.column_names[0], described["entityColumn"]]
    selected = [_quoted(name) for name in columns]
    for name, column in entity["columns"].items():
        selected.append(_quoted(column) + ("" if column == name else f" AS {_quoted(name)}"))
    rows = ", ".join("'" + name.replace("'", "''") + "'" for name in _below(entity["entity"], described["entities"]))
    target.execute(
        f"CREATE OR REPLACE TEMP VIEW {_quoted(_free(entity['entity'], taken))} AS SELECT {', '.join(selected)} "
        f"FROM {_quoted(table_name)} WHERE {_quoted(described['entityColumn'])} IN ({rows})"
    )


def _below(name: str, entities: Iterable[Dict[str, Any]]) -> Iterable[str]:
    """The entity and all below it."""
    parents = {each["entity"]: each["superentity"] for each in entities}
    for each in parents:
        above: Optional[str] = each
        while above is not None and above != name:
            above = parents[above]
        if above == name:
            yield each


def _free(name: str, taken: Set[str]) -> str:
    while name.lower() in taken:
        name += "_"
    taken.add(name.lower())
    return name


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
