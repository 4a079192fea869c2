"""Errors of this package."""

from __future__ import annotations

import contextlib
import struct
from typing import Iterator, Optional

import pyarrow as pa


class AtomicStoreError(Exception):
    """A store that cannot be read. ``code`` is the kit's name of the error, such as ``malformed``."""

    def __init__(self, message: str, code: Optional[str] = None) -> None:
        super().__init__(message)
        self.code = code


class CommandNotFoundError(AtomicStoreError):
    """The command ``atomicstore``, which reads most formats, is not installed."""


#: What Arrow and Python raise for content that is damaged.
_OF_DAMAGE = (
    pa.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError, OverflowError, AttributeError,
    RecursionError, struct.error,
)


@contextlib.contextmanager
def damage(what: str) -> Iterator[None]:
    """Errors of reading content as errors of this package. ``what`` names the file or the column."""
    try:
        yield
    except AtomicStoreError:
        raise
    except _OF_DAMAGE as error:
        raise AtomicStoreError(f"{what}: {type(error).__name__}: {error}", "malformed") from error
