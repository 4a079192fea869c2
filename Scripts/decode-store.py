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

def column(data, rows, kind):
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
    if "counts" in data:                                            # to-many
        every = [r for (r,) in struct.iter_unpack("<q", data["references"])]
        result, start = [], 0
        for (count,) in struct.iter_unpack("<I", data["counts"]): result.append(every[start:start + count]); start += count
        return result
    if "references" in data:                                        # to-one
        return [r if p else None for (r,), p in zip(struct.iter_unpack("<q", data["references"]), present)]
    code, size = FIXED[kind]
    cells = [data["cells"][r * size:(r + 1) * size] for r in range(rows)]
    return [(str(uuid.UUID(bytes=c)).upper() if code is None else struct.unpack(code, c)[0]) if p else None
            for c, p in zip(cells, present)]

store = plistlib.load(open(sys.argv[1], "rb"))
assert store["format"] == "AtomicStore BinaryPropertyList" and store["version"] == 1
for name in sorted(store["entities"]):
    entity, kinds = store["entities"][name], attributes(store["model"], name)
    rows = entity["count"]
    references = [r for (r,) in struct.iter_unpack("<q", entity["references"])]
    for row, text in entity.get("referenceTexts", []): references[row] = text
    columns = {slot: column(data, rows, kinds.get(slot)) for slot, data in entity["columns"].items()}
    for row in range(rows):
        print(json.dumps({"entity": name, "reference": references[row],
                          **{slot: values[row] for slot, values in sorted(columns.items())}}, ensure_ascii=False))
