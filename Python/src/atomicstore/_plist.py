"""Binary property lists that stay where they are: data objects are views of the file."""

from __future__ import annotations

import datetime
import struct
from typing import Any, Dict, Iterator, List, Tuple

from ._errors import AtomicStoreError

_DEPTH = 256
_EPOCH = datetime.datetime(2001, 1, 1)


class View:
    """The bytes of a data object, by their position in the file."""

    __slots__ = ("offset", "size")

    def __init__(self, offset: int, size: int) -> None:
        self.offset = offset
        self.size = size


class PropertyList:
    """A binary property list over a buffer. Every offset and count is checked against its bounds."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        if len(data) < 40 or bytes(data[:8]) != b"bplist00":
            raise AtomicStoreError("this is not a binary property list", "foreignFormat")
        trailer = bytes(data[len(data) - 32:])
        self._offset_size, self._reference_size = trailer[6], trailer[7]
        self._count, top, table = struct.unpack(">QQQ", trailer[8:])
        if (
            self._offset_size not in (1, 2, 3, 4, 8)
            or self._reference_size not in (1, 2, 4, 8)
            or table > len(data) - 32
            or self._count > (len(data) - 32 - table) // self._offset_size
            or top >= self._count
        ):
            raise self._malformed("the trailer is not valid", len(data) - 32)
        self._table = table
        self.top = int(top)

    @staticmethod
    def _malformed(what: str, offset: int) -> AtomicStoreError:
        return AtomicStoreError(f"byte {offset}: {what}", "malformed")

    def _bytes(self, offset: int, size: int) -> bytes:
        if size < 0 or offset < 8 or offset + size > self._table:
            raise self._malformed(f"an object of {size} bytes does not fit", offset)
        return bytes(self.data[offset:offset + size])

    def _offset(self, index: int) -> int:
        if index >= self._count:
            raise self._malformed(f"a reference to object {index} of {self._count}", self._table)
        start = self._table + index * self._offset_size
        return int.from_bytes(self.data[start:start + self._offset_size], "big")

    def _marker(self, index: int) -> Tuple[int, int, int]:
        """The kind, the count and the offset of the contents of an object."""
        offset = self._offset(index)
        marker = self._bytes(offset, 1)[0]
        kind, count, offset = marker >> 4, marker & 15, offset + 1
        if count == 15 and kind in (4, 5, 6, 10, 13):
            head = self._bytes(offset, 1)[0]
            size = 1 << (head & 15)
            if head >> 4 != 1 or size > 8:
                raise self._malformed("a count is not an integer", offset)
            count, offset = int.from_bytes(self._bytes(offset + 1, size), "big"), offset + 1 + size
        return kind, count, offset

    def _references(self, offset: int, count: int) -> List[int]:
        size = self._reference_size
        content = self._bytes(offset, count * size)
        return [int.from_bytes(content[at:at + size], "big") for at in range(0, len(content), size)]

    def entries(self, index: int) -> Iterator[Tuple[str, int]]:
        """The keys of a dictionary, in the file's order, with the numbers of their values."""
        kind, count, offset = self._marker(index)
        if kind != 13:
            raise self._malformed("not a dictionary", offset)
        keys = self._references(offset, count)
        values = self._references(offset + count * self._reference_size, count)
        for key, value in zip(keys, values):
            yield self.value(key), value

    def dictionary(self, index: int) -> Dict[str, int]:
        """The numbers of a dictionary's values by key."""
        found: Dict[str, int] = {}
        for key, value in self.entries(index):
            if not isinstance(key, str) or key in found:
                raise self._malformed(f"the key {key!r} is not a string, or occurs twice", self._offset(index))
            found[key] = value
        return found

    def is_dictionary(self, index: int) -> bool:
        """Whether the object is a dictionary."""
        return self._marker(index)[0] == 13

    def view(self, index: int) -> View:
        """The position of a data object's bytes."""
        kind, count, offset = self._marker(index)
        if kind != 4:
            raise self._malformed("not a data object", offset)
        if offset + count > self._table:
            raise self._malformed(f"a data object of {count} bytes does not fit", offset)
        return View(offset, count)

    def value(self, index: int, depth: int = 0) -> Any:
        """A value with everything in it; data as bytes."""
        if depth > _DEPTH:
            raise AtomicStoreError(f"the property list is nested deeper than {_DEPTH}", "limitExceeded")
        # Objects can be in several places, and so on below: a small file may expand without end.
        if depth == 0:
            self._left = max(100_000, self._table)
        self._left -= 1
        if self._left < 0:
            raise AtomicStoreError("the property list expands to too many values", "limitExceeded")
        kind, count, offset = self._marker(index)
        if kind == 0 and count in (8, 9):
            return count == 9
        if kind == 1:
            if count > 4:
                raise self._malformed("an integer of more than 16 bytes", offset)
            return int.from_bytes(self._bytes(offset, 1 << count), "big", signed=count >= 3)
        if kind == 2 and count in (2, 3):
            return struct.unpack(">f" if count == 2 else ">d", self._bytes(offset, 1 << count))[0]
        if kind == 3:
            seconds = struct.unpack(">d", self._bytes(offset, 8))[0]
            try:
                return _EPOCH + datetime.timedelta(seconds=seconds)
            except (OverflowError, ValueError):
                return seconds
        if kind == 4:
            return self._bytes(offset, count)
        try:
            if kind == 5:
                return self._bytes(offset, count).decode("ascii")
            if kind == 6:
                return self._bytes(offset, count * 2).decode("utf-16-be")
        except UnicodeDecodeError as error:
            raise self._malformed(str(error), offset) from error
        if kind == 10:
            return [self.value(item, depth + 1) for item in self._references(offset, count)]
        if kind == 13:
            return {key: self.value(item, depth + 1) for key, item in self.dictionary(index).items()}
        raise self._malformed(f"an object of the unknown kind {kind}", offset)
