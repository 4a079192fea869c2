"""The objects of an entity as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Optional

import pyarrow as pa

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars


class EntityTable:
    """The objects of an entity. ``arrow`` is a ``pyarrow.Table``; the other forms are made of it."""

    def __init__(self, entity: str, arrow: pa.Table) -> None:
        self.entity = entity
        #: The table.
        self.arrow = arrow

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __repr__(self) -> str:
        return f"<EntityTable {self.entity}: {len(self)} objects, {self.arrow.num_columns} columns>"

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The protocol by which other libraries take Arrow tables."""
        return self.arrow.__arrow_c_stream__(requested_schema)

    @property
    def column_names(self) -> List[str]:
        """The names of the columns: the reference, then the properties."""
        return list(self.arrow.column_names)

    def to_arrow(self) -> pa.Table:
        """The table as pyarrow has it. Parquet is one line: ``pyarrow.parquet.write_table(table.to_arrow(), path)``."""
        return self.arrow

    def to_pandas(self, **options: Any) -> "pandas.DataFrame":
        """A data frame of pandas. ``options`` are those of ``pyarrow.Table.to_pandas``.

        Unless they say otherwise, integers have pandas' nullable types. Those of NumPy have no null: pyarrow would make
        floating-point numbers of a column with one, and change integers beyond 2^53.
        """
        if "integer_object_nulls" not in options and "types_mapper" not in options:
            import pandas

            widths = {
                pa.int16(): pandas.Int16Dtype(),
                pa.int32(): pandas.Int32Dtype(),
                pa.int64(): pandas.Int64Dtype(),
            }
            options["types_mapper"] = widths.get
        return self.arrow.to_pandas(**options)

    def to_polars(self) -> "polars.DataFrame":
        """A data frame of Polars. UUIDs are binary there."""
        import polars

        frame = polars.from_arrow(without_extensions(self.arrow))
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_duckdb(self, connection: "Optional[duckdb.DuckDBPyConnection]" = None) -> "duckdb.DuckDBPyRelation":
        """A relation of DuckDB, in the default connection or another one."""
        import duckdb

        table = without_extensions(self.arrow)
        return connection.from_arrow(table) if connection is not None else duckdb.from_arrow(table)


def without_extensions(table: pa.Table) -> pa.Table:
    """Extension types as what they are stored as."""
    for index, field in enumerate(table.schema):
        if isinstance(field.type, pa.BaseExtensionType):
            chunks = [chunk.storage for chunk in table.column(index).chunks]
            storage = pa.chunked_array(chunks, field.type.storage_type)
            table = table.set_column(index, pa.field(field.name, storage.type, field.nullable), storage)
    return table
