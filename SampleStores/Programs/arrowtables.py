"""Arrow streams for formats as programs: the objects of an entity are a table, with a column for their references and one
for each property, as in the kit's Arrow stores.

Put this file beside a program as `atomicstore new-format --language python` writes it, and add "arrow" to its `encodings`.
It needs pyarrow. Values in messages have the forms that the article "Formats as programs" describes.
"""

import base64
import re
import struct
import uuid

import pyarrow


class Tables:
    """Makes Arrow streams of objects, and objects of streams."""

    def __init__(self, entities, error):
        self.error = error
        self.properties, waiting = {}, list(entities)
        while waiting:
            entity = waiting.pop(0)
            if entity["super"] in self.properties or entity["super"] is None:
                inherited = self.properties.get(entity["super"], {})
                self.properties[entity["name"]] = {**inherited, **{each["name"]: each for each in entity["properties"]}}
            else:
                waiting.append(entity)

    def identifier(self, entity):
        """The name of the column with the references."""
        name = "id"
        while name in self.properties[entity]:
            name = "objectID" if name == "id" else name + "_"
        return name

    def objects(self, streams):
        """Yields the objects of streams, as messages have them."""
        for entity, data, _ in streams:
            table, slots = self.table(entity, data), self.properties[entity]
            references = self.column(entity, None, lambda: references_of(table.column(self.identifier(entity))))
            columns = [self.column(entity, name, lambda: messages_of(table, slot)) for name, slot in slots.items()]
            for reference, *row in zip(references, *columns):
                values = {name: value for name, value in zip(slots, row) if value is not None}
                yield {"entity": entity, "reference": reference, "values": values}

    def table(self, entity, data):
        """The table of a stream, which has each column of the entity once."""
        if entity not in self.properties:
            raise self.error("modelMismatch", f"the model has no entity '{entity}'", entity=entity)
        try:
            table = pyarrow.ipc.open_stream(data).read_all()
            table.validate(full=True)
        except (pyarrow.ArrowException, OSError, ValueError) as bad:
            raise self.error("malformed", f"the stream is damaged: {bad}", entity=entity) from None
        names, found = [self.identifier(entity), *self.properties[entity]], table.column_names
        for name in dict.fromkeys(names + found):
            if found.count(name) != names.count(name):
                what = "the model has no" if name not in names else "the stream has none, or two, of"
                raise self.error("modelMismatch", f"{what} column '{name}'", entity=entity)
        return table

    def column(self, entity, name, values):
        """What a function returns for a column, or an error with its property."""
        try:
            return values()
        except (pyarrow.ArrowException, ValueError, TypeError, AttributeError, KeyError, OverflowError) as bad:
            place = {"entity": entity} if name is None else {"entity": entity, "property": name}
            raise self.error("malformed", f"the column has other values: {bad}", **place) from None

    def streams(self, objects):
        """Returns entities, their streams, and their numbers of objects."""
        found = {}
        for item in objects:
            if not isinstance(item["entity"], str) or not isinstance(item["values"], dict):
                raise self.error("malformed", "an object has an entity with a name, and values", **line_of(item))
            if item["entity"] not in self.properties:
                raise self.error("modelMismatch", f"the model has no entity '{item['entity']}'", **place_of(item))
            for name in item["values"].keys() - self.properties[item["entity"]].keys():
                raise self.error("modelMismatch", f"{item['entity']} has no property '{name}'", **place_of(item))
            found.setdefault(item["entity"], []).append(item)
        try:
            return [(entity, self.stream(entity, items), len(items)) for entity, items in found.items()]
        except BadValue as bad:
            raise self.error("invalidValue", str(bad), **bad.place) from None

    def stream(self, entity, items):
        columns = {self.identifier(entity): reference_column([item["reference"] for item in items], items)}
        for name, slot in self.properties[entity].items():
            columns[name] = column_of(slot, [item["values"].get(name) for item in items], items)
        table, target = pyarrow.table(columns), pyarrow.BufferOutputStream()
        with pyarrow.ipc.new_stream(target, table.schema) as writer:
            writer.write_table(table)
        return target.getvalue().to_pybytes()


class BadValue(Exception):
    def __init__(self, message, place):
        super().__init__(message)
        self.place = place


def line_of(item):
    return {key: item[key] for key in ("line", "member") if key in item}


def place_of(item, name=None):
    place = {"entity": item["entity"], "reference": item["reference"], **line_of(item)}
    return place if name is None else {**place, "property": name}


def convert(function, values, items, name, what):
    """The values that are not null, each converted; or an error with its object."""
    result = []
    for value, item in zip(values, items):
        try:
            result.append(None if value is None else function(value))
        except (ValueError, TypeError, AttributeError, OverflowError, struct.error):
            raise BadValue(f"the value is not {what}", place_of(item, name)) from None
    return result


# References: integers, or for a column with any other, texts with their kind.

EXACT = range(-(1 << 53), (1 << 53) + 1)
LONG = range(-(1 << 63), 1 << 63)


def reference_of(value):
    """An integer or a text of a reference in a message."""
    if isinstance(value, dict) and list(value) == ["integer"]:
        value = typed("integer")("integer:" + value["integer"])
    if isinstance(value, str) or type(value) is int and value in LONG:
        return value
    raise ValueError


def message_of(reference):
    if isinstance(reference, str):
        kind, _, text = reference.partition(":")
        if kind == "string":
            return text
        reference = int(text)
    # In a range, what is not an integer would be compared with each of its numbers.
    if type(reference) is not int:
        raise ValueError(f"{reference!r} is not a reference")
    return reference if reference in EXACT else {"integer": str(reference)}


def references_of(column):
    return [None if value is None else message_of(value) for value in column.to_pylist()]


def with_kinds(references):
    return [f"{'string' if isinstance(each, str) else 'integer'}:{each}" for each in references]


def reference_column(values, items, name=None):
    found = convert(reference_of, values, items, name, "a reference")
    if not any(isinstance(each, str) for each in found):
        return pyarrow.array(found, pyarrow.int64())
    return pyarrow.array([None if each is None else with_kinds([each])[0] for each in found], pyarrow.utf8())


def list_column(values, items, name):
    def list_of(value):
        if type(value) is list:
            return [reference_of(each) for each in value]
        raise ValueError

    found = [each or [] for each in convert(list_of, values, items, name, "a list of references")]
    if not any(isinstance(each, str) for list in found for each in list):
        return pyarrow.array(found, pyarrow.list_(pyarrow.int64()))
    return pyarrow.array([with_kinds(each) for each in found], pyarrow.list_(pyarrow.utf8()))


# Attributes: a type of Arrow, and what converts the value of a message.

NUMBER = re.compile(r"[+-]?(nan|inf|infinity|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)", re.ASCII | re.IGNORECASE)


def typed(kind, function=None):
    """Converts texts with a kind, or integers and Booleans."""
    kinds = {"integer": (int, r"[+-]?[0-9]+", int), "boolean": (bool, "true|false", "true".__eq__)}
    plain, form, parse = kinds.get(kind, (None, ".*", function))

    def value_of(value):
        if type(value) is plain:
            return value
        text = value.removeprefix(kind + ":")
        if text is value or not re.fullmatch(form, text, re.DOTALL):
            raise ValueError
        return parse(text)

    return value_of


def integer(bits):
    """Converts integers that have so many bits."""
    parse = typed("integer")

    def value_of(value):
        number = parse(value)
        if -(1 << bits - 1) <= number < 1 << bits - 1:
            return number
        raise ValueError

    return value_of


def bits_of(text, forms):
    """The bits of a floating-point number, as an integer with a sign."""
    if text.startswith("nan(0x") and text.endswith(")"):
        word = struct.pack(forms[2], int(text[6:-1], 16))
        if struct.unpack(forms[0], word)[0] == struct.unpack(forms[0], word)[0]:
            raise ValueError
        return struct.unpack(forms[1], word)[0]
    if not NUMBER.fullmatch(text):
        raise ValueError
    return struct.unpack(forms[1], struct.pack(forms[0], float(text)))[0]


def text_of(value):
    if type(value) is not str:
        raise ValueError
    return value


FLOAT, DOUBLE = ("<f", "<i", "<I"), ("<d", "<q", "<Q")
TYPES = {
    "String": ("utf8", text_of),
    "Undefined": ("utf8", text_of),
    "Composite": ("utf8", text_of),
    "Boolean": ("bool_", typed("boolean")),
    "Integer 16": ("int16", integer(16)),
    "Integer 32": ("int32", integer(32)),
    "Integer 64": ("int64", integer(64)),
    "Float": ("float32", typed("float", lambda text: bits_of(text, FLOAT))),
    "Double": ("float64", typed("double", lambda text: bits_of(text, DOUBLE))),
    "Date": ("float64", typed("date", lambda text: bits_of(text, DOUBLE))),
    "Decimal": ("utf8", typed("decimal", str)),
    "UUID": ("binary", typed("uuid", lambda text: uuid.UUID(text).bytes)),
    "URI": ("utf8", typed("uri", str)),
    "Binary": ("binary", typed("data", lambda text: base64.b64decode(text, validate=True))),
    "Transformable": ("binary", typed("data", lambda text: base64.b64decode(text, validate=True))),
}


def column_of(slot, values, items):
    """The column of a property, of its values in messages."""
    if slot["kind"] == "toMany":
        return list_column(values, items, slot["name"])
    if slot["kind"] == "toOne":
        return reference_column(values, items, slot["name"])
    name, function = TYPES[slot["type"]]
    form = pyarrow.binary(16) if slot["type"] == "UUID" else getattr(pyarrow, name)()
    if name.startswith("float"):
        # Of their bits: numbers would lose what else a not-a-number holds.
        words = convert(function, values, items, slot["name"], f"of type {slot['type']}")
        return pyarrow.array(words, name.replace("float", "int")).view(form)
    return pyarrow.array(convert(function, values, items, slot["name"], f"of type {slot['type']}"), form)


def messages_of(table, slot):
    """The values of a property as messages have them; None for null, and for a to-many without objects."""
    column = table.column(slot["name"])
    kind, prefix = column.type, slot.get("type", "").lower()
    if slot["kind"] == "toMany":
        return [[message_of(each) for each in value] if value else None for value in column.to_pylist()]
    if slot["kind"] == "toOne":
        return references_of(column)
    if hasattr(kind, "storage_type"):
        column = pyarrow.chunked_array([each.storage for each in column.chunks], kind.storage_type)
    function = None
    # Python's own dates have neither nanoseconds nor all years.
    values = column.cast("int64").to_pylist() if pyarrow.types.is_timestamp(kind) else column.to_pylist()
    if pyarrow.types.is_floating(kind):
        values = numbers_of(column, values)
    elif pyarrow.types.is_timestamp(kind):
        per = {"us": 1_000_000, "ns": 1_000_000_000}[kind.unit]
        function = lambda ticks: f"date:{ticks // per - 978_307_200 + ticks % per / per!r}"
    elif pyarrow.types.is_decimal(kind):
        metadata = table.schema.field(slot["name"]).metadata or {}
        function = decimals if metadata.get(b"atomicstore.decimals") != b"trimmed" else trimmed
    elif pyarrow.types.is_integer(kind):
        function = lambda number: number if number in EXACT else f"integer:{number}"
    elif slot["type"] == "UUID":
        function = lambda value: "uuid:" + str(uuid.UUID(bytes=value)).upper()
    elif slot["type"] in ("Binary", "Transformable"):
        function = lambda value: "data:" + base64.b64encode(value).decode()
    if pyarrow.types.is_floating(kind) or slot["type"] in ("URI", "Decimal"):
        before = function or str
        function = lambda value: f"{prefix}:{before(value)}"
    return values if function is None else [None if value is None else function(value) for value in values]


def decimals(value):
    return format(value, "f")


def trimmed(value):
    text = decimals(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def float_text(value):
    """The shortest text of a number of 32 bits."""
    for digits in range(6, 10):
        text = f"{value:.{digits}g}"
        if value == struct.unpack("<f", struct.pack("<f", float(text)))[0]:
            break
    return repr(float(text))


def numbers_of(column, values):
    """Texts of floating-point numbers."""
    size = column.type.bit_width
    form = float_text if size == 32 else repr
    words = values
    if any(value != value for value in values):
        words = pyarrow.chunked_array([each.view(f"int{size}") for each in column.chunks], f"int{size}").to_pylist()
    return [
        None if value is None else form(value) if value == value else f"nan(0x{word & (1 << size) - 1:x})"
        for value, word in zip(values, words)
    ]
