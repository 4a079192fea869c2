"""One type for each attribute of the model, whatever Arrow types a store has for its values."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from decimal import Decimal
from typing import List, Optional, Union

import pyarrow as pa
import pyarrow.compute as pc

from ._errors import AtomicStoreError

UUID = pa.uuid() if hasattr(pa, "uuid") else pa.binary(16)
#: Types that do not depend on the values.
FIXED = {
    "Boolean": pa.bool_(),
    "Integer 16": pa.int16(),
    "Integer 32": pa.int32(),
    "Integer 64": pa.int64(),
    "Float": pa.float32(),
    "Double": pa.float64(),
    "UUID": UUID,
}
#: Types of columns without values.
_OTHERS = {
    "Date": pa.timestamp("us", tz="UTC"),
    "Binary": pa.binary(),
    "Transformable": pa.binary(),
    "Decimal": pa.decimal128(38, 0),
    "To-one": pa.int64(),
    "To-many": pa.list_(pa.int64()),
}
SECONDS_TO_2001 = 978_307_200
INT32_MAX = 2**31 - 1
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_PLAIN_DECIMAL = r"^-?[0-9]+(\.[0-9]+)?$"
_ANY_DECIMAL = r"^(-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?|NaN)$"
_REFERENCE = r"^(integer:-?[0-9]+$|string:)"
_KIND = r"^(boolean:(true|false)$|integer:-?[0-9]+$|(float|double|decimal|string|data|date|uuid|uri):)"

AnyArray = Union[pa.Array, pa.ChunkedArray]


@dataclass
class Column:
    """A column of one table of a store: decimals as the store has them, everything else in the type of the model."""

    array: pa.ChunkedArray
    #: Whether decimals have zeros behind the point that are not part of them.
    is_trimmed: bool = False


def chunked(array: AnyArray) -> pa.ChunkedArray:
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array], array.type)


def single(array: AnyArray) -> pa.Array:
    """One array; a copy only if there are several chunks."""
    if not isinstance(array, pa.ChunkedArray):
        return array
    if array.num_chunks == 1:
        return array.chunk(0)
    return pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)


def null_array(type: str, rows: int) -> pa.Array:
    """A column that a store does not have: null in all rows, and empty lists for a to-many relationship."""
    if type == "To-many":
        return pa.ListArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows + 1), pa.array([], pa.int64()))
    return pa.nulls(rows, FIXED.get(type) or _OTHERS.get(type) or pa.utf8())


# Columns of Arrow


def conformed(type: str, column: pa.ChunkedArray, what: str) -> pa.ChunkedArray:
    """A column that another program may have written, as one of the attribute's or relationship's type.

    ``type`` is the type in model files. Accepted are the differences that FORMAT.md of the Arrow store lists.
    """
    column = _plain(column)
    have = column.type
    if type in ("To-one", "Reference"):
        return references(column, what)
    if type == "To-many":
        return _lists(column, what)
    if type.startswith("Integer ") and pa.types.is_integer(have):
        return _cast(column, FIXED[type], what)
    if type == "Double" and pa.types.is_float32(have):
        return column.cast(pa.float64())
    if type == "UUID" and have == pa.binary(16):
        chunks = [pa.ExtensionArray.from_storage(UUID, chunk) for chunk in column.chunks] if UUID != have else None
        return pa.chunked_array(chunks, UUID) if chunks is not None else column
    if type in FIXED and have == FIXED[type]:
        return column
    if type == "Date" and (pa.types.is_timestamp(have) or pa.types.is_float64(have)):
        return _dates(column, what)
    is_text = pa.types.is_string(have) or pa.types.is_large_string(have)
    if type == "Decimal" and (is_text or pa.types.is_decimal128(have) or pa.types.is_decimal256(have)):
        return _small(column, pa.utf8()) if is_text else column
    if type in ("String", "URI") and is_text:
        return _small(column, pa.utf8())
    if type == "Undefined" and is_text:
        return kinds(_small(column, pa.utf8()), what)
    if type in ("Binary", "Transformable") and (pa.types.is_binary(have) or pa.types.is_large_binary(have)):
        return _small(column, pa.binary())
    raise AtomicStoreError(f"{what}: the column has values of the type {have}, no values of {type}", "modelMismatch")


def kinds(texts: AnyArray, what: str) -> AnyArray:
    """Values with their kind, such as ``decimal:1.50``; an empty text is null."""
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)
    if pc.all(pc.match_substring_regex(texts, _KIND)).as_py() is False:
        raise AtomicStoreError(f"{what}: a text is not a value with its kind", "malformed")
    return texts


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Extension types as what they are stored as: the model decides what a column is."""
    if not isinstance(column.type, pa.BaseExtensionType):
        return column
    return pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)


def _cast(column: pa.ChunkedArray, type: pa.DataType, what: str) -> pa.ChunkedArray:
    try:
        return column if column.type == type else column.cast(type)
    except pa.ArrowInvalid as error:
        raise AtomicStoreError(f"{what}: {error}", "invalidValue") from error


def _small(column: pa.ChunkedArray, type: pa.DataType) -> pa.ChunkedArray:
    """Texts and bytes with offsets of 32 bits, if these suffice."""
    if column.type == type:
        return column
    try:
        return column.cast(type)
    except pa.ArrowInvalid:
        return column


# References


def references(column: pa.ChunkedArray, what: str) -> pa.ChunkedArray:
    """References: integers of 64 bits, or texts with a kind."""
    column = _plain(column)
    if pa.types.is_integer(column.type):
        return _cast(column, pa.int64(), what)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        texts = _small(column, pa.utf8())
        if pc.all(pc.match_substring_regex(texts, _REFERENCE)).as_py() is False:
            raise AtomicStoreError(
                f"{what}: a text is not a reference: 'integer:' or 'string:' precedes one", "malformed"
            )
        return texts
    raise AtomicStoreError(f"{what}: the column has values of the type {column.type}, not references", "modelMismatch")


def _lists(column: pa.ChunkedArray, what: str) -> pa.ChunkedArray:
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise AtomicStoreError(f"{what}: the column has values of the type {column.type}, not lists", "modelMismatch")
    chunks: List[pa.Array] = []
    for chunk in column.chunks:
        if len(chunk) == 0:
            continue
        values = chunk.values
        used = pc.sum(pc.list_value_length(chunk)).as_py() or 0
        if used != len(values):
            raise AtomicStoreError(f"{what}: the lists have {used} items of {len(values)}", "malformed")
        if values.null_count:
            raise AtomicStoreError(f"{what}: a list contains null", "malformed")
        items = single(references(chunked(values), what))
        # A null list is an empty one.
        chunks.append(list_array(chunk.offsets, items))
    if chunks:
        return pa.chunked_array(chunks)
    return pa.chunked_array([], pa.list_(pa.utf8() if is_typed(column.type) else pa.int64()))


def list_array(offsets: pa.Array, values: pa.Array) -> pa.Array:
    """Lists, with offsets of 32 bits if these suffice."""
    if len(values) > INT32_MAX:
        return pa.LargeListArray.from_arrays(offsets.cast(pa.int64()), values)
    return pa.ListArray.from_arrays(offsets.cast(pa.int32()), values)


def is_typed(type: pa.DataType) -> bool:
    """Whether references of this type, or lists of them, are texts with a kind."""
    value = type.value_type if pa.types.is_list(type) or pa.types.is_large_list(type) else type
    return bool(pa.types.is_string(value) or pa.types.is_large_string(value))


def typed(references: AnyArray) -> AnyArray:
    """References with their kind, as they are if some are strings. Also lists of them."""
    if is_typed(references.type):
        return references
    if pa.types.is_integer(references.type):
        texts = references.cast(pa.utf8())
        return pc.binary_join_element_wise(pa.scalar("integer:"), texts, pa.scalar(""))
    lists = [list_array(chunk.offsets, single(typed(chunk.values))) for chunk in chunked(references).chunks]
    return pa.chunked_array(lists) if lists else pa.chunked_array([], pa.list_(pa.utf8()))


# Dates


def _dates(column: pa.ChunkedArray, what: str) -> pa.ChunkedArray:
    """Timestamps of any unit as microseconds or nanoseconds; seconds since 2001 likewise, if nothing is lost."""
    if pa.types.is_float64(column.type):
        return chunked(dates(single(column)))
    if column.type.tz is None:
        raise AtomicStoreError(f"{what}: the timestamps are without a time zone: write them in UTC", "notSupported")
    for unit in ("us", "ns"):
        try:
            return column.cast(pa.timestamp(unit, tz="UTC"))
        except pa.ArrowInvalid:
            continue
    return _seconds(column)


def _seconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Seconds since 2001; rounded once, as the kit does it."""
    if pa.types.is_float64(column.type):
        return column
    per = _PER_SECOND[column.type.unit]
    ticks = column.cast(pa.int64())
    whole = pc.divide(ticks, per)
    part = pc.subtract(ticks, pc.multiply(whole, per))
    is_before = pc.less(part, 0)
    whole = pc.if_else(is_before, pc.subtract(whole, 1), whole)
    part = pc.if_else(is_before, pc.add(part, per), part)
    from_2001 = pc.subtract(whole, SECONDS_TO_2001).cast(pa.float64(), safe=False)
    return pc.add(from_2001, pc.divide(part.cast(pa.float64()), float(per)))


def dates(seconds: pa.Array) -> pa.Array:
    """Seconds since 2001 as timestamps in UTC, of microseconds or nanoseconds if that loses nothing, else unchanged."""
    if pc.all(pc.is_finite(seconds)).as_py() is False:
        return seconds
    whole = pc.floor(seconds)
    part = pc.subtract(seconds, whole)
    bounds = pc.min_max(whole).as_py()
    least, greatest = bounds["min"], bounds["max"]
    for unit, limit in (("us", 9_223_372_036_854), ("ns", 9_223_372_036)):
        ticks = _PER_SECOND[unit]
        # Ticks since 1970 have 64 bits.
        if least is not None and not (-limit < least + SECONDS_TO_2001 and greatest + SECONDS_TO_2001 < limit):
            continue
        parts = pc.round(pc.multiply(part, float(ticks)), round_mode="half_to_even")
        back = pc.add(whole, pc.divide(parts, float(ticks)))
        # By their bits: -0.0 is not 0.0, and not-a-number equals nothing.
        if least is not None and not pc.all(pc.equal(back.view(pa.int64()), seconds.view(pa.int64()))).as_py():
            continue
        from_1970 = pc.multiply(pc.add(whole.cast(pa.int64()), SECONDS_TO_2001), ticks)
        return pc.add(from_1970, parts.cast(pa.int64())).cast(pa.timestamp(unit, tz="UTC"))
    return seconds


def _merged_dates(arrays: List[pa.ChunkedArray]) -> List[pa.ChunkedArray]:
    if all(array.type == arrays[0].type for array in arrays):
        return arrays
    if all(pa.types.is_timestamp(array.type) for array in arrays):
        try:
            return [array.cast(pa.timestamp("ns", tz="UTC")) for array in arrays]
        except pa.ArrowInvalid:
            pass
    return [_seconds(array) for array in arrays]


# Decimals


def decimals(texts: AnyArray, what: str = "the column") -> AnyArray:
    """Exact texts as ``decimal128``, at the scale of the longest; unchanged if one does not fit."""
    if pc.all(pc.match_substring_regex(texts, _PLAIN_DECIMAL)).as_py() is False:
        if pc.all(pc.match_substring_regex(texts, _ANY_DECIMAL)).as_py() is False:
            raise AtomicStoreError(f"{what}: a text is not a decimal", "malformed")
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


def _fitted(column: Column, what: str) -> Optional[pa.ChunkedArray]:
    """Decimals at the scale of the longest; None if one does not fit."""
    array = column.array
    if not pa.types.is_decimal(array.type):
        fitted = decimals(array, what)
        return fitted if pa.types.is_decimal(fitted.type) else None
    scale = array.type.scale
    if column.is_trimmed:
        wide = functools.partial(pa.decimal128, 38) if scale <= 38 else functools.partial(pa.decimal256, 76)
        while scale > 0:
            try:
                array = array.cast(wide(scale - 1))
            except pa.ArrowInvalid:
                break
            scale -= 1
    if not 0 <= scale <= 38:
        return None
    try:
        return array.cast(pa.decimal128(38, scale))
    except pa.ArrowInvalid:
        return None


def _decimal_texts(column: Column) -> pa.ChunkedArray:
    """The exact texts, as the kit spells them."""
    if not pa.types.is_decimal(column.array.type):
        return column.array

    def text(value: Optional[Decimal]) -> Optional[str]:
        if value is None:
            return None
        plain = str(value) if column.array.type.scale < 0 else format(value, "f")
        return plain.rstrip("0").rstrip(".") if column.is_trimmed and "." in plain else plain

    return pa.chunked_array([pa.array([text(value) for value in column.array.to_pylist()], pa.utf8())])


def _merged_decimals(columns: List[Column], what: str) -> List[pa.ChunkedArray]:
    fitted = [_fitted(column, what) for column in columns]
    found = [array for array in fitted if array is not None]
    if len(found) == len(columns):
        scale = max(array.type.scale for array in found)
        try:
            return [array.cast(pa.decimal128(38, scale)) for array in found]
        except pa.ArrowInvalid:
            pass
    return [_decimal_texts(column) for column in columns]


# Several tables


def merged(type: str, columns: List[Column], what: str) -> pa.ChunkedArray:
    """The columns of a hierarchy's tables as one, with one type for all."""
    arrays = [column.array for column in columns]
    if type == "Decimal":
        arrays = _merged_decimals(columns, what)
    elif type == "Date":
        arrays = _merged_dates(arrays)
    elif type in ("To-one", "To-many", "Reference") and any(is_typed(array.type) for array in arrays):
        arrays = [chunked(typed(array)) for array in arrays]
    types = [array.type for array in arrays]
    if any(have != types[0] for have in types):
        # Long texts and long lists.
        large = next(have for have in types if have in _LARGE or pa.types.is_large_list(have))
        arrays = [array.cast(large) for array in arrays]
    chunks = [chunk for array in arrays for chunk in array.chunks if len(chunk)]
    return pa.chunked_array(chunks, arrays[0].type)


_LARGE = (pa.large_utf8(), pa.large_binary())
