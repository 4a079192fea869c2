"""Stores of AtomicStoreKit as Arrow tables.

    import atomicstore
    store = atomicstore.open("Company.plist")
    store["Employee"].to_pandas()

Property-list and Arrow stores are mapped into memory. Every other format is read by the command ``atomicstore``.
"""

from ._errors import AtomicStoreError, CommandNotFoundError
from ._opening import open
from ._store import Store
from ._table import EntityTable

__all__ = ["AtomicStoreError", "CommandNotFoundError", "EntityTable", "Store", "open"]
__version__ = "0.2.0"
