import Foundation
import Testing

@Suite("What the command says to mistakes") struct MistakeTests {
  /// What was typed after `atomicstore`, in a shell; the exit code; and what the error must contain: what to type.
  struct Mistake: Sendable, CustomTestStringConvertible {
    var line: String
    var code: Int32
    var words: [String]
    var testDescription: String { line }

    init(_ line: String, _ code: Int32, _ words: String...) {
      self.line = line
      self.code = code
      self.words = words
    }
  }

  /// Arguments that are missing, unknown, or too many.
  static let usage = [
    Mistake(
      "fetch Company.xml", 64, "missing option: --entity <entity>", "Department, Employee", "'atomicstore fetch --help'"
    ),
    Mistake("fetch Company.xml employee", 64, "write --entity Employee"),
    Mistake("fetch Company.xml --entity", 64, "--entity needs a value", "Department, Employee"),
    Mistake("fetch Company.xml --entities Employee", 64, "unknown option '--entities'; did you mean '--entity'?"),
    Mistake("fetch --entity Employee", 64, "missing argument: <store>"),
    Mistake("fetch", 64, "missing option: --entity"),
    Mistake("fetch Company.xml --entity Emploee", 64, "did you mean 'Employee'?"),
    Mistake("fetch Company.xml --entity Employee --jsno", 64, "did you mean '--json'?"),
    Mistake("fetch Company.xml --table Employee", 64, "did you mean '--entity'?"),
    Mistake("fetch Company.xml --entity Employee --filter 'salary > 5'", 64, "did you mean '--where'?"),
    Mistake(
      "fetch Company.xml --entity Employee --format xml", 64, "--format: 'xml' is not one of table, vertical, csv"),
    Mistake("fetch Company.xml --entity Employee --format jsn", 64, "did you mean 'json'?"),
    Mistake("fetch Company.xml --entity Employee --limit ten", 64, "--limit: 'ten' is not a whole number"),
    Mistake("fetch Company.xml --entity Employee --limit", 64, "--limit needs a value, the maximum number of rows"),
    Mistake("fetch Company.xml --entity Employee -o out.csv", 64, "--format csv > FILE"),
    Mistake("fetch Company.xml --entity Employee --columns name salary", 64, #"--columns "name,salary""#),
    Mistake("set Company.xml salary=3", 64, "missing option: --entity <entity>", "Department, Employee"),
    Mistake("set Company.xml --entity Employee --all", 64, "missing argument: <values>", "PROPERTY:=TEXT"),
    Mistake("set Company.xml --entity Employee salary=3", 64, "--where", "--all"),
    Mistake("delete Company.xml --entity Employee", 64, "--where", "--all"),
    Mistake("delete Company.xml --where 'salary > 5'", 64, "missing option: --entity <entity>", "Employee"),
    Mistake("insert lib.xml title:=x", 64, "missing option: --entity <entity>", "Author, Book, Loan"),
    Mistake("convert Company.xml", 64, "missing argument: <target>"),
    Mistake("convert Company.xml -o x.plist", 64, "convert Company.xml x.plist"),
    Mistake("convert Company.xml x.y --to csv", 64, "did you mean 'CSV'?"),
    Mistake("convert Company.xml x.xml --to", 64, "--to needs a value", "CoreDataSQLite, PostgreSQL"),
    Mistake("convert Company.xml -", 64, "--to"),
    Mistake("diff lib.xml", 64, "missing argument: <second>, the other store"),
    Mistake("diff lib.xml lib.xml --ignore-modle", 64, "did you mean '--ignore-model'?"),
    Mistake("diff lib.xml lib.xml lib.xml", 64, "unexpected argument 'lib.xml'", "diff <first> <second>"),
    Mistake("migrate lib.xml -o m.xml", 64, "missing option: --model <model>, the model to migrate to"),
    Mistake("migrate lib.xml --model Library.xcdatamodeld", 64, "-o names the store to make; --in-place replaces it"),
    Mistake("merge lib.xml lib.xml", 64, "-o names the store to make"),
    Mistake("import books.csv", 64, "-o names the store to make"),
    Mistake("import", 64, "missing argument: <tables>", "ENTITY=FILE"),
    Mistake("patch lib.xml", 64, "missing argument: <patch>"),
    Mistake("report", 64, "missing argument: <store>"),
    Mistake("browse", 64, "missing argument: <store>"),
    Mistake("anonymize lib.xml -o a.xml", 64, "missing argument: <rules>", "ENTITY.PROPERTY=RULE"),
    Mistake("anonymize lib.xml title=mask -o a.xml", 64, "ENTITY.PROPERTY=hash"),
    Mistake("anonymize lib.xml Book.title=hash -o a.xml", 64, "--salt"),
    Mistake("anonymize lib.xml Book.title=mask", 64, "-o"),
    Mistake("dump lib.xml -o x.json", 64, "unknown option '-o'", "> FILE"),
    Mistake("dump lib.xml --format json", 64, "did you mean '--json'?"),
    Mistake("inspect lib.xml --type XML", 64, "did you mean '--from'?"),
    Mistake("inspect lib.xml lib.xml", 64, "unexpected argument", "inspect [<store>]"),
    Mistake("inspect lib.xml --color blue", 64, "--color: 'blue' is not one of auto, always, never"),
    Mistake("inspect lib.xml --jobs 0", 64, "--jobs must be 1 to 256"),
    Mistake("metadata lib.xml", 64, "'atomicstore metadata get lib.xml'"),
    Mistake("metadata set lib.xml key", 64, "--remove"),
    Mistake("model Library.xcdatamodeld", 64, "'atomicstore model show Library.xcdatamodeld'"),
    Mistake("model convert Library.xcdatamodeld -o x", 64, "<target>"),
    Mistake("model swift Library.xcdatamodeld", 64, "missing option: --output <output>, the directory"),
    Mistake("lib.xml", 64, "'atomicstore inspect lib.xml'"),
    Mistake("query lib.xml", 64, "did you mean 'fetch'?"),
    Mistake("convrt lib.xml x.plist", 64, "did you mean 'convert'?"),
    Mistake("formats XLM", 64, "did you mean 'XML'?"),
    Mistake("new-format 'My Format'", 64, "letters and digits"),
    Mistake("predicate name == 'Ada'", 64, #"put the predicate in quotes: "name == 'Ada'""#),
  ]

  /// Predicates and values.
  static let values = [
    Mistake("fetch Company.xml --entity Employee --where name == 'Ada'", 64, #"--where "name == 'Ada'""#),
    Mistake("fetch Company.xml --entity Employee --where 'name == Ada'", 64, "a string is written in quotes: 'Ada'"),
    Mistake("fetch Company.xml --entity Employee --where 'salary >> 5'", 64, "column 8: '>>' shifts bits"),
    Mistake(#"fetch Company.xml --entity Employee --where "nmae == 'x'""#, 64, "did you mean 'name'?"),
    Mistake(
      #"fetch Company.xml --entity Employee --where "department = 'Sales'""#, 64, "did you mean 'department.name'?"),
    Mistake("fetch Company.xml --entity Employee --where 'hired > 2019-01-01'", 64, "'2001-01-31'"),
    Mistake(#"fetch Company.xml --entity Employee --where "hired > 'gestern'""#, 64, "'2001-01-31'"),
    Mistake(#"fetch Company.xml --entity Employee --where "badge == '1001'""#, 64, "write the number without quotes"),
    Mistake("fetch Company.xml --entity Employee --columns nmae", 64, "did you mean 'name'?"),
    Mistake("fetch Company.xml --entity Employee --sort nmae", 64, "did you mean 'name'?"),
    Mistake("fetch Company.xml --entity Employee --having '@count > 1'", 64, "--group"),
    Mistake("set Company.xml --entity Employee --all salry=3", 64, "did you mean 'salary'?"),
    Mistake("set Company.xml --entity Employee --all name=Ada", 64, "name:=Ada"),
    Mistake("set Company.xml --entity Employee --all name=e@x.com", 64, "name:=e@x.com"),
    Mistake("set Company.xml --entity Employee --all name", 64, "PROPERTY:=TEXT"),
    Mistake("set Company.xml --entity Employee --all hired=2020-01-01", 65, "write hired:=2020-01-01"),
    Mistake("set Company.xml --entity Employee --all hired:=gestern", 65, "2020-12-31"),
    Mistake("set Company.xml --entity Employee --all department=Department/1", 64, "department:=Department/1"),
    Mistake("set Company.xml --entity Employee --all department:=Sales", 65, "ENTITY/REFERENCE"),
    Mistake("insert lib.xml --entity Book pages=3", 65, "(add title:=TEXT author:=TEXT)"),
    Mistake("insert lib.xml --entity Book author=Author/1", 64, "author:=Author/1"),
    Mistake("anonymize lib.xml Book.titel=mask -o a.xml", 64, "did you mean 'title'?"),
  ]

  /// Files, types and models.
  static let files = [
    Mistake("inspect libb.xml", 66, "libb.xml: the file does not exist; did you mean 'lib.xml'?"),
    Mistake("inspect .", 65, "this directory contains ./Company.xml"),
    Mistake("fetch Library.xcdatamodeld --entity Book", 65, "--model"),
    Mistake("inspect lib.xml --rows skip", 64, "write --read-option rows=skip"),
    Mistake("inspect lib.xml rows=skip", 64, "write --read-option rows=skip"),
    Mistake("inspect lib.xml --read-option rows", 64, "name=value"),
    Mistake("inspect lib.xml --read-option parsr=x", 64, "did you mean 'parser'?"),
    Mistake("inspect edited.csvstore", 65, "--read-option edited=accept"),
    Mistake(
      "inspect People.sqlite --model Company.xcdatamodeld", 65, "this is not the store's model", "Guest, Person, Tag"),
    Mistake("convert Company.xml lib.xml", 73, "--force replaces it"),
    Mistake("tables Company.xml", 64, "--output"),
    Mistake("tables Company.xml -o -", 64, "'fetch --entity NAME --format arrow'"),
    Mistake("tables Company.xml -o t --format parquet", 64, "csv, arrow"),
    Mistake("convert Company.xml Company.xml", 73, "the target is the source itself"),
    Mistake("convert Company.xml x.json", 64, "'dump --json'", "'fetch --json'"),
    Mistake("convert Company.xml x.foo", 64, "'foo'", "--to TYPE"),
    Mistake("convert Company.xml x", 64, "--to TYPE"),
    Mistake("convert Company.xml x.csv", 64, ".csvstore", "--write-option entity="),
    Mistake("convert Company.xml x.csv --write-option entity=Employe", 64, "did you mean 'Employee'?"),
    Mistake("convert Company.xml x.xml --where 'salary > 5'", 64, "--entity"),
    Mistake(
      "convert Company.xml x.xml --entity Employee --where 'salary > 5'", 65, "atomicstore: Company.xml (Employee/",
      "--related closure"),
    Mistake("import books.csv -o lib.xml", 73, "--force"),
    Mistake("convert Company.xml nowhere/x.xml", 73, "nowhere/x.xml: the directory nowhere does not exist"),
    Mistake("set lib.xml --entity Book --all price=1 --to CSV", 64, "-o"),
    Mistake("diff lib.xml Company.xml", 1, "--ignore-model"),
    Mistake("merge lib.xml Company.xml -o m.xml", 65, "Author: only in lib.xml", "--model MODEL"),
    Mistake("report lib.xml -o lib.xml", 73, "this is the store itself"),
    Mistake("report lib.xml -o lib.pdf", 64, "'pdf'", "use .html"),
    Mistake("model diagram Library.xcdatamodeld -o shop.png", 64, "'png'", ".svg, .html, .dot or .mmd"),
    Mistake(
      "model diagram Library.xcdatamodeld --format png", 64, "--format: 'png' is not one of svg, dot, mermaid, html"),
    Mistake("model diff Library.xcdatamodeld", 64, "missing argument: <second>"),
  ]

  /// Copies of sample stores.
  private static func folder() throws -> Folder {
    let folder = try Folder()
    let names = [
      "Company/Company.xml", "Company/Company.csvstore", "Company/Company.xcdatamodeld", "People/People.sqlite",
      "Library/Library.xcdatamodeld", "Library/books.csv",
    ]
    for name in names {
      try FileManager.default.copyItem(
        atPath: Command.samples + "/" + name, toPath: folder((name as NSString).lastPathComponent))
    }
    try library.get().write(to: URL(filePath: folder("lib.xml")))
    try FileManager.default.moveItem(atPath: folder("Company.csvstore"), toPath: folder("edited.csvstore"))
    let edited = folder("edited.csvstore/Department.csv")
    try (String(contentsOfFile: edited, encoding: .utf8) + "\n").write(
      toFile: edited, atomically: false, encoding: .utf8)
    return folder
  }

  private static let library = Result {
    let folder = try Folder()
    let samples = Command.samples + "/Library/"
    let made = try Command.run(
      "import", samples + "authors.csv", samples + "books.csv", "-o", folder("lib.xml"), "--model",
      samples + "Library.xcdatamodeld")
    #expect(made.code == 0, "\(made.errors)")
    return try Data(contentsOf: URL(filePath: folder("lib.xml")))
  }

  @Test(
    "a mistake is answered with what to type, in one voice, and nothing is written", arguments: usage + values + files)
  func answer(_ mistake: Mistake) throws {
    let folder = try Self.folder()
    let before = folder.names
    let result = try Command.shell("\"$0\" " + mistake.line, in: folder.path)
    #expect(result.code == mistake.code, "\(result.errors)")
    for word in mistake.words { #expect(result.errors.contains(word), "\(word)\n\(result.errors)") }
    #expect(result.errors.hasPrefix("atomicstore: ") || mistake.code == 1, "\(result.errors)")
    for word in ["Error: ", "Usage: ", "InMemory"] {
      #expect(!result.errors.contains(word), "\(word)\n\(result.errors)")
    }
    #expect(!result.errors.contains(/the option \w+=/), "\(result.errors)")
    // Relative paths are shown as they were typed.
    #expect(!result.errors.contains(folder.path), "\(result.errors)")
    #expect(folder.names == before)
    guard mistake.code != 1 else { return }
    let error = try Command.shell("\"$0\" " + mistake.line + " --json", in: folder.path).error()
    #expect((error["message"] as? String)?.isEmpty == false)
  }
}
