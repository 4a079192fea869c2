"""Errors of this package."""

from __future__ import annotations

from typing import Optional


class AtomicStoreError(Exception):
    """A store that cannot be read. ``code`` is the kit's name of the error, such as ``malformed``."""

    def __init__(self, message: str, code: Optional[str] = None) -> None:
        super().__init__(message)
        self.code = code


class CommandNotFoundError(AtomicStoreError):
    """The command ``atomicstore``, which reads the stores, is not installed."""
