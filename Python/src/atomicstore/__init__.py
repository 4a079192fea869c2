"""Stores of AtomicStoreKit as Arrow tables.

    import atomicstore
    store = atomicstore.open("Company.plist")
    store["Employee"].to_pandas()
    atomicstore.duckdb("Company.plist").sql("SELECT count(*) FROM Employee")

Stores of every format are read by the command ``atomicstore``.
"""

from ._errors import AtomicStoreError, CommandNotFoundError
from ._relational import duckdb
from ._store import Store, open
from ._table import EntityTable

__all__ = ["AtomicStoreError", "CommandNotFoundError", "EntityTable", "Store", "duckdb", "open"]
__version__ = "0.3.0"
