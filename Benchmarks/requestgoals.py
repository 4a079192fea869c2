"""What requests and changes cost, beside what other programs need for the same on the same data: `Benchmarks/run --work requests`.

All stores are the company of shapes.py. Each row has two processes, measured in turns, and the greatest ratio of their processor times that is wanted, each
without a start of its program, which opens the same database where there is one. The other process is sqlite3 on the same SQLiteGraph file, psql on the same PostgreSQL schema, DuckDB or pyarrow on a file with
the same rows, or the command itself with work that the request must not exceed by much. With psql, what the server does for either counts, too.
"""

import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import namedtuple

import shapes

# Of a row: its name, the arguments of the command, those of the other process, the name of that, the greatest ratio; what each run needs: a file
# that is removed, or one that is copied first; whether both open one database; and the greatest peak of the command in MB.
Row = namedtuple("Row", "name ours other peer goal removes copies shares megabytes", defaults=(None, None, True, None))
# The attributes whose values every reader of NDJSON and CSV takes.
PLAIN = "active,badge,hired,name,rating,salary,title"
DUCKDB = "import duckdb,sys; c = duckdb.connect(sys.argv[1], config={'threads': 1}); c.execute(sys.argv[2]).fetchall()"
PYARROW = "import pyarrow as pa, pyarrow.json,sys; pa.set_cpu_count(1); pa.set_io_thread_count(1); print(pyarrow.json.read_json(sys.argv[1]).num_rows)"
# What a peer takes to start, which is not part of its work.
STARTS = {
  "sqlite3": lambda files: ["sqlite3", files.graph, "select 1"],
  "psql": lambda files: ["psql", "-Atc", "select 1", files.url.partition("?")[0]],
  "DuckDB": lambda files: [sys.executable, "-c", DUCKDB, files.duckdb, "select 1"],
  "pyarrow": lambda files: [sys.executable, "-c", PYARROW, files.one],
}
# The same of the command, where the peer's start opens the database that both ask; elsewhere it is that of the command alone.
OUR_STARTS = {
  "sqlite3": lambda files: ["fetch", files.graph, "--entity", "Department", "--limit", "0", "--count"],
  "psql": lambda files: ["fetch", files.url, "--entity", "Department", "--limit", "0", "--count"],
}
# How identity and one change may grow, which depend on no other object. Measured by growth-guard, in one process with an open store.
CONSTANT = 0.1
# For fewer objects a count takes no longer than some requests.
IDENTITY_OBJECTS = 1_000_000
HELD_GOAL = 2
BYTES_GOAL = 500


class Missing(Exception):
  """A peer that was asked for and is not there."""


def peers(url):
  """The peers that a run measures, or Missing."""
  wanted = ["sqlite3", "DuckDB", "pyarrow"] + (["psql"] if url else [])
  for peer in wanted:
    found = (subprocess.run([sys.executable, "-c", f"import {peer.lower()}"], capture_output=True).returncode == 0 if peer in ("DuckDB", "pyarrow")
             else shutil.which(peer) is not None)
    if not found: raise Missing(f"{peer} is not installed (Debian: sqlite3, postgresql-client; pip: duckdb, pyarrow)")
  return wanted


class Server:
  """The processor time of a PostgreSQL server on this machine: what its processes that have ended took."""

  def __init__(self, url):
    try:
      folder = subprocess.run(["psql", "-Atc", "show data_directory", url.partition("?")[0]], capture_output=True, text=True, check=True).stdout.strip()
      with open(os.path.join(folder, "postmaster.pid")) as file: self.process = int(file.readline())
      self.seconds()
    except (OSError, ValueError, subprocess.CalledProcessError):
      raise Missing("the processor time of the server of --url cannot be read: it has to run on this machine") from None

  def seconds(self):
    with open(f"/proc/{self.process}/stat") as file: fields = file.read().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")

  def connections(self):
    """The processes that are not the server's own, which were there when it began to accept connections."""
    with open(f"/proc/{self.process}/task/{self.process}/children") as file: return set(file.read().split())

  def during(self, body):
    """What a function returns, and the time that the server took for it."""
    known, before = self.connections(), self.seconds()
    result = body()
    for _ in range(100):
      if self.connections() <= known: break
      time.sleep(0.02)
    return result, self.seconds() - before


class Files:
  """The stores of one size, and their copies for peers."""

  def __init__(self, folder, count, options):
    path = lambda name: os.path.join(folder, name)
    call = lambda *arguments, **more: subprocess.run([options.command, *arguments], check=True, **more)
    self.url, self.out = options.url, path("out")
    self.plist, self.graph, self.lines, self.changed = path("c.plist"), path("c.sqlgraph"), path("c.ndjson"), path("d.plist")
    self.model, self.duckdb, self.one = path("more.xcdatamodel"), path("c.duckdb"), path("one.ndjson")
    shapes.apart(shapes.write, shapes.COMPANY, count, path("c.xml"), random.Random(options.seed))
    call("convert", path("c.xml"), self.plist)
    os.remove(path("c.xml"))
    call("convert", self.plist, self.graph)
    if self.url:
      call("convert", self.plist, self.url, "--force")
      # As the server does by itself within a minute.
      subprocess.run(["psql", "-qc", "vacuum analyze", self.url.partition("?")[0]], check=True)
    call("set", self.plist, "--entity", "Employee", "--where", "rating > 12", "title:=changed", "-o", self.changed)
    with open(self.lines, "wb") as file: call("fetch", self.plist, "--entity", "Employee", "--columns", PLAIN, "--format", "ndjson", stdout=file)
    with open(self.lines, "rb") as file, open(self.one, "wb") as one: one.write(file.readline())
    # Xcode's model of the store, with one attribute more.
    call("model", "convert", self.plist, self.model)
    contents = os.path.join(self.model, "contents")
    with open(contents) as file: text = file.read()
    head = re.search('<entity name="Employee"[^>]*>', text).group()
    with open(contents, "w") as file: file.write(text.replace(head, head + '<attribute name="level" optional="YES" attributeType="Integer 64"/>'))
    tables = ""
    for name, store in [("a", self.plist), ("b", self.changed)]:
      sheet = path(name + ".csv")
      with open(sheet, "wb") as file: call("fetch", store, "--entity", "Employee", "--columns", PLAIN, "--format", "csv", stdout=file)
      tables += f"create table {name} as select * from read_csv('{sheet}'); "
    subprocess.run([sys.executable, "-c", DUCKDB, self.duckdb, tables], check=True)


def rows(files):
  """What is measured, of stores of one size."""
  fetch = lambda store, *more, entity="Employee": ["fetch", store, "--entity", entity, *more]
  sql = lambda text, *options: ["sqlite3", *options, files.graph, text]
  duck = lambda text: [sys.executable, "-c", DUCKDB, files.duckdb, text]
  graph, plist, out = files.graph, files.plist, files.out
  groups = ["--group", "department.name", "--columns", "department.name,sum:(badge)"]
  any_of = ["--where", "ANY employees.badge > 999000", "--count"]
  dollars = "cast(salary as real) > 5000"
  joined = "join {0}\"Department\" d on d.id = e.department"
  table = [
    Row("SQLiteGraph: count of a decimal", fetch(graph, "--where", "salary > 5000", "--count"), sql(f'select count(*) from "Employee" where {dollars}'), "sqlite3", 2),
    Row("SQLiteGraph: ten rows sorted by a decimal", fetch(graph, "--sort", "salary", "--limit", "10"),
        sql('select * from "Employee" order by cast(salary as real) limit 10'), "sqlite3", 2),
    Row("SQLiteGraph: sums by a relationship", fetch(graph, *groups),
        sql(f'select d.name, sum(e.badge) from "Employee" e {joined.format("")} group by d.name'), "sqlite3", 3),
    Row("SQLiteGraph: ANY", fetch(graph, *any_of, entity="Department"),
        sql('select count(*) from "Department" d where exists (select 1 from "Employee" e where e.department = d.id and e.badge > 999000)'), "sqlite3", 3),
    Row("SQLiteGraph: all rows as CSV", fetch(graph, "--format", "csv"), sql('select * from "Employee"', "-csv"), "sqlite3", 1.2, megabytes=64),
    Row("set of all: property list", ["set", plist, "--entity", "Employee", "--all", "rating=rating+1", "-o", out + ".plist"],
        ["convert", plist, out + "2.plist"], "its load and save", 2.5, removes=(out + ".plist", out + "2.plist")),
    Row("set of all: SQLiteGraph", ["set", out + ".sqlgraph", "--entity", "Employee", "--all", "rating=rating+1"],
        ["sqlite3", out + "2.sqlgraph", 'update "Employee" set rating = rating + 1'], "sqlite3", 3,
        copies=((graph, out + ".sqlgraph"), (graph, out + "2.sqlgraph"))),
    Row("batch update: property list", ["set", out + ".plist", "--entity", "Employee", "--all", "rating=rating+1"],
        ["sqlite3", out + "2.sqlgraph", 'update "Employee" set rating = rating + 1'], "sqlite3", 1.5,
        copies=((plist, out + ".plist"), (graph, out + "2.sqlgraph")), shares=False),
    Row("diff --key", ["diff", plist, files.changed, "--key", "Employee=badge", "--quiet"],
        duck("select count(*) from a join b using (badge) where a is distinct from b"), "DuckDB", 2),
    Row("merge of two", ["merge", plist, files.changed, "--match", "reference", "--on-conflict", "first", "-o", out + ".plist"],
        ["diff", plist, files.changed, "--quiet"], "diff", 6, removes=(out + ".plist",)),
    Row("migrate, an attribute added", ["migrate", plist, "--model", files.model, "-o", out + ".plist"],
        ["convert", plist, out + "2.plist"], "its load and save", 2, removes=(out + ".plist", out + "2.plist")),
    Row("--group of a unique text", fetch(plist, "--group", "name", "--columns", "name,@count", "--count"),
        duck("select count(*) from (select name, count(*) from a group by name)"), "DuckDB", 2),
    Row("--distinct", fetch(plist, "--columns", "name", "--distinct", "--count"), duck("select count(*) from (select distinct name from a)"), "DuckDB", 2),
    Row("inspect --stats", ["inspect", plist, "--stats"], duck("summarize a"), "DuckDB", 2),
    Row("NDJSON in", ["import", "Employee=" + files.lines, "-o", out + ".plist"], [sys.executable, "-c", PYARROW, files.lines], "pyarrow", 1.2, removes=(out + ".plist",)),
    Row("NDJSON out", fetch(plist, "--columns", PLAIN, "--format", "ndjson"),
        duck(f"copy (select {PLAIN} from a) to '{out}.ndjson' (format json)"), "DuckDB", 1.5),
    Row("MATCHES", fetch(plist, "--where", "name MATCHES '.*r[a-e]+m.*7'", "--count"),
        duck("select count(*) from a where regexp_full_match(name, '.*r[a-e]+m.*7')"), "DuckDB", 3),
  ]
  if files.url:
    name, _, schema = files.url.partition("?schema=")
    psql = lambda text: ["psql", "-Atc", f'set search_path to "{schema or "public"}"; ' + text, name]
    table += [
      Row("PostgreSQL: count of a decimal", fetch(files.url, "--where", "salary > 5000", "--count"),
          psql('select count(*) from "Employee" where cast(salary as numeric) > 5000'), "psql", 2),
      Row("PostgreSQL: ten rows sorted by a decimal", fetch(files.url, "--sort", "salary", "--limit", "10"),
          psql('select * from "Employee" order by cast(salary as numeric) limit 10'), "psql", 2),
      Row("PostgreSQL: sums by a relationship", fetch(files.url, *groups),
          psql(f'select d.name, sum(e.badge) from "Employee" e {joined.format("")} group by d.name'), "psql", 2),
      Row("PostgreSQL: ANY", fetch(files.url, *any_of, entity="Department"),
          psql('select count(*) from "Department" d where exists (select 1 from "Employee" e where e.department = d.id and e.badge > 999000)'), "psql", 2),
      Row("PostgreSQL: all rows as CSV", fetch(files.url, "--format", "csv"), psql('copy "Employee" to stdout (format csv)'), "psql", 2),
    ]
  return table


def renewed(row):
  for path in row.removes or (): shutil.rmtree(path) if os.path.isdir(path) else os.path.exists(path) and os.remove(path)
  for source, copy in row.copies or (): shutil.copyfile(source, copy)


def measure(row, command, rounds, starts, measured, server):
  """The least processor times of both processes, without their starts, and the peak of the command in MB."""
  best = [None, None]
  times = [0, 0]
  keys = [(row.peer, "ours") if row.shares else None, row.peer]
  # The clock of the server's processes is coarse: the mean of many rounds.
  if row.peer == "psql": rounds = max(rounds, 20)
  for _ in range(rounds):
    renewed(row)
    for which, argv in enumerate([[command, *row.ours], [command, *row.other] if row.peer not in STARTS else row.other]):
      # A difference that is found does not make the run fail.
      accepted = (0, 1) if argv[1] == "diff" else (0,)
      start = starts.get(keys[which], starts[None])
      body = lambda: measured(argv, 1, start, accepted=accepted)
      found, more = server.during(body) if row.peer == "psql" else (body(), 0)
      times[which] += more
      best[which] = found if best[which] is None else min(best[which], found)
  ours, theirs = [best[which][0] + max(times[which] / rounds - starts.get((keys[which], "server"), 0), 0) for which in (0, 1)]
  return ours, theirs, best[0][2]


def steps(guard, rounds, *arguments):
  """What growth-guard measures in one process: by name, the least."""
  found = {}
  for _ in range(rounds):
    lines = subprocess.run([guard, *arguments], check=True, capture_output=True, text=True).stdout.splitlines()
    for name, value in (line.split("\t") for line in lines): found[name] = min(found.get(name, math.inf), float(value))
  return found


def guard_program(options):
  """The program that measures in one process, or Missing."""
  guard = os.path.join(os.path.dirname(options.command), "growth-guard")
  if not os.path.exists(guard): raise Missing(f"{guard} is not built: swift build -c release")
  return guard


def open_stores(files, count, guard, rounds):
  """What requests and saves take in an open store: by row, its value, what it is compared with and that value, and the greatest ratio."""
  table = {}
  for kind, store in [("BinaryPropertyList", files.plist), ("SQLiteGraph", files.graph)]:
    found = steps(guard, rounds, "identity", kind, store)
    goal = 0.01 if count >= IDENTITY_OBJECTS else math.inf
    for name in ("SELF ==", "SELF IN", "--reference"): table[f"{kind}: {name}"] = found[name], "a count of all rows", found["count of all"], goal
  copy = files.out + "3.sqlgraph"
  shutil.copyfile(files.graph, copy)
  found = steps(guard, rounds, "saves", "SQLiteGraph", copy)
  table["SQLiteGraph: one change saved, all objects held"] = found["save, all held"], "ten held", found["save, ten held"], HELD_GOAL
  os.remove(copy)
  return table


def measure_open_stores(files, count, guard, rounds, times, missed):
  """Prints a table, and adds the times and what was missed."""
  print("\n| In an open store | ms | beside | ms | ratio | goal |\n|---|---:|---|---:|---:|---:|")
  for name, (ours, other, theirs, goal) in open_stores(files, count, guard, rounds).items():
    times.setdefault(name, []).append(ours * 1e6)
    ratio = ours / theirs
    print(f"| {name} | {ours * 1000:.4f} | {other} | {theirs * 1000:.4f} | {ratio:.4f} | {'–' if goal == math.inf else goal} |", flush=True)
    if ratio > goal: missed.append(f"{count} objects, {name}: {ratio:.3f} of {other}, more than {goal}")
  path = files.out + "4.plist"
  each = steps(guard, 1, "insertion", str(count), path)["inserted and saved, bytes"]
  os.remove(path)
  print(f"\nan object inserted and saved takes {each:.0f} bytes at the peak; goal {BYTES_GOAL}", flush=True)
  if each > BYTES_GOAL: missed.append(f"{count} objects: one that is inserted and saved takes {each:.0f} bytes, more than {BYTES_GOAL}")


def run(options, sizes, measured, exponent, greatest):
  """Prints a table for each size, and the exponents. Returns what was missed."""
  found, constant, missed = {}, {}, []
  kinds, guard = set(peers(options.url)), guard_program(options)
  server = Server(options.url) if options.url else None
  for count in sizes:
    with tempfile.TemporaryDirectory(prefix="atomicstore-requests-") as folder:
      files = Files(folder, count, options)
      starts = {peer: measured(STARTS[peer](files), 5)[0] for peer in kinds}
      starts[None] = measured([options.command, "--version"], 5)[0]
      for peer in OUR_STARTS.keys() & kinds: starts[peer, "ours"] = measured([options.command, *OUR_STARTS[peer](files)], 5)[0]
      if server:
        for key, argv in [("psql", STARTS["psql"](files)), (("psql", "ours"), [options.command, *OUR_STARTS["psql"](files)])]:
          starts[key, "server"] = server.during(lambda: measured(argv, 20))[1] / 20
      print(f"\n{count} objects\n\n| Work | s, MB | beside | s | ratio | goal |\n|---|---:|---|---:|---:|---:|")
      for row in rows(files):
        ours, theirs, memory = measure(row, options.command, options.rounds, starts, measured, server)
        found.setdefault(row.name, []).append(ours)
        ratio = ours / theirs
        print(f"| {row.name} | {ours:.3f}, {memory} | {row.peer} | {theirs:.3f} | {ratio:.2f} | {row.goal} |", flush=True)
        if ratio > row.goal: missed.append(f"{count} objects, {row.name}: {ratio:.2f} of {row.peer}, more than {row.goal}")
        if row.megabytes and memory > row.megabytes: missed.append(f"{count} objects, {row.name}: {memory} MB, more than {row.megabytes}")
      measure_open_stores(files, count, guard, max(1, options.rounds // 4), constant, missed)
  if len(sizes) > 1:
    print("\nexponents")
    for table, limit in [(found, greatest), (constant, CONSTANT)]:
      for name, times in table.items():
        slope = exponent(sizes, times)
        print(f"  {name}: {slope:.2f}")
        if slope > limit: missed.append(f"{name} grows with the exponent {slope:.2f}, at most {limit:.2f} is wanted")
  return missed
