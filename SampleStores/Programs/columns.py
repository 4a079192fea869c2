#!/usr/bin/env python3
"""Columns: a store format whose objects are Arrow streams, for programs in Python that pass them through.

A store is a line of JSON, which lists the streams with their sizes and checksums, and then the streams. Neither a save
nor a load needs pyarrow; only where the kit sends objects as JSON does arrowtables.py make streams of them.

    atomicstore conform --type Columns --plugin columns.py
"""

import zlib

from tabular import StoreError, Tabular, parse, serve, text


class Columns(Tabular):
    store_type = "Columns"
    traits = {"summary": "A stream of Arrow for each entity", "extensions": ["columns"]}
    signatures = [{"text": '{"store":"Columns"'}]
    encodings = ["json", "arrow"]
    checksum = ["recompute", "newer", "crafted"]

    def header(self, source, header=None):
        """The metadata in the first line, and the number of objects."""
        return super().header(source, self.first(source)[0])

    def first(self, source):
        """The first line without its list of streams, that list, and where the streams begin."""
        line = next(source.lines(), b"")
        header = parse(line, 1)
        streams = header.pop("streams", None) if isinstance(header, dict) else None
        names = set()
        for entry in streams if isinstance(streams, list) else [None]:
            if not isinstance(entry, list) or [type(each) for each in entry] != [str, int, int, int]:
                raise StoreError("malformed", "a stream has an entity, a number, a size and a checksum", line=1)
            if entry[0] in names or entry[1] < 0 or entry[2] <= 0:
                raise StoreError("malformed", "an entity has one stream, which is not empty", line=1)
            names.add(entry[0])
        return header, streams, len(line) + 1

    def load_tables(self, source, entities):
        """Yields the entities, their streams, and their numbers of objects."""
        count, (_, streams, at) = self.header(source)[1], self.first(source)
        for entity, objects, size, check in streams:
            data = read(source, at, size)
            if len(data) != size or zlib.crc32(data) != check:
                raise StoreError("malformed", "the stream is not as it was written", offset=at, entity=entity)
            yield entity, data, objects
            count, at = count - objects, at + size
        if count != 0 or source.read(1, at):
            raise StoreError("malformed", "the streams are others than those of the first line", offset=at)

    def save_tables(self, metadata, tables, count, target):
        tables = list(tables)
        header = {"store": self.store_type, "version": 1, "objects": count, **metadata}
        self.write(header, tables, target)

    def write(self, header, tables, target):
        header["streams"] = [[entity, objects, len(data), zlib.crc32(data)] for entity, data, objects in tables]
        target.write(text(header) + b"\n")
        for _, data, _ in tables:
            target.write(data)

    # Where the kit sends objects.

    def load(self, source, entities):
        from arrowtables import Tables

        return Tables(entities, StoreError).objects(self.load_tables(source, entities))

    def save(self, metadata, objects, count, target):
        from arrowtables import Tables

        self.save_tables(metadata, Tables(target.entities, StoreError).streams(objects), count, target)

    # For the conformance checks.

    def recompute(self, source, target):
        return self.rewrite(source, target)

    def newer(self, source, target):
        return self.rewrite(source, target, version=2)

    def crafted(self, source, target):
        header, streams, at = self.first(source)
        content = read(source, at, sum(size for _, _, size, _ in streams))
        for label, listed, more in [("a byte behind the streams", streams, b"."), ("one stream less", streams[1:], b"")]:
            target.store(label, "refused")
            target.write(text({**header, "streams": listed}) + b"\n" + content + more)

    def rewrite(self, source, target, **changes):
        """Writes the same store with valid checksums, unless its first line is damaged."""
        try:
            header, streams, at = self.first(source)
        except StoreError:
            return False
        tables = []
        for entity, objects, size, _ in streams:
            tables.append((entity, read(source, at, size), objects))
            at += size
        self.write({**header, **changes}, tables, target)
        return True


def read(source, at, size):
    """Reads bytes in pieces: there are fewer than a damaged line says."""
    pieces, end = [], at + size
    while at < end and (piece := source.read(min(end - at, 1 << 22), at)):
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces)


if __name__ == "__main__":
    serve(Columns)
