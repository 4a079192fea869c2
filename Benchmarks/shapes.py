"""Writes stores of twelve shapes, the same bytes for the same shape, number of objects and seed.

    python3 shapes.py SHAPE OBJECTS FILE [SEED]

The file is an XML store with its model, except for `foreign`, a CSV file as another program would write it.
"""

import base64
import os
import plistlib
import random
import sys

# Each entity: its name, that of its super-entity, its attributes (name, type) and its relationships (name,
# destination, maximum count, ordered, inverse).
WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven", "inlet", "jetty", "kelp", "lunar"]
TYPES = {"String": "string", "Integer 64": "int64", "Integer 32": "int32", "Double": "double", "Decimal": "decimal",
         "Date": "date", "Boolean": "bool", "Binary": "binary"}


class Shape:
  def __init__(self, entities, rows):
    self.entities, self.rows = entities, rows

  def model(self):
    def described(entity):
      name, parent, attributes, relationships = entity
      found = {"name": name, "properties":
               [{"name": a, "type": t} for a, t in attributes]
               + [dict({"name": n, "destination": d, "maximumCount": m}, **({"ordered": True} if o else {}),
                       **({"inverse": i} if i else {})) for n, d, m, o, i in relationships]}
      children = [described(e) for e in self.entities if e[1] == name]
      if children: found["subentities"] = children
      return found
    return {"formatVersion": 1, "entities": [described(e) for e in self.entities if e[1] is None]}

  def inherited(self, name):
    """Attributes and relationships of an entity, those of super-entities first."""
    entity = next(e for e in self.entities if e[0] == name)
    above = self.inherited(entity[1]) if entity[1] else ([], [])
    return above[0] + entity[2], above[1] + entity[3]


def escaped(text): return text.replace("&", "\\u2600").replace("<", "\\u3c00").replace(">", "\\u3e00")


def apart(body, *arguments):
  """Calls a function in a separate process: the peak of memory of this one would count for all that it starts."""
  process = os.fork()
  if process == 0:
    code = 1
    try:
      body(*arguments)
      code = 0
    except Exception as error: print(f"{body.__name__}: {error}", file=sys.stderr)
    finally: os._exit(code)
  if os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]): raise OSError(f"{body.__name__} failed")


def write(shape, count, path, randoms):
  entities = {}
  for name, *_ in shape.entities: entities[name] = shape.inherited(name)
  with open(path, "w", encoding="utf-8", newline="\n", buffering=1 << 20) as file:
    info = plistlib.dumps({"AtomicStoreModel": shape.model()}, fmt=plistlib.FMT_XML).decode()
    info = info[info.index("<plist"):].strip()
    file.write('<?xml version="1.0" standalone="yes"?>\n'
               '<!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">\n\n<database>\n'
               "    <databaseInfo>\n        <version>134481920</version>\n"
               "        <UUID>5B1D9F0C-58F3-4C5A-9E0B-0C0FFEE0C0DE</UUID>\n"
               f"        <nextObjectID>{count * 100}</nextObjectID>\n        <metadata>\n{info}\n"
               "        </metadata>\n    </databaseInfo>\n")
    put = file.write
    heads = {name: ([(f'        <attribute name="{a.lower()}" type="{TYPES[t]}">', a) for a, t in parts[0]],
                    [(f'        <relationship name="{n.lower()}" type="{0}/{m}" destination="{d.upper()}"', n)
                     for n, d, m, o, i in parts[1]]) for name, parts in entities.items()}
    for entity, reference, values in shape.rows(count, randoms):
      attributes, relationships = heads[entity]
      lines = [f'    <object type="{entity.upper()}" id="{reference}">\n']
      for head, name in attributes:
        if name in values: lines.append(f"{head}{values[name]}</attribute>\n")
      for head, name in relationships:
        found = values.get(name)
        lines.append(f'{head} idrefs="{found}"></relationship>\n' if found else f"{head}></relationship>\n")
      lines.append("    </object>\n")
      put("".join(lines))
    put("</database>\n")


def named(number): return f"{WORDS[number % 12]} {WORDS[number // 12 % 12]} {number}"


def blob(size, randoms):
  text = base64.b64encode(randoms.randbytes(size)).decode()
  return "\n".join(text[start:start + 76] for start in range(0, len(text), 76)) + "\n"


def company(count, randoms):
  departments = max(count // 1000, 1)
  people = count - departments
  members = [[] for _ in range(departments)]
  for number in range(people): members[number % departments].append(f"z{departments + number + 1}")
  for number in range(departments):
    yield "Department", f"z{number + 1}", {"name": f"Department {number}", "employees": " ".join(members[number])}
  for number in range(people):
    yield "Employee", f"z{departments + number + 1}", {
      "active": number & 1, "badge": number * 7 % 1_000_003, "hired": f"{number * 3600}.00000000000000000000",
      "name": named(number) + (" é" if number % 3 == 0 else ""), "rating": number % 100 / 8 + 0.125,
      "salary": f"{number % 9000 + 1000}.50", "title": "Engineer" if number % 5 else "Head, of all",
      "token": blob(16, randoms), "department": f"z{number % departments + 1}"}


COMPANY = Shape([
  ("Department", None, [("name", "String")], [("employees", "Employee", 0, False, "department")]),
  ("Employee", None, [("active", "Boolean"), ("badge", "Integer 64"), ("hired", "Date"), ("name", "String"),
                      ("rating", "Double"), ("salary", "Decimal"), ("title", "String"), ("token", "Binary")],
   [("department", "Department", 1, False, "employees")])], company)


def plain(names):
  def rows(count, randoms):
    for number in range(count):
      yield names[number * len(names) // count], f"z{number + 1}", {"name": named(number), "number": number}
  return rows


def entities(count):
  """So many entities, with an equal share of the objects each."""
  names = [f"Entity{number:03}" for number in range(count)]
  return Shape([(name, None, [("name", "String"), ("number", "Integer 64")], []) for name in names], plain(names))


def deep_rows(count, randoms):
  for number in range(count):
    level = number * 20 // count
    yield f"Level{level:02}", f"z{number + 1}", dict({f"value{n:02}": f"{named(number)} {n}" for n in range(level + 1)})


DEEP = Shape([(f"Level{n:02}", f"Level{n - 1:02}" if n else None, [(f"value{n:02}", "String")], []) for n in range(20)],
             deep_rows)

COLUMNS = [(f"column{n:02}", ["String", "Integer 64", "Double", "Decimal"][n % 4]) for n in range(40)]


def wide_rows(share):
  def value(name, kind, number):
    if kind == "String": return named(number)
    if kind == "Integer 64": return number * 31
    return f"{number % 1000}.5"
  def rows(count, randoms):
    for number in range(count):
      yield "Row", f"z{number + 1}", {name: value(name, kind, number) for place, (name, kind) in enumerate(COLUMNS)
                                       if (number * 40 + place) * 7919 % 100 < share}
  return rows


def hub_rows(count, randoms):
  yield "Hub", "z1", {"children": " ".join(f"z{number + 2}" for number in range(count - 1))}
  for number in range(count - 1): yield "Child", f"z{number + 2}", {"name": named(number), "parent": "z1"}


HUB = Shape([("Child", None, [("name", "String")], [("parent", "Hub", 1, False, "children")]),
             ("Hub", None, [], [("children", "Child", 0, True, "parent")])], hub_rows)

LINKED = [("Node", None, [("name", "String")], [("next", "Node", 1, False, None), ("other", "Node", 1, False, None)])]


def shuffled_rows(count, randoms):
  numbers = randoms.sample(range(1, count * 50), count)
  for place, number in enumerate(numbers):
    yield "Node", f"z{number}", {"name": named(place), "next": f"z{numbers[place * 31 % count]}",
                                  "other": f"z{numbers[place * 7 % count]}"}


def links(number, count): return {"next": number * 31 % count, "other": number * 7 % count}


def linked_rows(form):
  def rows(count, randoms):
    for number in range(count):
      found = links(number, count)
      yield "Node", form(number), {"name": named(number), "next": form(found["next"]), "other": form(found["other"])}
  return rows


def many(members):
  """Two sides, each object of which has so many of the other side."""
  def rows(count, randoms):
    lefts = max(count // 2, members + 1)
    for side, other, start, to in [("Left", "rights", 1, lefts + 1), ("Right", "lefts", lefts + 1, 1)]:
      for number in range(lefts):
        sign = 1 if side == "Left" else -1
        found = sorted((number + sign * n * 17) % lefts + to for n in range(members))
        yield side, f"z{start + number}", {"name": named(number), other: " ".join(f"z{n}" for n in dict.fromkeys(found))}
  return Shape([("Left", None, [("name", "String")], [("rights", "Right", 0, False, "lefts")]),
                ("Right", None, [("name", "String")], [("lefts", "Left", 0, False, "rights")])], rows)


def text_rows(count, randoms):
  for number in range(max(count // 10, 1)):
    accent = "é – “quoted” " if number % 2 else ""
    yield "Note", f"z{number + 1}", {"text": escaped((accent + named(number) + " ") * (2000 // (len(accent) + 20)))}


def pictures(size, share):
  """One picture of so many bytes for each so many objects."""
  def rows(count, randoms):
    for number in range(max(count // share, 1)):
      yield "Picture", f"z{number + 1}", {"data": blob(size, randoms), "name": named(number)}
  return Shape([("Picture", None, [("data", "Binary"), ("name", "String")], [])], rows)


SHAPES = {
  "company": COMPANY, "entities": entities(500), "deep": DEEP, "wide": Shape([("Row", None, COLUMNS, [])], wide_rows(100)),
  "nulls": Shape([("Row", None, COLUMNS, [])], wide_rows(5)), "hub": HUB, "shuffled": Shape(LINKED, shuffled_rows),
  # The same graph twice: only the references differ.
  "integers": Shape(LINKED, linked_rows(lambda n: f"z{n + 1}")),
  "strings": Shape(LINKED, linked_rows(lambda n: f"skey-{n:09}")),
  "manymany": many(20), "texts": Shape([("Note", None, [("text", "String")], [])], text_rows),
  "binaries": pictures(250_000, 500), "foreign": None,
}


def foreign(count, path, randoms):
  with open(path, "w", encoding="utf-8", newline="\n", buffering=1 << 20) as file:
    file.write("code,name,city,amount,since\n")
    for number in range(count):
      file.write(f"C{number:08},{named(number)},\"{WORDS[number % 12]}, {WORDS[number % 7]}\",{number % 9999}.25,"
                 f"{1990 + number % 30}-{number % 12 + 1:02}-{number % 28 + 1:02}\n")


if __name__ == "__main__":
  name, count, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
  randoms = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
  if name == "foreign":
    foreign(count, path, randoms)
  else:
    write(SHAPES[name], count, path, randoms)
