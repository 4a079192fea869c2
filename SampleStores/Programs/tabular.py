#!/usr/bin/env python3
"""Tabular: a store format for AtomicStoreKit, as a program.

A store is lines of JSON: one that describes the store, then one for each object.

    {"store":"Tabular","version":1,"uuid":"…","last":2,"objects":2,"entries":{…},"model":{…}}
    {"entity":"Person","reference":1,"values":{"name":"Ada","height":"double:1.65","team":2}}

The class Tabular is the format: change it. What follows it speaks the protocol, which the article
"Formats as programs" describes, and can stay as it is. Try it with

    atomicstore conform --type Tabular --plugin tabular.py
"""

import importlib.util
import json
import os
import sys


class StoreError(Exception):
    """What is wrong with a store, and where. The codes are those of the article."""

    def __init__(self, code, message, **place):
        super().__init__(message)
        self.answer = {"code": code, "message": message, **place}


class Tabular:
    # The name of the store type.
    store_type = "Tabular"

    # What the format can keep; what is not named is kept. See StoreTraits.
    traits = {"summary": "Lines of JSON, one object each", "extensions": ["tabular"]}

    # The first bytes of a store, by which the kit recognizes it.
    signatures = [{"text": '{"store":"Tabular"'}]

    # How objects are sent: with "arrow", too, as Arrow streams where pyarrow is installed. See the article.
    encodings = ["json"]

    # Methods that the conformance checks may call, such as "recompute" of a format with a checksum: see the article.
    checksum = []

    def __init__(self, options):
        """Begins a request. The kit refuses options that the traits do not list."""

    def metadata(self, source):
        """Returns UUID, last reference, entries and model of a store, without reading its objects."""
        return self.header(source)[0]

    def load(self, source, entities):
        """Yields all objects. What is skipped here is lost with the next save: be strict."""
        lines = source.lines()
        header = parse(next(lines, b""), 1)
        count = self.header(source, header)[1]
        number = 1
        for number, line in enumerate(lines, 2):
            item = parse(line, number)
            if not isinstance(item, dict) or set(item) != {"entity", "reference", "values"}:
                raise StoreError("malformed", "an object has an entity, a reference and values", line=number)
            item["line"] = number
            yield item
        # A file that was cut at the end of a line has every line whole and is not whole itself.
        if number - 1 != count:
            raise StoreError(
                "malformed", f"the first line counts {count} objects, and {number - 1} follow", line=number
            )

    def save(self, metadata, objects, count, target):
        """Writes a store. Equal objects come in equal order: write them so that equal stores are equal bytes."""
        header = {"store": self.store_type, "version": 1, "uuid": metadata["uuid"], "last": metadata["last"]}
        header.update(objects=count, entries=metadata["entries"])
        if "model" in metadata:
            header["model"] = metadata["model"]
        target.write(text(header) + b"\n")
        for item in objects:
            target.write(text(item) + b"\n")

    def header(self, source, header=None):
        """The metadata in the first line, and the number of objects."""
        if header is None:
            header = parse(next(source.lines(), b""), 1)
        known = {"store", "version", "uuid", "last", "objects", "entries", "model"}
        if not isinstance(header, dict) or not known - {"model"} <= set(header) <= known:
            raise StoreError("malformed", "the first line does not describe a store", line=1)
        if header["store"] != self.store_type:
            raise StoreError("storeTypeMismatch", "the first line describes another store", line=1)
        if type(header["version"]) is not int:
            raise StoreError("malformed", "the version is not a number", line=1)
        if header["version"] != 1:
            raise StoreError(
                "unsupportedVersion", f"written by version {header['version']}, and this one reads 1", line=1
            )
        if type(header["objects"]) is not int or header["objects"] < 0:
            raise StoreError("malformed", "the number of objects is not a number", line=1)
        return {key: header[key] for key in ("uuid", "last", "entries", "model") if key in header}, header["objects"]


# JSON, read strictly: what is not understood is an error with its line.


def parse(line, number, **place):
    def unique(members):
        result = dict(members)
        if len(result) != len(members):
            raise ValueError("a name occurs twice in an object")
        return result

    def refuse(value):
        raise ValueError(f"{value[:20]} is not an integer")

    try:
        # Half of a surrogate pair, which JSON can escape, is not a character.
        value = json.loads(line.decode(), object_pairs_hook=unique, parse_float=refuse, parse_constant=refuse)
        if b"\\u" in line:
            text(value)
        return value
    except (ValueError, RecursionError) as error:
        # The parser's own message has a position in the line.
        if isinstance(error, json.JSONDecodeError):
            place["column"] = len(error.doc[: error.pos].encode()) + 1
        raise StoreError("malformed", getattr(error, "msg", str(error)), line=number, **place) from None


def text(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


# The protocol: messages are lines of JSON, some of which are followed by bytes.


class Stream:
    def __init__(self):
        self.input, self.ended = sys.stdin.buffer, False
        # What is printed must not get among the messages.
        self.output = os.fdopen(os.dup(1), "wb", 1 << 16)
        os.dup2(2, 1)

    def send(self, message):
        self.output.write(text(message) + b"\n")

    def receive(self):
        line = self.input.readline()
        return json.loads(line) if line else None

    def objects(self, count):
        """Yields so many objects, and takes the end."""
        for _ in range(count):
            yield self.receive()
        self.ended = "end" in self.receive()

    def tables(self):
        """Yields entities, their Arrow streams, and their numbers of objects; and takes the end."""
        last, parts = None, []
        while "table" in (message := self.receive()):
            if last is not None and last["table"] != message["table"]:
                yield last["table"], b"".join(parts), last["objects"]
                parts = []
            last = message
            parts.append(self.input.read(message["bytes"]))
        if last is not None:
            yield last["table"], b"".join(parts), last["objects"]
        self.ended = "end" in message

    def send_table(self, name, data, count):
        for start in range(0, len(data), 1 << 20):
            part = data[start : start + (1 << 20)]
            self.send({"table": name, "objects": count, "bytes": len(part)})
            self.output.write(part)


class Source:
    """What is read: a file, or a directory with `members`."""

    def __init__(self, stream, request):
        self.stream, self.name, self.members = stream, request["name"], request.get("members")
        # The bytes that reading may take, such as for what is decompressed; None for no limit.
        self.memory = request.get("memory")

    def read(self, count, at, member=None):
        """Returns so many bytes at an offset, fewer only at the end."""
        self.stream.send({"read": count, "at": at} if member is None else {"read": count, "at": at, "member": member})
        self.stream.output.flush()
        size = self.stream.receive()["bytes"]
        return self.stream.input.read(size)

    def lines(self, member=None):
        """Yields the lines, without their ends. The last one must have an end, too."""
        rest, at, count, number = b"", 0, 1 << 16, 1
        while True:
            piece = self.read(count, at, member)
            at += len(piece)
            lines = (rest + piece).split(b"\n")
            rest = lines.pop()
            number += len(lines)
            yield from lines
            if len(piece) < count:
                break
            count = 1 << 20
        if rest:
            raise StoreError("malformed", "the last line is not ended", line=number, member=member)


class Target:
    """What is written: a file, or the members of a directory; and the entities of the model."""

    def __init__(self, stream, request):
        self.entities = request.get("entities")
        self.stream, self.waiting, self.size, self.member = stream, [], 0, None

    def write(self, data, member=None):
        if member != self.member or self.size > 1 << 18:
            self.flush()
        self.member = member
        self.waiting.append(data)
        self.size += len(data)

    def store(self, label, expected):
        """Begins a store for the checks, in the method crafted: expected is "refused" or "same"."""
        self.flush()
        self.stream.send({"store": label, "expected": expected})

    def flush(self):
        if self.waiting:
            message = {"write": self.size}
            if self.member is not None:
                message["member"] = self.member
            self.stream.send(message)
            self.stream.output.write(b"".join(self.waiting))
        self.waiting, self.size = [], 0


def serve(kind):
    """Answers requests until the input ends."""
    stream = Stream()
    while (request := stream.receive()) is not None:
        try:
            answer(kind, request, stream)
        except StoreError as error:
            stream.send({"error": error.answer})
        stream.output.flush()


def answer(kind, request, stream):
    if request["do"] == "describe":
        description = {"atomicstore": 1, "type": kind.store_type, "traits": kind.traits}
        if "arrow" in kind.encodings and "arrow" in request.get("encodings", []) and has_arrow(kind):
            description["encodings"] = kind.encodings
        stream.send({**description, "signatures": kind.signatures, "checksum": kind.checksum})
    elif request["do"] == "metadata":
        stream.send({"metadata": kind(request["options"]).metadata(Source(stream, request))})
    elif request["do"] == "load" and request.get("encoding") == "arrow":
        store, count = kind(request["options"]), 0
        for table in load_tables(store, Source(stream, request), request["entities"]):
            stream.send_table(*table)
            count += table[2]
        stream.send({"objects": count})
    elif request["do"] == "load":
        count = 0
        for item in kind(request["options"]).load(Source(stream, request), request["entities"]):
            stream.send(item)
            count += 1
        stream.send({"objects": count})
    elif request["do"] == "save":
        target, store, count = Target(stream, request), kind(request["options"]), request["objects"]
        if request.get("encoding") == "arrow":
            content = stream.tables()
            save_tables(store, request["metadata"], content, count, target)
        else:
            content = stream.objects(count)
            store.save(request["metadata"], content, count, target)
        if next(content, None) is not None or not stream.ended:
            raise SystemExit("the format did not read all objects")
        target.flush()
        stream.send({"saved": True})
    elif request["do"] in kind.checksum:
        target = Target(stream, request)
        done = getattr(kind(request["options"]), request["do"])(Source(stream, request), target)
        target.flush()
        stream.send({"done": done is not False})
    else:
        raise SystemExit(f"the request {request['do']} is not known")


# Arrow: the objects of an entity are a stream. arrowtables.py, which may be beside this file, makes it of objects.


def has_arrow(kind):
    """Whether streams pass through a class, or can be made of its objects."""
    return hasattr(kind, "load_tables") or all(importlib.util.find_spec(name) for name in ("arrowtables", "pyarrow"))


def load_tables(store, source, entities):
    """Returns entities, their streams, and their numbers of objects."""
    if hasattr(store, "load_tables"):
        return store.load_tables(source, entities)
    from arrowtables import Tables

    return Tables(entities, StoreError).streams(store.load(source, entities))


def save_tables(store, metadata, tables, count, target):
    if hasattr(store, "save_tables"):
        return store.save_tables(metadata, tables, count, target)
    from arrowtables import Tables

    return store.save(metadata, Tables(target.entities, StoreError).objects(tables), count, target)


if __name__ == "__main__":
    serve(Tabular)
