"""Values of the command as this package has them."""

from __future__ import annotations

import base64
import datetime
import plistlib
import re
from typing import Any, Callable, Dict

import pyarrow as pa
import pyarrow.compute as pc

_PLAIN_DECIMAL = r"^-?[0-9]+(\.[0-9]+)?$"
_EPOCH = datetime.datetime(2001, 1, 1)


def property_column(type: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A property's column. The command made it by the model; ``type`` is the type in model files."""
    if type == "To-many":
        # Without what Arrow adds to lists: whether they and their items can be null.
        list_array = pa.LargeListArray if pa.types.is_large_list(column.type) else pa.ListArray
        chunks = [list_array.from_arrays(chunk.offsets, chunk.values) for chunk in column.chunks]
        make = pa.large_list if list_array is pa.LargeListArray else pa.list_
        return pa.chunked_array(chunks, make(column.type.value_type))
    return _decimals(column) if type == "Decimal" else column


def _decimals(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decimals as ``decimal128`` at the scale of the longest; as exact texts if one does not fit."""
    is_text = not pa.types.is_decimal(column.type)
    if is_text:
        if pc.all(pc.match_substring_regex(column, _PLAIN_DECIMAL)).as_py() is False:
            return column
        point = pc.find_substring(column, ".")
        places = pc.subtract(pc.subtract(pc.binary_length(column), point), 1)
        scale = pc.max(pc.if_else(pc.greater_equal(point, 0), places, 0)).as_py() or 0
    else:
        scale = column.type.scale
    try:
        if scale <= 38:
            return column.cast(pa.decimal128(38, scale))
    except pa.ArrowInvalid:
        pass
    if is_text:
        return column
    texts = [None if value is None else format(value, "f") for value in column.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.utf8())])


def property_list(value: Any) -> Any:
    """A value of metadata, as ``plistlib`` has it, of the command's JSON: an object with one member names its type."""
    if isinstance(value, list):
        return [property_list(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        type, content = next(iter(value.items()))
        if type == "dictionary":
            return {key: property_list(item) for key, item in content.items()}
        if type in _TYPED:
            return _TYPED[type](content)
    return {key: property_list(item) for key, item in value.items()}


def _date(text: str) -> Any:
    """ISO 8601, or ``@`` and the seconds since 2001. Seconds beyond the dates that Python has."""
    try:
        if text.startswith("@"):
            return _EPOCH + datetime.timedelta(seconds=float(text[1:]))
        found = re.fullmatch(r"([^.Z]+)(\.[0-9]+)?Z", text)
        whole, part = found.groups() if found else (text, None)
        moment = datetime.datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S")
        return moment + datetime.timedelta(seconds=float(part or 0))
    except (ValueError, OverflowError):
        return float(text[1:]) if text.startswith("@") else text


_TYPED: Dict[str, Callable[[str], Any]] = {
    "date": _date,
    "base64": base64.b64decode,
    "uid": lambda text: plistlib.UID(int(text)),
    "real": lambda text: float("nan") if text.startswith("nan") else float(text),
}
