import AtomicStoreKit
import CommandSupport
import Foundation
import Testing

@testable import AtomicStoreCommand

/// What people give to commands by mistake: it is refused with what is wrong, or understood, and nothing is lost.
@Suite("Unusual input") struct OddInputTests {
  /// A table to import, and the result.
  struct Table: CustomTestStringConvertible, Sendable {
    var name: String
    var text: String
    var file = "t.csv"
    var options: [String] = []
    var code: Int32 = 0
    /// Parts of standard error, or of the dump of the result.
    var shown: [String]
    var testDescription: String { name }
  }

  static let tables = [
    Table(
      name: "two columns of one name", text: "id,name,name\n1,a,b\n", code: 65,
      shown: ["t.csv:1: the columns 2 and 3, 'name' and 'name', both become the property 'name'"]),
    Table(
      name: "columns whose names differ in case only", text: "id,name,Name\n1,a,b\n", code: 65,
      shown: ["the columns 2 and 3, 'name' and 'Name'"]),
    Table(
      name: "a number of 40 digits stays what it is", text: "id,n\n1,\(String(repeating: "1", count: 40))\n2,5\n",
      shown: ["\"\(String(repeating: "1", count: 40))\"", "\"5\""]),
    Table(
      name: "a fraction of 40 digits stays what it is", text: "id,n\n1,0.\(String(repeating: "1", count: 40))\n2,5\n",
      shown: ["\"0.\(String(repeating: "1", count: 40))\""]),
    Table(
      name: "long numbers stay texts beside an exponent, whatever comes first",
      text: "id,n\n1,12345678901234567890\n2,1e5\n",
      shown: ["\"12345678901234567890\"", "\"1e5\""]),
    Table(
      name: "numbers of 17 digits and an exponent are doubles", text: "id,n\n1,1.2345678901234567e-3\n2,100\n",
      shown: ["0.0012345678901234567", "100.0"]),
    Table(name: "a line that names the delimiter", text: "sep=;\nid;name\n1;a,b\n", shown: ["T/1\n", "name: \"a,b\""]),
    Table(
      name: "keys with leading zeros keep them", text: "id,n\n007,a\n7,b\n", shown: ["T/007\n", "T/7\n"]),
    Table(
      name: "an encoding that was not named", text: "Latin-1", code: 65,
      shown: ["t.csv:2:4 (T): the byte 0xFC is not valid UTF-8 here; the encoding may be windows-1252 or latin-1"]),
    Table(
      name: "a JSON member that occurs twice", text: "[{\"id\":1,\"a\":1,\"a\":2},{\"id\":2,\"a\":3}]", file: "t.json",
      code: 65, shown: ["t.json:1:16 (T): the member 'a' occurs twice in the object\n1 problem"]),
    Table(
      name: "a JSON member that occurs twice in nested objects", text: "{\"id\":1,\"o\":{\"a\":1},\"o\":{\"a\":2}}\n",
      file: "t.json", code: 65, shown: ["the member 'o.a' occurs twice"]),
    Table(
      name: "records after one with a member that occurs twice",
      text: "[{\"id\":1,\"a\":1,\"a\":2},{\"id\":2,\"a\":3}]", file: "t.json", options: ["--reject", "bad"],
      shown: ["T/2\n"]),
    Table(
      name: "objects in a JSON array", text: "[{\"id\":1,\"a\":[{\"b\":1}]}]", file: "t.json", code: 65,
      shown: ["an object within an array is not a value that can be imported"]),
    Table(
      name: "columns that are numbers", text: "id,2025,2026\n1,a,b\n",
      shown: ["column2025: \"a\"", "column2026: \"b\""]),
    Table(name: "a column without a letter", text: "id,%\n1,a\n", shown: ["column: \"a\""]),
    Table(
      name: "a truncated archive", text: "PK\u{3}\u{4}x", file: "t.xlsx", code: 65,
      shown: ["t.xlsx, byte 5: the archive has no list of its members: it is truncated"]),
    Table(name: "a page", text: "<!DOCTYPE html>\n<p>", code: 65, shown: ["not a table, but an XML or HTML document"]),
    Table(
      name: "a JSON file that holds a number", text: "5", file: "t.json", code: 65,
      shown: ["t.json: this is neither an array of JSON objects nor objects on lines"]),
    Table(name: "only a header", text: "id,name\n", shown: []),
    Table(name: "an empty file", text: "", code: 65, shown: ["t.csv: the file is empty"]),
    Table(name: "a byte-order mark", text: "\u{FEFF}id,name\n1,a\n", shown: ["T/1\n", "name: \"a\""]),
    Table(name: "line ends within quotes", text: "id,name\r\n1,\"a\r\nb\"\r\n", shown: ["name: \"a\\r\\nb\""]),
    Table(name: "carriage returns alone", text: "id,name\r1,a\r2,b\r", shown: ["T/1\n", "T/2\n"]),
    Table(name: "keys that look alike", text: "id,n\n\u{E9},1\ne\u{301},2\n", shown: ["n: 1", "n: 2"]),
    Table(name: "what looks like a formula", text: "id,f\n1,=1+1\n2,@x\n", shown: ["\"=1+1\"", "\"@x\""]),
    Table(
      name: "dates before 1900 and in year 9999", text: "id,d\n1,1899-12-31\n2,0001-01-01\n3,9999-12-31\n",
      shown: ["1899-12-31T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T00:00:00Z"]),
    Table(name: "codes with leading zeros", text: "id,zip\n1,01234\n2,99999\n", shown: ["\"01234\"", "\"99999\""]),
    Table(
      name: "blank lines in JSON lines", text: "{\"id\":1}\n\n{\"id\":2}\n", file: "t.ndjson",
      shown: ["T/1\n", "T/2\n"]),
    Table(
      name: "an object that names itself, and a circle", text: "id,t_id\n1,1\n2,3\n3,2\n",
      shown: ["t: T/1", "t: T/3", "t: T/2"]),
  ]

  @Test("a table is imported as it is, or refused with the place", arguments: tables)
  func table(_ table: Table) throws {
    let folder = try Folder()
    let bytes =
      table.text == "Latin-1" ? Data("id,name\n1,M".utf8) + [0xFC] + Data("ller\n".utf8) : Data(table.text.utf8)
    try bytes.write(to: URL(filePath: folder(table.file)))
    let result = try Command.run(arguments: ["import", table.file, "-o", "o.xml"] + table.options, in: folder.path)
    #expect(result.code == table.code, "\(result.errors)")
    guard table.code == 0 else {
      for text in table.shown { #expect(result.errors.contains(text), "\(result.errors)") }
      #expect(!FileManager.default.fileExists(atPath: folder("o.xml")))
      return
    }
    let rows = try Command.run("dump", "o.xml", in: folder.path)
    for text in table.shown { #expect(rows.output.contains(text), "\(text): \(rows.output)") }
  }

  @Test("with a model, a column that is there twice is refused as well")
  func equalColumns() throws {
    let folder = try Folder()
    try Data("id,name,name\n1,a,b\n".utf8).write(to: URL(filePath: folder("authors.csv")))
    let model = "\(Command.samples)/Library/Library.xcdatamodeld/Library.xcdatamodel"
    let result = try Command.run("import", "authors.csv", "-o", "o.xml", "--model", model, in: folder.path)
    #expect(
      result.code == 65 && result.errors.contains("the columns 2 and 3 are both called 'name'"), "\(result.errors)")
    // Columns that are not used may have one name.
    try Data("id,name,x,x\n1,a,b,c\n".utf8).write(to: URL(filePath: folder("authors.csv")))
    #expect(try Command.run("import", "authors.csv", "-o", "o.xml", "--model", model, in: folder.path).code == 0)
  }

  @Test("tables of one entity, standard input twice, and what a dry run says")
  func tablesTogether() throws {
    let folder = try Folder()
    for name in ["t.csv", "t.tsv"] { try Data("id\n1\n".utf8).write(to: URL(filePath: folder(name))) }
    let both = try Command.run("import", "t.csv", "t.tsv", "-o", "o.xml", in: folder.path)
    #expect(both.code == 64 && both.errors.contains("t.csv and t.tsv both have the entity T"), "\(both.errors)")
    let twice = try Command.run("import", "X=-", "Y=-", "-o", "o.xml", input: Data("id\n1\n".utf8), in: folder.path)
    #expect(twice.code == 64 && twice.errors.contains("only one table can be standard input"), "\(twice.errors)")
    let dry = try Command.run("import", "t.csv", "-o", "o.xml", "--dry-run", in: folder.path)
    #expect(dry.errors.hasPrefix("would import t.csv to o.xml"), "\(dry.errors)")
  }

  @Test(
    "requests that make no sense are refused with what is wrong, and the store stays as it is",
    arguments: [
      ("set lib.xml --entity Book --all price=1 price=2", "'price' is set twice"),
      ("set lib.xml --entity Book --all price=abc", "unknown key 'abc' on Book"),
      ("set lib.xml --entity Book --where price>1000 price=abc", "unknown key 'abc' on Book"),
      ("set lib.xml --entity Book --where price>1000 nix=1", "Book does not have a property 'nix'"),
      ("set lib.xml --entity book --all price=1", "did you mean 'Book'?"),
      ("set lib.xml --entity Book --all price=1 -o -", "standard output has no extension"),
      (
        "set lib.xml --entity Book --all price=1 --write-option schema=omit",
        "keeps its form: --write-option needs -o"
      ),
      ("convert nosuch.xml -", "standard output has no extension"),
      ("insert lib.xml --entity Book title:=x title:=y author:=Author/1", "'title' is set twice"),
      ("delete lib.xml --entity Book", "either --where PREDICATE, or --all"),
      ("merge lib.xml lib.xml -o new.xml --match Nix=name", "the model does not have an entity 'Nix'"),
      ("merge lib.xml lib.xml -o new.xml --match Author=nix", "Author does not have a property 'nix'"),
      ("merge lib.xml lib.xml -o new.xml --match Author=", "no property is named"),
      ("merge lib.xml lib.xml -o new.xml --on-conflict newest:nix", "no entity has a property 'nix'"),
      ("import Author=a.csv --into lib.xml --upsert Nix.name", "no table is of the entity 'Nix'"),
      ("import Author=a.csv -o new.xml --types nix=String", "no attribute is called 'nix'"),
      ("import Author=a.csv --into lib.xml --types name=String", "--types is for a model that is inferred"),
      ("import Author=a.csv --into lib.xml --write-model new.xcdatamodel", "--write-model is not possible"),
      ("merge - - -o new.xml", "only one store can be standard input"),
      ("anonymize lib.xml Author.name=hash --salt %EMPTY -o new.xml", "hash needs --salt"),
      ("anonymize lib.xml Author.name=mask Author.name=sequence -o new.xml", "there are two rules for Author.name"),
      ("anonymize lib.xml Book.price=fixed:abc -o new.xml", "fixed:abc cannot replace values of type Decimal"),
    ])
  func requests(_ arguments: String, _ message: String) throws {
    let folder = try Folder()
    try Self.library(folder)
    try Data("id,name\n1,X\n".utf8).write(to: URL(filePath: folder("a.csv")))
    let before = try Data(contentsOf: URL(filePath: folder("lib.xml")))
    let result = try Command.run(
      arguments: arguments.split(separator: " ").map { $0 == "%EMPTY" ? "" : String($0) }, input: Data(),
      in: folder.path)
    #expect(result.code == 64 && result.errors.contains(message), "\(result.code): \(result.errors)")
    #expect(try Data(contentsOf: URL(filePath: folder("lib.xml"))) == before)
    #expect(!FileManager.default.fileExists(atPath: folder("new.xml")))
    #expect(!FileManager.default.fileExists(atPath: folder("-")))
  }

  @Test("where one entity's objects are found by a property, those of others are not replaced by key")
  func otherEntities() throws {
    let folder = try Folder()
    try Self.library(folder)
    try Data("id,name\n1,Jane Austen\n".utf8).write(to: URL(filePath: folder("a.csv")))
    try Data("id,title,author_id\n1,Other,1\n".utf8).write(to: URL(filePath: folder("b.csv")))
    let result = try Command.run(
      "import", "Author=a.csv", "Book=b.csv", "--into", "lib.xml", "--upsert", "Author.name", in: folder.path)
    #expect(result.code == 65 && result.errors.contains("the store has Book/1 already"), "\(result.errors)")
  }

  @Test("a changed store is written to standard output")
  func standardOutput() throws {
    let folder = try Folder()
    try Self.library(folder)
    let result = try Command.run(
      "set", "lib.xml", "--entity", "Book", "--all", "price:=1", "-o", "-", "--to", "XML", in: folder.path)
    #expect(result.code == 0 && result.output.hasPrefix("<?xml"), "\(result.errors)")
    try result.data.write(to: URL(filePath: folder("new.xml")))
    let prices = try Command.run(
      "fetch", "new.xml", "--entity", "Book", "--columns", "price", "--limit", "1", "--format", "csv", in: folder.path)
    #expect(prices.output == "price\n1\n")
  }

  @Test("a long chain of records that depend on a bad one is left out in linear time")
  func chain() throws {
    let folder = try Folder()
    // Each record names the next one; the last one names a key that no record has.
    let count = 20_000
    let table = "id,t_id\n" + (1...count).map { "\($0),\($0 + 1)\n" }.joined() + "\(count + 2),\(count + 2)\n"
    try Data(table.utf8).write(to: URL(filePath: folder("t.csv")))
    let result = try Command.run(
      "import", "t.csv", "-o", "o.xml", "--reject", "bad.csv", "--report", "problems.csv", in: folder.path)
    #expect(
      result.code == 0 && result.errors.contains("left out: t.csv: 20000 bad records"), "\(result.errors.suffix(500))")
    let rows = try Command.run("dump", "o.xml", in: folder.path)
    #expect(rows.output.contains("T/\(count + 2)\n") && !rows.output.contains("T/1\n"))
  }

  @Test("the mean of large integers is exact")
  func mean() throws {
    let folder = try Folder()
    let table = "id:Reference P,n:Integer 64\n1,5\n2,-9223372036854775808\n3,9223372036854775807\n"
    try Data(table.utf8).write(to: URL(filePath: folder("p.csv")))
    let result = try Command.run("inspect", "p.csv", "--stats", in: folder.path)
    #expect(result.output.contains("9223372036854775807  1.33333"), "\(result.output)")
  }

  @Test("dates in conflicts are written as dates")
  func conflictingDates() throws {
    let folder = try Folder()
    try Self.library(folder)
    let set = try Command.run(
      "set", "lib.xml", "--entity", "Author", "--where", "name == 'Jane Austen'", "born:=1775-12-17", "-o", "b.xml",
      in: folder.path)
    #expect(set.code == 0, "\(set.errors)")
    let result = try Command.run("merge", "lib.xml", "b.xml", "-o", "m.xml", in: folder.path)
    #expect(result.code == 1, "\(result.errors)")
    #expect(result.errors.contains("Author/1.born: 1775-12-16T00:00:00Z or 1775-12-17T00:00:00Z"), "\(result.errors)")
  }

  private static func library(_ folder: borrowing Folder) throws {
    let library = Command.samples + "/Library/"
    let made = try Command.run(
      "import", library + "authors.csv", library + "books.csv", "-o", "lib.xml", "--model",
      library + "Library.xcdatamodeld/Library.xcdatamodel", in: folder.path)
    #expect(made.code == 0, "\(made.errors)")
  }

  @Test("a slash at the end, and a dot, mean the directory")
  func slashes() throws {
    let folder = try Folder()
    let company = Command.samples + "/Company/Company.xml"
    for name in ["new.csvstore/", "empty/", "there.plist/"] {
      if !name.hasPrefix("new") {
        try FileManager.default.createDirectory(atPath: folder(name), withIntermediateDirectories: false)
      }
      let type = name.hasPrefix("new") ? "CSV" : "BinaryPropertyList"
      let result = try Command.run("convert", company, name, "--to", type, in: folder.path)
      #expect(result.code == 0, "\(name): \(result.errors)")
      #expect(try Command.run("diff", company, String(name.dropLast()), in: folder.path).code == 0, "\(name)")
    }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        == ["empty", "new.csvstore", "there.plist"])
    // Of a store that is a directory, and through a link to it.
    try FileManager.default.createSymbolicLink(atPath: folder("link"), withDestinationPath: "new.csvstore/")
    for name in ["link/", "new.csvstore/"] {
      let set = try Command.run("set", name, "--entity", "Department", "--all", "floor=7", in: folder.path)
      #expect(set.code == 0, "\(set.errors)")
    }
    #expect(try Command.run("inspect", ".", in: folder("new.csvstore")).code == 0)
    let file = try Command.run("inspect", "there.plist/", in: folder.path)
    #expect(file.code == 65 && file.errors.contains("leave out the slash at the end"), "\(file.code) \(file.errors)")
  }

  @Test("a pipe of the shell is refused for what it is")
  func pipes() throws {
    let company = Command.samples + "/Company/Company.xml"
    for command in ["inspect", "check", "dump"] {
      let result = try Command.shell("cat \"$1\" | \"$0\" \(command) /dev/stdin", company)
      #expect(result.code == 65 && result.errors.contains("neither a file nor a directory"), "\(result.errors)")
    }
  }

  @Test("why something cannot be read or written decides the exit code")
  func reasons() throws {
    let folder = try Folder()
    let company = Command.samples + "/Company/Company.xml"
    try FileManager.default.copyItem(atPath: company, toPath: folder("c.xml"))
    let file = try Command.run("model", "swift", "c.xml", "--output", "c.xml", in: folder.path)
    #expect(file.code == 73 && file.errors.contains("c.xml"), "\(file.code) \(file.errors)")
    let patch = try Command.run("patch", "c.xml", "none.json", in: folder.path)
    #expect(patch.code == 66, "\(patch.code) \(patch.errors)")
    #expect(try Command.run("convert", "c.xml", "c.csvstore", in: folder.path).code == 0)
    let handle = try #require(FileHandle(forWritingAtPath: folder("c.csvstore/Department.csv")))
    try handle.seekToEnd()
    try handle.write(contentsOf: Data(" ".utf8))
    try handle.close()
    for arguments in [
      ["fetch", "c.csvstore", "--entity", "Department"],
      ["set", "c.csvstore", "--entity", "Department", "--all", "floor=7"],
      ["delete", "c.csvstore", "--entity", "Department", "--where", "floor == 7"],
    ] {
      let result = try Command.run(arguments: arguments, in: folder.path)
      #expect(result.code == 65 && result.errors.contains("was changed since"), "\(arguments[0]) \(result.code)")
    }
    // Of a save, its store's error decides.
    for (code, exitCode) in [(PersistentStoreError.Code.permissionDenied, 77), (.noSpace, 74), (.malformed, 65)] {
      let error = ManagedObjectError(
        .persistentStoreSave, "the save failed", underlying: PersistentStoreError(code, "write-protected"))
      #expect(error.failure.exitCode == Int32(exitCode))
    }
    for key in ["NSStoreModelVersionHashes", "NSStoreModelVersionIdentifiers"] {
      let metadata = try Command.run("metadata", "set", "c.csvstore", key, "hello", in: folder.path)
      #expect(metadata.code == 65 && metadata.errors.contains("the kit manages"), "\(metadata.errors)")
    }
  }
}
