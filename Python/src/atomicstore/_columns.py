"""Columns of property-list stores as Arrow arrays, without copying where Arrow has the same form."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional

import pyarrow as pa
import pyarrow.compute as pc

from ._errors import AtomicStoreError, damage
from ._plist import PropertyList, View
from ._values import FIXED, INT32_MAX, dates, kinds, single, typed

_FIXED = {type: fixed for type, fixed in FIXED.items() if type not in ("Boolean", "UUID")}
_FIXED["UUID"] = pa.binary(16)
_NULL_LENGTH = 0xFFFFFFFF
_TEXT_KEYS = {"lengths", "bytes", "present"}
#: The keys that a column of a type can have.
_KEYS = {
    **{type: {"cells", "presence", "present"} for type in (*FIXED, "Date")},
    **{type: _TEXT_KEYS for type in ("String", "URI", "Binary", "Transformable", "Decimal")},
    "Undefined": {"values"},
    "To-one": {"references", "presence", "present", "rows", "objects"},
    "To-many": {"references", "counts", "present", "rows", "objects"},
}


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

    def _presence(self, column: Dict[str, int], rows: int, what: str) -> Optional[pa.Buffer]:
        if "presence" not in column:
            return None
        view = self._plist.view(column["presence"])
        if view.size != (rows + 7) // 8:
            raise AtomicStoreError(f"{what}: {view.size} bytes of presence bits for {rows} rows", "malformed")
        return self._slice(view)

    def _places(self, column: Dict[str, int], rows: int, what: str) -> Optional[pa.Array]:
        """For each row the place of its value, null for none, if the column has values of some rows only."""
        if "present" not in column:
            return None
        if "presence" in column:
            raise AtomicStoreError(f"{what} has 'presence' and 'present'", "malformed")
        view = self._plist.view(column["present"])
        if view.size != (rows + 7) // 8:
            raise AtomicStoreError(f"{what}: {view.size} bytes of bits for {rows} rows", "malformed")
        bits = pa.Array.from_buffers(pa.bool_(), rows, [None, self._slice(view)])
        places = pc.subtract(pc.cumulative_sum(bits.cast(pa.int64())), pa.scalar(1, pa.int64()))
        return pc.if_else(bits, places, pa.scalar(None, pa.int64()))

    def _values(
        self, index: int, type: pa.DataType, places: Optional[pa.Array], rows: Optional[int], what: str
    ) -> pa.Array:
        """Numbers for all rows; null for those without a value."""
        if places is None:
            return self._numbers(index, type, what, rows)
        numbers = self._numbers(index, type, what)
        present = len(places) - places.null_count
        if len(numbers) != present:
            raise AtomicStoreError(f"{what}: {len(numbers)} values for {present} rows with a value", "malformed")
        return numbers.take(places)

    # Columns

    def references(self, entity: Dict[str, int], rows: int, name: str) -> pa.Array:
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
            if not isinstance(row, int) or not 0 <= row < rows or not isinstance(text, str):
                raise AtomicStoreError(f"{name}.referenceTexts: [{row!r}, {text!r}] for {rows} rows", "malformed")
            texts[row] = f"string:{text}"
        return pa.array(texts, pa.utf8())

    def array(
        self, index: int, type: str, rows: int, what: str, destinations: Callable[[], pa.Array]
    ) -> pa.Array:
        """A column. ``type`` is the slot's type, as in model files; ``destinations`` returns the references of all
        objects that a relationship can lead to, in the order in which rows are counted."""
        with damage(what):
            column = self._plist.dictionary(index)
            for key in column:
                if key not in _KEYS.get(type, ()):
                    raise AtomicStoreError(f"{what} has the unknown key '{key}'", "malformed")
            if "rows" in column:
                array = self._by_rows(column, type == "To-many", rows, what, destinations())
            else:
                array = self._array(column, type, rows, what)
            array.validate()
            return array

    def _array(self, column: Dict[str, int], type: str, rows: int, what: str) -> pa.Array:
        if type in _FIXED:
            array = self._fixed(column, _FIXED[type], rows, what)
            if type == "UUID" and hasattr(pa, "uuid"):
                return pa.ExtensionArray.from_storage(pa.uuid(), array)
            return array
        if type == "Boolean":
            cells = self._fixed(column, pa.uint8(), rows, what)
            if (pc.max(cells).as_py() or 0) > 1:
                raise AtomicStoreError(f"{what}: a byte of a boolean is neither 0 nor 1", "malformed")
            return pc.not_equal(cells, pa.scalar(0, pa.uint8()))
        if type == "Date":
            return dates(self._fixed(column, pa.float64(), rows, what))
        if type in ("String", "URI"):
            return self._texts(column, True, rows, what)
        if type in ("Binary", "Transformable"):
            return self._texts(column, False, rows, what)
        if type == "Decimal":
            # As the store has them: what they become depends on all tables of the hierarchy.
            return self._texts(column, True, rows, what)
        if type == "Undefined":
            values = self._plist.value(column["values"])
            if not isinstance(values, list) or len(values) != rows:
                raise AtomicStoreError(f"{what}: not {rows} values", "malformed")
            return kinds(pa.array(values, pa.utf8()), what)
        if type in ("To-one", "To-many"):
            return self._relationship(column, type == "To-many", rows, what)
        raise AtomicStoreError(f"{what}: the unknown type {type}", "malformed")

    def _fixed(self, column: Dict[str, int], type: pa.DataType, rows: int, what: str) -> pa.Array:
        places = self._places(column, rows, what)
        cells = self._values(column["cells"], type, places, rows, what)
        if places is not None:
            return cells
        presence = self._presence(column, rows, what)
        return pa.Array.from_buffers(type, rows, [presence, cells.buffers()[1]])

    def _texts(self, column: Dict[str, int], is_text: bool, rows: int, what: str) -> pa.Array:
        places = self._places(column, rows, what)
        lengths = self._values(column["lengths"], pa.uint32(), places, rows, what)
        lengths = pc.fill_null(lengths, pa.scalar(_NULL_LENGTH, pa.uint32()))
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

    def _counts(self, column: Dict[str, int], places: Optional[pa.Array], rows: int, what: str) -> pa.Array:
        counts = self._values(column["counts"], pa.uint32(), places, rows, what)
        return pc.fill_null(counts, pa.scalar(0, pa.uint32()))

    def _by_rows(
        self, column: Dict[str, int], is_to_many: bool, rows: int, what: str, destinations: pa.Array
    ) -> pa.Array:
        """A relationship whose objects are named by their rows, as texts: some objects have string references."""
        texts = single(typed(destinations))
        places = self._places(column, rows, what)
        if is_to_many:
            numbers = self._numbers(column["rows"], pa.uint32(), what)
            counts = self._counts(column, places, rows, what)
            offsets = _offsets(counts, len(numbers), what)
            values = _taken(texts, numbers, what)
            if pa.types.is_int64(offsets.type):
                return pa.LargeListArray.from_arrays(offsets, values)
            return pa.ListArray.from_arrays(offsets, values)
        numbers = self._values(column["rows"], pa.uint32(), places, rows, what)
        if places is not None:
            return _taken(texts, numbers, what)
        presence = self._presence(column, rows, what)
        return _taken(texts, pa.Array.from_buffers(pa.uint32(), rows, [presence, numbers.buffers()[1]]), what)

    def _relationship(self, column: Dict[str, int], is_to_many: bool, rows: int, what: str) -> pa.Array:
        if "objects" in column:
            return self._objects(self._plist.value(column["objects"]), is_to_many, rows, what)
        places = self._places(column, rows, what)
        if not is_to_many:
            numbers = self._values(column["references"], pa.int64(), places, rows, what)
            if places is not None:
                return numbers
            presence = self._presence(column, rows, what)
            return pa.Array.from_buffers(pa.int64(), rows, [presence, numbers.buffers()[1]])
        counts = self._counts(column, places, rows, what)
        references = self._numbers(column["references"], pa.int64(), what)
        offsets = _offsets(counts, len(references), what)
        if pa.types.is_int64(offsets.type):
            return pa.LargeListArray.from_arrays(offsets, references)
        return pa.ListArray.from_arrays(offsets, references)

    def _objects(self, lists: Any, is_to_many: bool, rows: int, what: str) -> pa.Array:
        """A relationship of a file of version 1, some of whose objects have string references."""
        if not isinstance(lists, list) or len(lists) != rows or not all(isinstance(row, list) for row in lists):
            raise AtomicStoreError(f"{what}: not a list of {rows} lists", "malformed")
        named = [[_typed(reference, what) for reference in row] for row in lists]
        if is_to_many:
            return pa.array(named, pa.list_(pa.utf8()))
        if any(len(row) > 1 for row in named):
            raise AtomicStoreError(f"{what}: a to-one relationship has several objects", "malformed")
        return pa.array([row[0] if row else None for row in named], pa.utf8())


def _prefixed(prefix: str, texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(pa.scalar(prefix, texts.type), texts, pa.scalar("", texts.type))


def _taken(texts: pa.Array, rows: pa.Array, what: str) -> pa.Array:
    greatest = pc.max(rows).as_py()
    if greatest is not None and greatest >= len(texts):
        raise AtomicStoreError(f"{what}: names row {greatest} of {len(texts)}", "malformed")
    return texts.take(rows)


def _typed(reference: Any, what: str) -> str:
    if isinstance(reference, str):
        return f"string:{reference}"
    if isinstance(reference, bool) or not isinstance(reference, int) or not -(2**63) <= reference < 2**63:
        raise AtomicStoreError(f"{what}: {reference!r} is not a reference", "malformed")
    return f"integer:{reference}"


def _bits(flags: pa.BooleanArray) -> pa.Buffer:
    return flags.buffers()[1]


def _offsets(sizes: pa.Array, total: int, what: str) -> pa.Array:
    """The positions between values of these sizes, which must end at ``total``."""
    ends = pc.cumulative_sum(sizes.cast(pa.int64()))
    end = ends[-1].as_py() if len(ends) else 0
    if end != total:
        raise AtomicStoreError(f"{what}: the lengths lead to {end}, but there are {total}", "malformed")
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), ends])
    return offsets if total > INT32_MAX else offsets.cast(pa.int32())
