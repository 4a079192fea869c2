"""A data source for Spark over many stores.

    from atomicstore.spark import AtomicStoreDataSource
    spark.dataSource.register(AtomicStoreDataSource)
    frame = spark.read.format("atomicstore").option("entity", "Employee").load("/data/*.plist")

Stores are grouped by their bytes into partitions: a partition for each store costs Spark more than reading most stores.
The command ``atomicstore``, which reads each store, must be on every machine.
Types are those of the model, whatever the values are: dates are timestamps of microseconds, decimals ``decimal(38,18)``.

Options: ``entity``; ``bytesPerPartition``, by default 128 MiB; ``decimals``, ``decimal(38,18)``, ``double`` or ``string``;
``subentities``, ``true`` or ``false``; ``store``, the name of a column with the path of each object's store, by default
none. ``PYSPARK_PYTHON`` must be an interpreter that has this package.
"""

from __future__ import annotations

import glob
import os
from typing import Dict, Iterator, List, Sequence, Tuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

import atomicstore

from ._command import Command

_BYTES_PER_PARTITION = 128 << 20
_DECIMALS = {"decimal(38,18)": pa.decimal128(38, 18), "double": pa.float64(), "string": pa.utf8()}
_TYPES = {
    "Boolean": pa.bool_(),
    "Integer 16": pa.int16(),
    "Integer 32": pa.int32(),
    "Integer 64": pa.int64(),
    "Float": pa.float32(),
    "Double": pa.float64(),
    "Date": pa.timestamp("us", tz="UTC"),
    "Binary": pa.binary(),
    "Transformable": pa.binary(),
    "To-one": pa.int64(),
    "To-many": pa.list_(pa.int64()),
}


class StoreGroup(InputPartition):
    """Stores that are read by one task."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = list(paths)


def size(path: str) -> int:
    """The bytes of a store, a file or a directory."""
    if not os.path.isdir(path):
        return os.path.getsize(path)
    return sum(entry.stat().st_size for entry in os.scandir(path) if entry.is_file())


def group(paths: Sequence[str], limit: int) -> List[List[str]]:
    """The stores in groups of up to so many bytes each; a larger store is a separate group. Keeps their order."""
    groups: List[List[str]] = []
    room = -1
    for path in paths:
        bytes = size(path)
        if not groups or bytes > room:
            groups.append([])
            room = limit
        groups[-1].append(path)
        room -= bytes
    return groups


class AtomicStoreDataSource(DataSource):
    """Reads one entity of many stores of one model."""

    @classmethod
    def name(cls) -> str:
        return "atomicstore"

    def _paths(self) -> List[str]:
        pattern = self.options.get("path")
        if not pattern:
            raise ValueError("the paths of the stores are missing: load(\"/data/*.plist\")")
        found = sorted(path for part in pattern.split(",") for path in glob.glob(part))
        if not found:
            raise FileNotFoundError(f"no store matches {pattern}")
        return found

    def _entity(self) -> str:
        entity = self.options.get("entity")
        if not entity:
            raise ValueError("the option 'entity' is missing")
        return entity

    def schema(self) -> StructType:
        return from_arrow_schema(self._arrow_schema())

    def _arrow_schema(self) -> pa.Schema:
        return schema(atomicstore.open(self._paths()[0]), self._entity(), dict(self.options))

    def reader(self, schema: StructType) -> "AtomicStoreReader":
        return AtomicStoreReader(self._paths(), self._entity(), dict(self.options), self._arrow_schema())


class AtomicStoreReader(DataSourceReader):
    def __init__(self, paths: List[str], entity: str, options: Dict[str, str], schema: pa.Schema) -> None:
        self._paths = paths
        self._entity = entity
        self._options = options
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        limit = int(self._options.get("bytesPerPartition", _BYTES_PER_PARTITION))
        return [StoreGroup(paths) for paths in group(self._paths, limit)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, StoreGroup)
        command = Command()
        with_subentities = self._options.get("subentities", "true") == "true"
        for path in partition.paths:
            # Without opening the store: that would be a second process for each.
            table = command.objects(path, self._entity, self._schema.names[0], subentities=with_subentities)
            yield from fitted(table, self._schema, path, self._options.get("store")).to_batches()


def schema(store: "atomicstore.Store", entity: str, options: Dict[str, str]) -> pa.Schema:
    """The columns of an entity by the model alone, so that all stores of the model have the same."""
    wanted = options.get("decimals", "decimal(38,18)")
    if wanted not in _DECIMALS:
        raise ValueError(f"decimals={wanted}: it must be one of {', '.join(_DECIMALS)}")
    with_subentities = options.get("subentities", "true") == "true"
    table = store.table(entity, subentities=with_subentities).to_arrow()
    properties = store.properties(entity)
    fields: List[Tuple[str, pa.DataType]] = []
    for name in table.column_names:
        kind = properties[name].type if name in properties else ""
        if kind == "Decimal":
            type = _DECIMALS[wanted]
        elif kind in ("To-one", "To-many", "") and name != "entity":
            # References that are strings are texts.
            type = _plain(table.schema.field(name).type)
        else:
            type = _TYPES.get(kind, pa.utf8())
        fields.append((name, type))
    if options.get("store"):
        fields.append((options["store"], pa.utf8()))
    return pa.schema(fields)


def _plain(type: pa.DataType) -> pa.DataType:
    if pa.types.is_large_list(type) or pa.types.is_list(type):
        return pa.list_(type.value_type)
    return pa.utf8() if pa.types.is_large_string(type) else type


def fitted(table: pa.Table, schema: pa.Schema, path: str, store: "str | None" = None) -> pa.Table:
    """The table with the types of the schema."""
    columns = []
    for field in schema:
        if field.name == store:
            columns.append(pa.chunked_array([pa.repeat(pa.scalar(path), table.num_rows)]))
            continue
        if field.name not in table.column_names:
            raise ValueError(f"{path} does not have the column '{field.name}': its model is another one")
        try:
            columns.append(_cast(table.column(field.name), field.type))
        except pa.ArrowInvalid as error:
            raise ValueError(
                f"{path}: '{field.name}' does not fit in {field.type}: {error}; see the option 'decimals'"
            ) from error
    return pa.table(columns, schema=schema)


def _cast(column: pa.ChunkedArray, type: pa.DataType) -> pa.ChunkedArray:
    if column.type == type:
        return column
    if isinstance(column.type, pa.BaseExtensionType) or pa.types.is_fixed_size_binary(column.type):
        return _uuid_texts(column)
    if pa.types.is_timestamp(type):
        if pa.types.is_floating(column.type):
            # Dates that are not timestamps: not a number, or beyond its range.
            seconds = pc.if_else(pc.less(pc.abs(column), 8e12), column, None)
            ticks = pc.round(pc.multiply(pc.add(seconds, 978307200.0), 1e6)).cast(pa.int64())
            return ticks.cast(type)
        return column.cast(type, safe=False)
    return column.cast(type)


def _uuid_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import uuid

    values = column.to_pylist()
    texts = [None if v is None else str(v if isinstance(v, uuid.UUID) else uuid.UUID(bytes=v)) for v in values]
    return pa.chunked_array([pa.array(texts, pa.utf8())])
