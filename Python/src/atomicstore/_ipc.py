"""Files of Arrow stores: the structure that FORMAT.md demands, checked before anything is taken from a file.

pyarrow checks what it reads itself, but it reads compressed bodies, dictionaries and files with other messages between
the batches, which the kit refuses.
"""

from __future__ import annotations

import struct
from typing import Any, List, Optional, Tuple

import pyarrow as pa

from ._errors import AtomicStoreError, damage

_MAGIC = b"ARROW1"
_SCHEMA, _RECORD_BATCH = 1, 3
_VERSIONS = (3, 4)
_CODECS = {0: "LZ4", 1: "ZSTD"}


class _Fields:
    """A table of a FlatBuffer: numbers and positions of fields by their index."""

    def __init__(self, data: memoryview, position: int) -> None:
        self.data = data
        self.position = position
        self._fields = position - self._at("<i", position)
        self._size = self._at("<H", self._fields)

    @classmethod
    def root(cls, data: memoryview) -> "_Fields":
        return cls(data, struct.unpack_from("<I", data, 0)[0])

    def _at(self, form: str, position: int) -> int:
        if position < 0:
            raise ValueError("a position is outside of the message")
        return int(struct.unpack_from(form, self.data, position)[0])

    def place(self, index: int) -> Optional[int]:
        entry = 4 + 2 * index
        offset = self._at("<H", self._fields + entry) if entry + 2 <= self._size else 0
        return self.position + offset if offset else None

    def number(self, index: int, form: str) -> int:
        place = self.place(index)
        return self._at(form, place) if place is not None else 0

    def table(self, index: int) -> "Optional[_Fields]":
        place = self.place(index)
        return _Fields(self.data, place + self._at("<I", place)) if place is not None else None

    def structures(self, index: int, form: str) -> List[Tuple[Any, ...]]:
        """A vector of structures."""
        place = self.place(index)
        if place is None:
            return []
        start = place + self._at("<I", place)
        count, size = self._at("<I", start), struct.calcsize(form)
        if start + 4 + count * size > len(self.data):
            raise ValueError("a list is longer than its message")
        return list(struct.iter_unpack(form, self.data[start + 4:start + 4 + count * size]))


def _malformed(path: str, offset: int, what: str, code: str = "malformed") -> AtomicStoreError:
    return AtomicStoreError(f"{path}, byte {offset}: {what}", code)


def _check_message(path: str, offset: int, message: _Fields, is_first: bool) -> int:
    """Checks a message and returns the size of its body."""
    if message.number(0, "<h") not in _VERSIONS:
        raise _malformed(path, offset, "the metadata is not of version V4 or V5", "unsupportedVersion")
    kind, header, size = message.number(1, "<B"), message.table(2), message.number(3, "<q")
    if header is None or size < 0:
        raise _malformed(path, offset, "a message does not have a header")
    if is_first:
        if kind != _SCHEMA or size:
            raise _malformed(path, offset, "the file does not begin with a schema")
        if header.number(0, "<h"):
            raise _malformed(path, offset, "the file has big-endian numbers, which are not read", "notSupported")
        return 0
    if kind != _RECORD_BATCH:
        what = "dictionaries" if kind == 2 else f"messages of kind {kind}"
        raise _malformed(path, offset, f"the file has {what}, which are not read", "notSupported")
    compression = header.table(3)
    if compression is not None:
        codec = _CODECS.get(compression.number(0, "<b"), "another codec")
        raise _malformed(
            path, offset, f"the file is compressed with {codec}, which is not read: write it without compression",
            "notSupported",
        )
    end = 0
    for start, length in header.structures(2, "<qq"):
        if length and (length < 0 or start < end or start + length > size):
            what = f"a buffer of {length} bytes at {start} does not fit, or overlaps another one"
            raise _malformed(path, offset, what)
        end = start + length if length else end
    return size


def _check_structure(path: str, data: memoryview) -> List[Tuple[int, int, int]]:
    """The messages, one after the other, must be exactly those that the footer lists.

    Returns the offset of each batch, the bytes of its message and of its body.
    """
    if len(data) < 28 or bytes(data[:8]) != _MAGIC + b"\0\0" or bytes(data[-6:]) != _MAGIC:
        raise _malformed(path, 0, "this is not an Arrow file: it does not begin and end with ARROW1", "foreignFormat")
    footer_size = struct.unpack_from("<i", data, len(data) - 10)[0]
    end = len(data) - 10 - footer_size
    if footer_size <= 0 or end < 8:
        raise _malformed(path, len(data) - 10, f"a footer of {footer_size} bytes does not fit")
    found: List[Tuple[int, int, int]] = []
    offset, is_first = 8, True
    while offset < end:
        mark, length = struct.unpack_from("<Ii", data, offset)
        if mark != 0xFFFFFFFF or length < 0 or offset + 8 + length > end:
            raise _malformed(path, offset, f"a message of {length} bytes does not fit, or does not begin with its mark")
        if length == 0:
            offset += 8
            break
        message = _Fields.root(data[offset + 8:offset + 8 + length])
        size = _check_message(path, offset, message, is_first)
        if not is_first:
            found.append((offset, 8 + length, size))
        offset, is_first = offset + 8 + length + size, False
    if offset != end or is_first:
        raise _malformed(path, offset, "the messages do not end where the footer begins")
    if _Fields.root(data[end:len(data) - 10]).structures(3, "<qi4xq") != found:
        raise _malformed(path, end, "the footer lists other record batches than the file has")
    return found


def _arrays(type: pa.DataType) -> Optional[List[int]]:
    """How many buffers a column has, and its items; None for types that no column of a store has."""
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        items = _arrays(type.value_type)
        return None if items is None else [2] + items
    if isinstance(type, pa.BaseExtensionType):
        return _arrays(type.storage_type)
    if any(is_long(type) for is_long in _LONG):
        return [3]
    return [2] if pa.types.is_primitive(type) or pa.types.is_fixed_size_binary(type) else None


_LONG = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)


def _check_nulls(path: str, data: memoryview, schema: pa.Schema, batches: List[Tuple[int, int, int]]) -> None:
    """Columns that announce no nulls have no bits that say otherwise: pyarrow does not look at these bits."""
    for offset, size, _ in batches:
        header = _Fields.root(data[offset + 8:offset + size]).table(2)
        assert header is not None
        nodes, buffers = header.structures(1, "<qq"), header.structures(2, "<qq")
        for name, type in zip(schema.names, schema.types):
            arrays = _arrays(type)
            if arrays is None:
                break
            for count in arrays:
                (rows, nulls), (start, length) = nodes.pop(0), buffers[0]
                del buffers[:count]
                bits = bytes(data[offset + size + start:offset + size + start + min(length, (rows + 7) // 8)])
                if rows % 8 and len(bits) == rows // 8 + 1:
                    bits = bits[:-1] + bytes([bits[-1] | (0xFF << rows % 8) & 0xFF])
                if nulls == 0 and bits.count(0xFF) != len(bits):
                    raise _malformed(path, offset, f"the column '{name}': rows are null, but 0 are announced")


def read_file(path: str) -> pa.Table:
    """A file of an Arrow store, mapped into memory. The values of columns are not checked yet: see ``checked``."""
    with damage(path):
        buffer = pa.memory_map(path).read_buffer()
        blocks = _check_structure(path, memoryview(buffer))
        reader = pa.ipc.open_file(buffer)
        if not pa.ipc.open_stream(buffer.slice(8)).schema.equals(reader.schema, check_metadata=True):
            raise AtomicStoreError(f"{path}: the footer has another schema than the beginning", "malformed")
        _check_nulls(path, memoryview(buffer), reader.schema, blocks)
        names = list(reader.schema.names)
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise AtomicStoreError(f"{path}: two columns have the name '{twice}'", "malformed")
        batches = [reader.get_batch(index) for index in range(reader.num_record_batches)]
        for batch in batches:
            batch.validate()
        return pa.Table.from_batches(batches, schema=reader.schema)


def checked(column: pa.ChunkedArray, what: str) -> pa.ChunkedArray:
    """The column, after every offset, text and number of nulls in it was compared with its buffers."""
    try:
        column.validate(full=True)
    except (pa.ArrowException, ValueError) as error:
        raise AtomicStoreError(f"{what}: {error}", "malformed") from error
    return column
