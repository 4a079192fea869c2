#!/usr/bin/env python3
"""Prints a BinaryPropertyList store as JSON lines, with nothing but the standard library and FORMAT.md."""
import base64, json, plistlib, struct, sys, uuid

FIXED = {"Boolean": ("?", 1), "Integer 16": ("<h", 2), "Integer 32": ("<i", 4), "Integer 64": ("<q", 8),
         "Float": ("<f", 4), "Double": ("<d", 8), "Date": ("<d", 8), "UUID": (None, 16)}

def attributes(model, entity):
    """The attributes of an entity by slot name: the super-entity's first, a composite as its parts."""
    composites = {c["name"]: c["attributes"] for c in model.get("composites", [])}
    def add(found, attribute, name):
        if attribute.get("type") == "Composite":
            for part in composites[attribute["composite"]]: add(found, part, name + "." + part["name"])
        elif "type" in attribute: found[name] = attribute["type"]
    def search(entities, inherited):
        for e in entities:
            own = dict(inherited)
            for p in e.get("properties", []): add(own, p, p["name"])
            if e["name"] == entity: return own
            below = search(e.get("subentities", []), own)
            if below is not None: return below
    return search(model.get("entities", []), {}) or {}

def destination(model, entity, slot):
    """The entity that a relationship leads to."""
    def search(entities, inherited):
        for e in entities:
            own = dict(inherited, **{p["name"]: p["destination"] for p in e.get("properties", []) if "destination" in p})
            if e["name"] == entity: return own
            below = search(e.get("subentities", []), own)
            if below is not None: return below
    return (search(model.get("entities", []), {}) or {}).get(slot)

def below(model, entity):
    """The names of an entity and its sub-entities."""
    def search(entities, inside):
        for e in entities:
            if inside or e["name"] == entity: yield e["name"]
            yield from search(e.get("subentities", []), inside or e["name"] == entity)
    return sorted(search(model.get("entities", []), False), key=str.encode)

def references(entity):
    """The references of an entity's rows: integers, and strings where some are."""
    found = [r for (r,) in struct.iter_unpack("<q", entity["references"])]
    texts = entity.get("referenceTexts", [])
    pairs = enumerate(column(texts, len(found), "String")) if isinstance(texts, dict) else texts   # version 2, or 1
    for row, text in pairs:
        if text is not None: found[row] = text
    return found

def spread(data, rows, kind):
    """A column that has values of some rows only, with those of all."""
    bits = data.pop("present")
    present = [bits[r >> 3] >> (r & 7) & 1 for r in range(rows)]
    for key, size, absent in (("lengths", 4, b"\xff" * 4), ("counts", 4, bytes(4)), ("rows", 4, bytes(4)), ("references", 8, bytes(8)), ("cells", FIXED.get(kind, (0, 1))[1], None)):
        if key not in data or "counts" in data and key in ("rows", "references"): continue
        values = iter(data[key][i:i + size] for i in range(0, len(data[key]), size))
        data[key] = b"".join(next(values) if p else absent or bytes(size) for p in present)
    if "lengths" not in data and "counts" not in data: data["presence"] = bits
    return data

def column(data, rows, kind, targets=None):
    if "present" in data: data = spread(dict(data), rows, kind)
    bits = data.get("presence")
    present = [bits is None or bits[r >> 3] >> (r & 7) & 1 for r in range(rows)]
    if "values" in data: return data["values"]                      # undefined: kind and text
    if "objects" in data: return data["objects"]                    # references, some of them strings
    if "lengths" in data:                                           # text, data, decimals
        result, start = [], 0
        for (length,) in struct.iter_unpack("<I", data["lengths"]):
            if length == 0xFFFFFFFF: result.append(None); continue
            raw = data["bytes"][start:start + length]; start += length
            result.append(base64.b64encode(raw).decode() if kind in ("Binary", "Transformable") else raw.decode())
        return result
    if "rows" in data:                                              # to objects, some of which have string references
        named = [r for (r,) in struct.iter_unpack("<I", data["rows"])]
        every = [targets[r] for r in named] if "counts" in data else [targets[r] if p else None for r, p in zip(named, present)]
    elif "references" in data: every = [r for (r,) in struct.iter_unpack("<q", data["references"])]
    if "counts" in data:                                            # to-many
        result, start = [], 0
        for (count,) in struct.iter_unpack("<I", data["counts"]): result.append(every[start:start + count]); start += count
        return result
    if "rows" in data or "references" in data:                      # to-one
        return [r if p else None for r, p in zip(every, present)]
    code, size = FIXED[kind]
    cells = [data["cells"][r * size:(r + 1) * size] for r in range(rows)]
    return [(str(uuid.UUID(bytes=c)).upper() if code is None else struct.unpack(code, c)[0]) if p else None
            for c, p in zip(cells, present)]

store = plistlib.load(open(sys.argv[1], "rb"))
assert store["format"] == "AtomicStore BinaryPropertyList" and store["version"] in (1, 2, 3)
for name in sorted(store["entities"]):
    entity, kinds = store["entities"][name], attributes(store["model"], name)
    rows = entity["count"]
    own = references(entity)
    columns = {}
    for slot, data in entity["columns"].items():
        names = below(store["model"], destination(store["model"], name, slot)) if "rows" in data else []
        targets = [r for n in names if n in store["entities"] for r in references(store["entities"][n])]
        columns[slot] = column(data, rows, kinds.get(slot), targets)
    for row in range(rows):
        print(json.dumps({"entity": name, "reference": own[row],
                          **{slot: values[row] for slot, values in sorted(columns.items())}}, ensure_ascii=False))
