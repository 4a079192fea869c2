import Foundation
import TestSupport
import Testing

/// Formats as programs that speak Arrow: the samples `columns.py`, and `tabular.py` with `arrowtables.py` beside it.
@Suite("Formats as programs over Arrow") struct ProgramTableTests {
  static let hasPython = ProgramFormatTests.has("python3")
  static let hasArrow =
    (try? Command.run(arguments: ["-c", "python3 -c 'import pyarrow'"], program: "/bin/sh").code) == 0
  private static let samples = Command.samples + "/Programs/"

  /// A copy of the samples, of which one has other encodings.
  ///
  /// - Parameter isAlone: Whether `arrowtables.py` is missing.
  static func folder(_ sample: String, _ encodings: String, isAlone: Bool = false) throws -> Folder {
    let folder = try Folder()
    for name in ["tabular.py", "columns.py"] + (isAlone ? [] : ["arrowtables.py"]) {
      var text = try String(contentsOfFile: samples + name, encoding: .utf8)
      if name == sample {
        let lines = text.components(separatedBy: "\n")
        let line = try #require(lines.first { $0.hasPrefix("    encodings = ") })
        text = text.replacing(line, with: "    encodings = \(encodings)")
      }
      try ProgramFormatTests.write(text, to: folder(name))
    }
    return folder
  }

  private static func roundTrip(_ folder: String, _ sample: String, _ store: String) throws {
    let name = "c." + sample.dropLast(3)
    for arguments in [["convert", store, name], ["diff", store, name], ["convert", name, "again.xml"]] {
      let result = try Command.run(arguments: arguments + ["--plugin", "./" + sample], in: folder)
      #expect(result.code == 0, "\(arguments): \(result.output) \(result.errors)")
    }
  }

  @Test("streams pass through a program without pyarrow", .enabled(if: hasPython, "python3 is not on this machine"))
  func passes() throws {
    let folder = try Self.folder("columns.py", #"["arrow"]"#, isAlone: true)
    try Self.roundTrip(folder.path, "columns.py", Command.company)
    guard ProgramFormatTests.checked.contains("columns") else { return }
    let checked = try Command.run(
      "conform", "--smoke", "--type", "Columns", "--plugin", "./columns.py", in: folder.path)
    #expect(checked.code == 0, "\(checked.output)")
  }

  @Test(
    "a class that speaks Arrow gets JSON where arrowtables.py or pyarrow is missing",
    .enabled(if: hasPython, "python3 is not on this machine"))
  func alone() throws {
    let folder = try Self.folder("tabular.py", #"["json", "arrow"]"#, isAlone: true)
    try Self.roundTrip(folder.path, "tabular.py", Command.company)
  }

  @Test(
    "a format has equal graphs over JSON and over Arrow", .enabled(if: hasArrow, "pyarrow is not on this machine"),
    arguments: ["tabular.py", "columns.py"])
  func equal(_ sample: String) throws {
    let json = try Self.folder(sample, #"["json"]"#)
    let arrow = try Self.folder(sample, #"["json", "arrow"]"#)
    let suffix = sample.dropLast(3)
    for folder in [json.path, arrow.path] { try Self.roundTrip(folder, sample, Command.company) }
    // What one encoding wrote is read over the other one.
    for (folder, other) in [(json.path, arrow.path), (arrow.path, json.path)] {
      let crossed = try Command.run(
        "diff", Command.company, "\(folder)/c.\(suffix)", "--plugin", "./" + sample, in: other)
      #expect(crossed.code == 0, "\(crossed.output) \(crossed.errors)")
    }
    let texts = try [json("again.xml"), arrow("again.xml")].map { try Data(contentsOf: URL(filePath: $0)) }
    #expect(texts[0] == texts[1])
  }

  @Test(
    "every kind of value, reference, relationship, metadata and model passes through the tables of objects",
    .enabled(if: hasArrow, "pyarrow is not on this machine"),
    arguments: [("tabular.py", "Tabular", #"["json", "arrow"]"#), ("columns.py", "Columns", #"["json"]"#)])
  func conforms(_ sample: String, _ type: String, _ encodings: String) throws {
    let folder = try Self.folder(sample, encodings)
    // Each starts Python for every value: minutes.
    let ids = ["VAL-38", "VAL-39", "REF-18", "SCH-10", "SCH-16", "HOS-19"].share(of: "checks of \(sample)")
    let checked = try Command.run(
      arguments: ["conform", "--type", type, "--plugin", "./" + sample] + ids.flatMap { ["--only", $0] },
      in: folder.path)
    #expect(checked.code == 0 && checked.output.contains("\(ids.count) passed"), "\(checked.output)")
  }

  @Test(
    "a stream with other columns or values is an error with its entity and property, and never endless",
    .enabled(if: hasArrow, "pyarrow is not on this machine"),
    arguments: [
      ("id=[1.5]", "A None"), ("id=['other:x']", "A None"), ("one=[1.5]", "A one"), ("one=['x']", "A one"),
      ("many=[[None, 1]]", "A many"), ("many=[3]", "A many"), ("uuid=[b'abc']", "A uuid"), ("more=[1]", "A None"),
      ("name=None", "A None"), ("twice=True", "A None"), ("name=['x']", "1 object"),
    ])
  func differs(_ change: String, _ expected: String) throws {
    let script = """
      import pyarrow, sys
      sys.path.insert(0, sys.argv[1])
      from arrowtables import Tables
      from tabular import StoreError
      kinds = [("name", "attribute", "String"), ("one", "toOne", None), ("many", "toMany", None), ("uuid", "attribute", "UUID")]
      slots = [{"name": n, "kind": k, "type": t} if t else {"name": n, "kind": k} for n, k, t in kinds]
      columns = {"id": [1], "name": ["y"], "one": [1], "many": [[1]], "uuid": [None], **dict(\(change))}
      twice = ["name"] if columns.pop("twice", False) else []
      names = [name for name in columns if columns[name] is not None] + twice
      table = pyarrow.Table.from_arrays([pyarrow.array(columns[name]) for name in names], names=names)
      target = pyarrow.BufferOutputStream()
      with pyarrow.ipc.new_stream(target, table.schema) as writer:
        writer.write_table(table)
      tables = Tables([{"name": "A", "super": None, "properties": slots}], StoreError)
      try:
        print(len(list(tables.objects([("A", target.getvalue().to_pybytes(), 1)]))), "object")
      except StoreError as error:
        print(error.answer.get("entity"), error.answer.get("property"))
      """
    let output = try ChildProcess.output(of: "timeout", ["60", "python3", "-c", script, Self.samples])
    #expect(output == expected + "\n")
  }

  @Test(
    "a value that a column cannot have is an error with its object and line",
    .enabled(if: hasArrow, "pyarrow is not on this machine"),
    arguments: [
      (#""badge":1001"#, #""badge":4000000000"#), (#""badge":1001"#, #""badge":"one""#),
      (#""height":"float:"#, #""height":"flat:"#), (#""active":true"#, #""active":1"#),
    ])
  func invalid(_ old: String, _ new: String) throws {
    let folder = try Self.folder("tabular.py", #"["json", "arrow"]"#)
    let made = try Command.run("convert", Command.company, "c.tabular", "--plugin", "./tabular.py", in: folder.path)
    #expect(made.code == 0, "\(made.errors)")
    let text = try String(contentsOfFile: folder("c.tabular"), encoding: .utf8)
    let lines = text.components(separatedBy: "\n")
    let number = try #require(lines.firstIndex { $0.contains(old) && $0.hasPrefix("{\"entity\"") })
    try text.replacing(old, with: new, maxReplacements: 1)
      .write(toFile: folder("c.tabular"), atomically: false, encoding: .utf8)
    let error = try Command.run("inspect", "c.tabular", "--json", "--plugin", "./tabular.py", in: folder.path).error()
    #expect(error["code"] as? String == "invalidValue" && error["line"] as? Int == number + 1, "\(error)")
    #expect(error["entity"] as? String == "Employee" && error["property"] != nil, "\(error)")
  }
}
