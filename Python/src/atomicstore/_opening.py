"""Opening stores."""

from __future__ import annotations

import builtins
import os
from typing import Optional, Union

from ._arrow_store import ArrowFolderStore, read_metadata
from ._command_store import CommandStore
from ._plist_store import PropertyListStore
from ._store import Store

_SIGNATURE = b"AtomicStore BinaryPropertyList"


def open(path: Union[str, "os.PathLike[str]"], command: Optional[str] = None) -> Store:
    """Opens a store.

    Property-list and Arrow stores are mapped into memory; every other format, and URLs of databases, are read by the
    command ``atomicstore``.

    Parameters
    ----------
    path: The file or directory, or the URL of a database.
    command: The command; by default ``$ATOMICSTORE_COMMAND``, or ``atomicstore`` of the search path.
    """
    text = os.fspath(path)
    if os.path.isdir(text):
        metadata = read_metadata(text)
        if metadata is not None:
            return ArrowFolderStore(text, metadata)
    elif os.path.isfile(text):
        with builtins.open(text, "rb") as file:
            head = file.read(64)
        if head.startswith(b"bplist00") and _SIGNATURE in head:
            return PropertyListStore(text)
    elif "://" not in text and ":" not in text:
        raise FileNotFoundError(2, "the store does not exist", text)
    return CommandStore(text, command)
