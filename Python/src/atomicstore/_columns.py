"""Columns of property-list stores as Arrow arrays, without copying where Arrow has the same form."""

from __future__ import annotations

import struct
from typing import Any, Callable, Optional

import pyarrow as pa
import pyarrow.compute as pc

from ._errors import AtomicStoreError
from ._plist import PropertyList, View

_FIXED = {
    "Integer 16": pa.int16(),
    "Integer 32": pa.int32(),
    "Integer 64": pa.int64(),
    "Float": pa.float32(),
    "Double": pa.float64(),
    "UUID": pa.binary(16),
}
_OTHERS = {
    "Boolean": pa.bool_(),
    "Date": pa.timestamp("us", tz="UTC"),
    "Binary": pa.binary(),
    "Transformable": pa.binary(),
    "Decimal": pa.decimal128(38, 0),
    "UUID": pa.uuid() if hasattr(pa, "uuid") else pa.binary(16),
    "To-one": pa.int64(),
    "To-many": pa.list_(pa.int64()),
}
_NULL_LENGTH = 0xFFFFFFFF
_SECONDS_TO_2001 = 978_307_200
_INT32_MAX = 2**31 - 1


class Columns:
    """Makes arrays of the data objects of a property list that is in an Arrow buffer."""

    def __init__(self, plist: PropertyList, buffer: pa.Buffer) -> None:
        self._plist = plist
        self._buffer = buffer

    # Buffers

    def _slice(self, view: View, alignment: int = 8) -> pa.Buffer:
        """The bytes where they are, or a copy if they are not aligned: files from before version 0.2 are not."""
        part = self._buffer.slice(view.offset, view.size)
        return part if part.address % alignment == 0 else pa.py_buffer(part.to_pybytes())

    def _numbers(self, index: int, type: pa.DataType, what: str, count: Optional[int] = None) -> pa.Array:
        view = self._plist.view(index)
        width = type.bit_width // 8
        if view.size % width or (count is not None and view.size != count * width):
            raise AtomicStoreError(f"{what}: {view.size} bytes for {count} values of {width}", "malformed")
        return pa.Array.from_buffers(type, view.size // width, [None, self._slice(view)])

    def _presence(self, column: dict, rows: int, what: str) -> Optional[pa.Buffer]:
        if "presence" not in column:
            return None
        view = self._plist.view(column["presence"])
        if view.size != (rows + 7) // 8:
            raise AtomicStoreError(f"{what}: {view.size} bytes of presence bits for {rows} rows", "malformed")
        return self._slice(view)

    # Columns

    def references(self, entity: dict, rows: int, name: str) -> pa.Array:
        """The references of an entity's objects: integers, or texts with their kind if some are strings."""
        numbers = self._numbers(entity["references"], pa.int64(), f"{name}.references", rows)
        if "referenceTexts" not in entity:
            return numbers
        if self._plist.is_dictionary(entity["referenceTexts"]):
            packed = self._plist.dictionary(entity["referenceTexts"])
            found = self._texts(packed, True, rows, f"{name}.referenceTexts")
            return pc.coalesce(_prefixed("string:", found), _prefixed("integer:", numbers.cast(pa.utf8())))
        # A file of version 1.
        texts = [f"integer:{number}" for number in numbers.to_pylist()]
        for row, text in self._plist.value(entity["referenceTexts"]):
            if not 0 <= row < rows:
                raise AtomicStoreError(f"{name}.referenceTexts: row {row} of {rows}", "malformed")
            texts[row] = f"string:{text}"
        return pa.array(texts, pa.utf8())

    def array(
        self, index: int, type: str, rows: int, what: str, destinations: Callable[[], pa.Array]
    ) -> pa.Array:
        """A column. ``type`` is the slot's type, as in model files; ``destinations`` returns the references of all
        objects that a relationship can lead to, in the order in which rows are counted."""
        column = self._plist.dictionary(index)
        try:
            if "rows" in column:
                array = self._by_rows(column, type == "To-many", rows, what, destinations())
            else:
                array = self._array(column, type, rows, what)
            array.validate()
            return array
        except KeyError as error:
            raise AtomicStoreError(f"{what} does not have the key {error}", "malformed") from error
        except (pa.ArrowInvalid, struct.error) as error:
            raise AtomicStoreError(f"{what}: {error}", "malformed") from error

    def _array(self, column: dict, type: str, rows: int, what: str) -> pa.Array:
        if type in _FIXED:
            array = self._fixed(column, _FIXED[type], rows, what)
            if type == "UUID" and hasattr(pa, "uuid"):
                return pa.ExtensionArray.from_storage(pa.uuid(), array)
            return array
        if type == "Boolean":
            cells = self._fixed(column, pa.uint8(), rows, what)
            return pc.not_equal(cells, pa.scalar(0, pa.uint8()))
        if type == "Date":
            return dates(self._fixed(column, pa.float64(), rows, what))
        if type in ("String", "URI"):
            return self._texts(column, True, rows, what)
        if type in ("Binary", "Transformable"):
            return self._texts(column, False, rows, what)
        if type == "Decimal":
            return decimals(self._texts(column, True, rows, what))
        if type == "Undefined":
            values = self._plist.value(column["values"])
            if len(values) != rows:
                raise AtomicStoreError(f"{what}: {len(values)} values for {rows} rows", "malformed")
            return pa.array([text or None for text in values], pa.utf8())
        if type in ("To-one", "To-many"):
            return self._relationship(column, type == "To-many", rows, what)
        raise AtomicStoreError(f"{what}: the unknown type {type}", "malformed")

    def _fixed(self, column: dict, type: pa.DataType, rows: int, what: str) -> pa.Array:
        cells = self._numbers(column["cells"], type, what, rows)
        presence = self._presence(column, rows, what)
        return pa.Array.from_buffers(type, rows, [presence, cells.buffers()[1]])

    def _texts(self, column: dict, is_text: bool, rows: int, what: str) -> pa.Array:
        lengths = self._numbers(column["lengths"], pa.uint32(), what, rows)
        view = self._plist.view(column["bytes"])
        is_present = pc.not_equal(lengths, pa.scalar(_NULL_LENGTH, pa.uint32()))
        sizes = pc.if_else(is_present, lengths, pa.scalar(0, pa.uint32()))
        offsets = _offsets(sizes, view.size, what)
        is_large = pa.types.is_int64(offsets.type)
        if is_text:
            type = pa.large_utf8() if is_large else pa.utf8()
        else:
            type = pa.large_binary() if is_large else pa.binary()
        has_nulls = pc.min(is_present).as_py() is False
        buffers = [_bits(is_present) if has_nulls else None, offsets.buffers()[1], self._slice(view, 1)]
        array = pa.Array.from_buffers(type, rows, buffers)
        if is_text:
            array.validate(full=True)
        return array

    def _by_rows(
        self, column: dict, is_to_many: bool, rows: int, what: str, destinations: pa.Array
    ) -> pa.Array:
        """A relationship whose objects are named by their rows, as texts: some objects have string references."""
        texts = typed(destinations)
        numbers = self._numbers(column["rows"], pa.uint32(), what, None if is_to_many else rows)
        if is_to_many:
            counts = self._numbers(column["counts"], pa.uint32(), what, rows)
            offsets = _offsets(counts, len(numbers), what)
            values = _taken(texts, numbers, what)
            if pa.types.is_int64(offsets.type):
                return pa.LargeListArray.from_arrays(offsets, values)
            return pa.ListArray.from_arrays(offsets, values)
        presence = self._presence(column, rows, what)
        return _taken(texts, pa.Array.from_buffers(pa.uint32(), rows, [presence, numbers.buffers()[1]]), what)

    def _relationship(self, column: dict, is_to_many: bool, rows: int, what: str) -> pa.Array:
        if "objects" in column:
            lists = self._plist.value(column["objects"])
            typed = [[_typed(reference) for reference in row] for row in lists]
            if len(typed) != rows:
                raise AtomicStoreError(f"{what}: {len(typed)} lists for {rows} rows", "malformed")
            if is_to_many:
                return pa.array(typed, pa.list_(pa.utf8()))
            return pa.array([row[0] if row else None for row in typed], pa.utf8())
        if not is_to_many:
            numbers = self._numbers(column["references"], pa.int64(), what, rows)
            presence = self._presence(column, rows, what)
            return pa.Array.from_buffers(pa.int64(), rows, [presence, numbers.buffers()[1]])
        counts = self._numbers(column["counts"], pa.uint32(), what, rows)
        references = self._numbers(column["references"], pa.int64(), what)
        offsets = _offsets(counts, len(references), what)
        if pa.types.is_int64(offsets.type):
            return pa.LargeListArray.from_arrays(offsets, references)
        return pa.ListArray.from_arrays(offsets, references)


def typed(references: pa.Array) -> pa.Array:
    """References with their kind, as they are if some are strings."""
    if pa.types.is_integer(references.type):
        return _prefixed("integer:", references.cast(pa.utf8()))
    return references.cast(pa.utf8())


def _prefixed(prefix: str, texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(pa.scalar(prefix, texts.type), texts, pa.scalar("", texts.type))


def _taken(texts: pa.Array, rows: pa.Array, what: str) -> pa.Array:
    greatest = pc.max(rows).as_py()
    if greatest is not None and greatest >= len(texts):
        raise AtomicStoreError(f"{what}: names row {greatest} of {len(texts)}", "malformed")
    return texts.take(rows)


def _typed(reference: Any) -> str:
    return f"string:{reference}" if isinstance(reference, str) else f"integer:{reference}"


def _bits(flags: pa.BooleanArray) -> pa.Buffer:
    return flags.buffers()[1]


def _offsets(sizes: pa.Array, total: int, what: str) -> pa.Array:
    """The positions between values of these sizes, which must end at ``total``."""
    ends = pc.cumulative_sum(sizes.cast(pa.int64()))
    end = ends[-1].as_py() if len(ends) else 0
    if end != total:
        raise AtomicStoreError(f"{what}: the lengths lead to {end}, but there are {total}", "malformed")
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), ends])
    return offsets if total > _INT32_MAX else offsets.cast(pa.int32())


def dates(seconds: pa.Array) -> pa.Array:
    """Seconds since 2001 as timestamps in UTC, of microseconds or nanoseconds if that loses nothing, else unchanged."""
    if pc.all(pc.is_finite(seconds)).as_py() is False:
        return seconds
    whole = pc.floor(seconds)
    part = pc.subtract(seconds, whole)
    greatest = pc.max(pc.abs(whole)).as_py()
    for unit, ticks, limit in (("us", 1_000_000, 9e12), ("ns", 1_000_000_000, 8e9)):
        if greatest is not None and not greatest < limit:
            continue
        parts = pc.round(pc.multiply(part, float(ticks)), round_mode="half_to_even")
        back = pc.add(whole, pc.divide(parts, float(ticks)))
        # By their bits: -0.0 is not 0.0, and not-a-number equals nothing.
        if greatest is not None and not pc.all(pc.equal(back.view(pa.int64()), seconds.view(pa.int64()))).as_py():
            continue
        from_2001 = pc.add(pc.multiply(whole.cast(pa.int64()), ticks), parts.cast(pa.int64()))
        from_1970 = pc.add(from_2001, _SECONDS_TO_2001 * ticks)
        return from_1970.cast(pa.timestamp(unit, tz="UTC"))
    return seconds


def decimals(texts: pa.Array) -> pa.Array:
    """Exact texts as ``decimal128``, at the scale of the longest; unchanged if one does not fit."""
    if pc.any(pc.match_substring_regex(texts, "[^-.0-9]")).as_py():
        return texts
    point = pc.find_substring(texts, ".")
    places = pc.if_else(
        pc.greater_equal(point, 0), pc.subtract(pc.subtract(pc.binary_length(texts), point), 1), 0
    )
    scale = pc.max(places).as_py() or 0
    if scale > 38:
        return texts
    try:
        return texts.cast(pa.decimal128(38, scale))
    except pa.ArrowInvalid:
        return texts


def null_array(type: str, rows: int) -> pa.Array:
    """A column that a store does not have: null in all rows."""
    return pa.nulls(rows, _OTHERS.get(type) or _FIXED.get(type) or pa.utf8())
