import Foundation
import Testing

@Suite("CSV for spreadsheets, and conversions that check") struct SpreadsheetTests {
  private static func bytes(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path))) }
  private static func text(_ path: String) throws -> String { String(decoding: try bytes(path), as: UTF8.self) }

  @Test(
    "a directory for spreadsheets is read back as the same store, and saved in the same form",
    arguments: [
      ["bom=yes"], ["decimal=comma"], ["dates=spreadsheet"], ["headers=plain"], ["headers=plain", "delimiter=tab"],
      ["bom=yes", "decimal=comma", "dates=spreadsheet", "headers=plain", "formulas=defuse"],
      ["decimal=comma", "delimiter=comma"], ["headers=plain", "delimiter=bar"],
    ])
  func sheets(_ options: [String]) throws {
    let folder = try Folder()
    for sample in ["Company/Company.xml", "People/People.xml"] {
      guard FileManager.default.fileExists(atPath: "\(Command.samples)/\(sample)") else { continue }
      let store = folder("x.csvstore")
      try? FileManager.default.removeItem(atPath: store)
      let made = try Command.run(
        arguments: ["convert", "\(Command.samples)/\(sample)", store] + options.flatMap { ["--write-option", $0] })
      #expect(made.code == 0, "\(made.errors)")
      let same = try Command.run("diff", "\(Command.samples)/\(sample)", store)
      #expect(same.code == 0, "\(same.output)\(same.errors)")
      let names = try FileManager.default.contentsOfDirectory(atPath: store).filter { $0.hasSuffix(".csv") }.sorted()
      let before = try names.map { try Self.bytes(store + "/" + $0) }
      // Saved again, the files are the same.
      #expect(try Command.run("metadata", "set", store, "note", "x").code == 0)
      let copy = folder("copy.csvstore")
      try? FileManager.default.removeItem(atPath: copy)
      #expect(
        try Command.run(
          arguments: ["convert", store, copy] + options.flatMap { ["--write-option", $0] }
        ).code == 0)
      #expect(try names.map { try Self.bytes(copy + "/" + $0) } == before)
    }
  }

  @Test("what a spreadsheet sees: a mark, semicolons, commas in numbers, dates without T, plain headers")
  func appearance() throws {
    let folder = try Folder()
    let library = Command.samples + "/Library"
    #expect(
      try Command.run(
        "import", library + "/authors.csv", library + "/books.csv", "-o", folder("l.csvstore"), "--model",
        library + "/Library.xcdatamodeld/Library.xcdatamodel", "--write-option", "bom=yes", "--write-option",
        "decimal=comma", "--write-option", "dates=spreadsheet", "--write-option", "headers=plain"
      ).code == 0)
    let books = try Self.bytes(folder("l.csvstore/Book.csv"))
    #expect(books.starts(with: [0xEF, 0xBB, 0xBF]))
    let lines = String(decoding: books.dropFirst(3), as: UTF8.self).split(separator: "\n")
    #expect(lines[0] == "id;inPrint;price;published;title;author;loans", "\(lines[0])")
    #expect(lines[1] == "1;true;9,99;1813-01-28;Pride and Prejudice;1;", "\(lines[1])")
    // As a spreadsheet saves it: columns moved, one removed, commas, CRLF.
    let edited = "id,title,price,author\r\n1,Pride and Prejudice,\"9,50\",1\r\n"
    try Data(edited.utf8).write(to: URL(filePath: folder("l.csvstore/Book.csv")))
    let refused = try Command.run("dump", folder("l.csvstore"))
    #expect(refused.code == 65 && refused.errors.contains("edited=accept"), "\(refused.errors)")
    let row = try Command.run(
      "fetch", folder("l.csvstore"), "--read-option", "edited=accept", "--read-option", "inverses=from-to-one",
      "--read-option", "dangling=nullify",
      "--entity", "Book", "--columns", "price,author.name", "--format", "csv")
    #expect(row.output == "price,author.name\n9.50,Jane Austen\n", "\(row.output)\(row.errors)")
    // A change is saved in the same form.
    try FileManager.default.removeItem(atPath: folder("l.csvstore"))
    #expect(
      try Command.run(
        "import", library + "/authors.csv", "-o", folder("l.csvstore"), "--model",
        library + "/Library.xcdatamodeld/Library.xcdatamodel", "--write-option", "headers=plain", "--write-option",
        "dates=spreadsheet"
      ).code == 0)
    #expect(
      try Command.run("set", folder("l.csvstore"), "--entity", "Author", "--where", "name == 'Homer'", "name:=Ὅμηρος")
        .code == 0)
    let authors = try Self.text(folder("l.csvstore/Author.csv"))
    #expect(authors.hasPrefix("id,name,born,books\n1,Jane Austen,1775-12-16,\n"), "\(authors)")
    #expect(
      try Command.run(
        "convert", folder("l.csvstore"), folder("a.csv"), "--write-option", "headers=plain", "--write-option",
        "entity=Author"
      ).code == 64)
  }

  @Test("with a decimal comma, a point in a number is refused: it would be that of thousands")
  func points() throws {
    let folder = try Folder()
    try Data("id,d\n1,1234.5\n".utf8).write(to: URL(filePath: folder("Item.csv")))
    try NodeStore.shell(
      "\"$0\" import Item.csv -o x.csvstore --types d=Double --write-option decimal=comma",
      in: folder)
    let path = folder("x.csvstore/Item.csv")
    let text = try Self.text(path)
    #expect(text.contains("1234,5"))
    let fetch = [
      "fetch", folder("x.csvstore"), "--entity", "Item", "--columns", "d", "--format", "csv", "--read-option",
    ]
    try Data(text.replacing("1234,5", with: "1.234").utf8).write(to: URL(filePath: path))
    let refused = try Command.run(arguments: fetch + ["edited=accept"])
    #expect(refused.code == 65 && refused.errors.contains("'1.234' is not a Double"), "\(refused.errors)")
    try Data(text.replacing("1234,5", with: "1234").utf8).write(to: URL(filePath: path))
    #expect(try Command.run(arguments: fetch + ["edited=accept"]).output == "d\n1234.0\n")
  }

  @Test("a directory that was edited by hand is refused as invalid data by everything that reads it")
  func edited() throws {
    let folder = try Folder()
    try NodeStore.shell(
      """
      "$0" convert '\(Command.company)' c.csvstore; echo >> c.csvstore/Project.csv
      printf 'id,name\\n50,x\\n' > Project.csv
      """, in: folder)
    let model = Command.samples + "/Company/Company.xcdatamodeld"
    for arguments in [
      ["check", "c.csvstore", "--fix", "dangling=nullify", "-o", "z.xml"],
      ["import", "Project.csv", "--into", "c.csvstore"], ["merge", "c.csvstore", "c.csvstore", "-o", "z.xml"],
      ["merge", "c.csvstore", "c.csvstore", "-o", "z.xml", "--model", model],
      ["migrate", "c.csvstore", "--model", model, "-o", "z.xml"], ["convert", "c.csvstore", "z.xml"],
    ] {
      let result = try Command.run(arguments: arguments, in: folder.path)
      #expect(result.code == 65 && result.errors.contains("edited=accept"), "\(arguments) \(result.errors)")
    }
  }

  @Test("a column with a null that fetch writes is read by import as it was")
  func oneColumn() throws {
    let folder = try Folder()
    try NodeStore.shell(
      """
      printf 'id,title\\n1,a\\n2,\\n3,c\\n' > Team.csv
      "$0" import Team.csv -o t.xml
      "$0" fetch t.xml --entity Team --columns title --format csv > Team2.csv
      "$0" fetch t.xml --entity Team --where 'TRUEPREDICATE' --columns 'title AS title' --format csv > Team3.csv
      "$0" import Team=Team2.csv -o t2.xml
      """, in: folder)
    #expect(try Self.text(folder("Team2.csv")) == "title\na\n\"\"\nc\n")
    #expect(try Self.text(folder("Team3.csv")) == Self.text(folder("Team2.csv")))
    #expect(try Command.run("diff", "t.xml", "t2.xml", "--ignore-uuid", in: folder.path).code == 0)
  }

  @Test("convert --check lists what check finds, writes the result, and ends with 1")
  func convertCheck() throws {
    let folder = try Folder()
    let library = Command.samples + "/Library"
    let sound = try Command.run("convert", Command.company, folder("c.plist"), "--check", "--json")
    let check = (try sound.json() as? [String: Any])?["check"] as? [String: Any]
    #expect(sound.code == 0 && check?["sound"] as? Bool == true, "\(sound.errors)")
    try Data("id:Reference Author,name:String,born:Date\n1,,\n".utf8).write(to: URL(filePath: folder("Author.csv")))
    let result = try Command.run(
      "convert", folder("Author.csv"), folder("a.xml"), "--check", "--model",
      library + "/Library.xcdatamodeld/Library.xcdatamodel")
    #expect(result.code == 1 && result.errors.contains("found: Author/1.name: a value is needed"), "\(result.errors)")
    #expect(FileManager.default.fileExists(atPath: folder("a.xml")))
  }

  @Test(
    "a directory keeps its delimiter in a save, whichever of its entities have no properties",
    arguments: ["semicolon", "tab", "bar", "comma"], ["A", "B"])
  func delimiterKept(_ delimiter: String, _ empty: String) throws {
    let folder = try Folder()
    let full = empty == "A" ? "B" : "A"
    try FileManager.default.createDirectory(atPath: folder("M.xcdatamodel"), withIntermediateDirectories: true)
    try """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
    <entity name="\(empty)"/>
    <entity name="\(full)"><attribute name="t" optional="YES" attributeType="String"/></entity></model>
    """.write(toFile: folder("M.xcdatamodel/contents"), atomically: false, encoding: .utf8)
    try NodeStore.shell(
      """
      echo '{"objectID":1,"t":"x"}' > b.ndjson
      "$0" import \(full)=b.ndjson -o b.xml --model M.xcdatamodel
      "$0" convert b.xml b.csvstore --write-option delimiter=\(delimiter)
      cp -r b.csvstore before.csvstore
      "$0" insert b.csvstore --entity \(full) t:=y
      """, in: folder)
    let before = try Self.text(folder("before.csvstore/\(full).csv"))
    #expect(try Self.text(folder("b.csvstore/\(full).csv")).hasPrefix(before))
    #expect(try Self.text(folder("b.csvstore/\(empty).csv")) == Self.text(folder("before.csvstore/\(empty).csv")))
  }
}
