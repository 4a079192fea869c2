import ArrowTables
import Foundation
import Testing

@Suite("atomicstore fetch --format arrow") struct ArrowCommandTests {
  /// A Python with pyarrow; nil if there is none.
  static let python: String? = {
    let name = ProcessInfo.processInfo.environment["ATOMICSTORE_PYTHON"] ?? "python3"
    let probe = try? Command.run(
      arguments: ["-c", "\(name) -c 'import pyarrow'"], program: "/bin/sh")
    return probe?.code == 0 ? name : nil
  }()

  /// The file that a fetch writes.
  private static func fetched(_ arguments: String...) throws -> (schema: ArrowSchema, batches: [[ArrowArray]], Data) {
    let folder = try Folder()
    let path = folder("out.arrow")
    let result = try Command.run(
      arguments: ["fetch", Command.company, "--entity", "Employee", "--format", "arrow", "-o", path] + arguments)
    #expect(result.code == 0, "\(result.errors)")
    // The arrays point into the file: keep it as long as they are used.
    let data = try Data(contentsOf: URL(filePath: path))
    let file = try data.withUnsafeBytes { try ArrowFile($0) }
    return (file.schema, file.batches.map(\.columns), data)
  }

  @Test("columns have the types of the model, and each entity is a batch")
  func types() throws {
    let (schema, batches, data) = try Self.fetched("--columns", "*")
    withExtendedLifetime(data) {
      let types = Dictionary(uniqueKeysWithValues: schema.fields.map { ($0.name, $0.type.name) })
      #expect(types["objectID"] == "int64")
      #expect(types["objectIDEntity"] == "utf8")
      #expect(types["badge"] == "int32")
      #expect(types["hired"] == "timestamp(microsecond, UTC)")
      #expect(types["department"] == "int64")
      #expect(types["projects"] == "list<int64>")
      #expect(batches.map { $0.first?.count } == [4, 2])
    }
  }

  @Test(
    "a result has one schema, whatever the store, the order and the rows: what the model says",
    arguments: [
      ([], "Employee", "name"), (["--no-subentities"], "Employee", "name"), ([], "Department", "name"),
      (["--columns", "SELF,badge,height,department.name,department.floor,projects,photo"], "Employee", "name"),
      ([], "Project", "title"),
    ])
  func oneSchema(_ columns: [String], _ entity: String, _ key: String) throws {
    let folder = try Folder()
    #expect(try Command.run("convert", Command.company, folder("c.sqlgraph")).code == 0)
    func schema(_ store: String, _ arguments: [String]) throws -> ArrowSchema {
      let path = folder("out.arrow")
      let result = try Command.run(
        arguments: ["fetch", store, "--entity", entity, "--format", "arrow", "-o", path, "--force"] + columns
          + arguments)
      #expect(result.code == 0, "\(result.errors)")
      return try Data(contentsOf: URL(filePath: path)).withUnsafeBytes { try ArrowFile($0) }.schema
    }
    let whole = try schema(Command.company, [])
    for store in [Command.company, folder("c.sqlgraph")] {
      for arguments in [[], ["--sort", key], ["--sort", "-" + key], ["--sort", key, "--distinct"]] {
        #expect(try schema(store, arguments) == whole, "\(store) \(arguments)")
      }
      // How decimals and dates are written depends on the values.
      for arguments in [["--limit", "1"], ["--limit", "0"], ["--where", "\(key) == '?'"]] {
        let some = try schema(store, arguments)
        #expect(some.fields.map(\.name) == whole.fields.map(\.name), "\(store) \(arguments)")
        for (field, expected) in zip(some.fields, whole.fields)
        where !["Decimal", "Date"].contains(field.metadata(ArrowKey.type)) {
          #expect(field == expected, "\(field.name): \(store) \(arguments)")
        }
      }
    }
  }

  @Test("values are the same whether rows come from columns or one by one")
  func sameValues() throws {
    let folder = try Folder()
    #expect(try Command.run("convert", Command.company, folder("c.sqlgraph")).code == 0)
    func bytes(_ store: String) throws -> Data {
      try Command.run(
        "fetch", store, "--entity", "Employee", "--no-subentities", "--sort", "badge", "--format", "arrow"
      )
      .data
    }
    #expect(try bytes(Command.company) == bytes(folder("c.sqlgraph")))
  }

  @Test("predicate, order, limit and columns are those of the request")
  func rows() throws {
    let folder = try Folder()
    func numbers(_ arguments: String...) throws -> [Int64] {
      let path = folder("rows.arrow")
      let result = try Command.run(
        arguments: [
          "fetch", Command.company, "--entity", "Employee", "--no-subentities", "--format", "arrow", "-o", path,
          "--force", "--columns", "badge",
        ] + arguments)
      #expect(result.code == 0, "\(result.errors)")
      return try Data(contentsOf: URL(filePath: path)).withUnsafeBytes { raw in
        try ArrowFile(raw).batches.flatMap { batch in
          (0..<batch.count).map { Int64(batch.columns[0].values.loadUnaligned(fromByteOffset: $0 * 4, as: Int32.self)) }
        }
      }
    }
    let all = try numbers("--sort", "-badge")
    #expect(all == all.sorted(by: >) && all.count == 4)
    #expect(try numbers("--where", "badge == 1001") == [1001])
    #expect(try numbers("--sort", "-badge", "--limit", "2") == Array(all.prefix(2)))
    #expect(try numbers("--limit", "0") == [])
    #expect(try numbers("--where", "badge == -5") == [])
  }

  @Test("groups and expressions have the types of their values")
  func groups() throws {
    let (schema, batches, data) = try Self.fetched(
      "--group", "department.name", "--columns", "department.name,@count AS number,average:(rating) AS mean")
    withExtendedLifetime(data) {
      #expect(schema.fields.map(\.type.name) == ["utf8", "int64", "double"])
      #expect(batches.map { $0.map(\.count) } == [[2, 2, 2]])
    }
  }

  @Test("-o replaces nothing without --force, and is refused for other formats")
  func output() throws {
    let folder = try Folder()
    let path = folder("out.arrow")
    try Data("kept".utf8).write(to: URL(filePath: path))
    let arguments = ["fetch", Command.company, "--entity", "Employee", "-o", path]
    #expect(try Command.run(arguments: arguments + ["--format", "arrow"]).code == 73)
    #expect(try String(contentsOf: URL(filePath: path), encoding: .utf8) == "kept")
    #expect(try Command.run(arguments: arguments + ["--format", "csv"]).code == 64)
    #expect(folder.names == ["out.arrow"])
  }

  @Test("a stream and a file have the same rows, and equal results are equal bytes")
  func forms() throws {
    let stream = try Command.run("fetch", Command.company, "--entity", "Project", "--format", "arrow")
    #expect(stream.code == 0)
    #expect(stream.data.starts(with: [0xFF, 0xFF, 0xFF, 0xFF]))
    #expect(stream.data == (try Command.run("fetch", Command.company, "--entity", "Project", "--format", "arrow").data))
  }

  @Test("pyarrow reads what is written, and what it writes is read", .enabled(if: python != nil, "needs pyarrow"))
  func pyarrow() throws {
    let folder = try Folder()
    #expect(try Command.run("convert", Command.company, folder("Company.arrowstore")).code == 0)
    let script = """
      import glob, os, sys
      import pyarrow as pa
      for path in glob.glob(os.path.join(sys.argv[1], "*.arrow")):
          table = pa.ipc.open_file(path).read_all()
          table.validate(full=True)
          with pa.ipc.new_file(path + ".new", table.schema) as writer:
              writer.write_table(table, max_chunksize=2)
          os.replace(path + ".new", path)
      rows = pa.ipc.open_stream(sys.stdin.buffer).read_all()
      rows.validate(full=True)
      print(rows.num_rows, rows.schema.field("hired").type, rows.column("badge").to_pylist()[:2])
      """
    let stream = try Command.run("fetch", Command.company, "--entity", "Employee", "--format", "arrow")
    let python = try #require(Self.python)
    let result = try Command.run(
      arguments: ["-c", "exec \(python) -c \"$1\" \"$2\"", "sh", script, folder("Company.arrowstore")],
      input: stream.data, program: "/bin/sh")
    #expect(result.output == "6 timestamp[us, tz=UTC] [1001, 1002]\n", "\(result.errors)")
    let difference = try Command.run("diff", Command.company, folder("Company.arrowstore"))
    #expect(difference.code == 0, "\(difference.output)\(difference.errors)")
  }
}
