import Foundation
import TestSupport
import Testing

/// Expressions in the options of `fetch`, and what is taken out of stores with them.
@Suite("Expressions on the command line") struct ExpressionCommandTests {
  /// The samples of a library as a store.
  private static func library(_ folder: TemporaryDirectory, _ name: String = "l.xml") throws -> String {
    let samples = Command.root + "/SampleStores/Library/"
    let path = folder.path + "/" + name
    let made = try Command.run(
      arguments: ["import"] + ["authors", "books", "loans"].map { "\(samples)\($0).csv" }
        + ["-o", path, "--model", samples + "Library.xcdatamodeld"])
    try #require(made.code == 0, "\(made.errors)")
    return path
  }

  @Test("groups are formed by expressions, sorted and filtered, the same in every type of store")
  func groups() throws {
    let folder = try TemporaryDirectory("expressions")
    let library = try Self.library(folder)
    var stores = [library]
    for name in ["l.plist", "l.sqlgraph", "l.csvstore"] {
      stores.append(folder.path + "/" + name)
      try #require(try Command.run("convert", library, stores[stores.count - 1]).code == 0)
    }
    for store in stores {
      func rows(_ arguments: String...) throws -> String {
        let result = try Command.run(arguments: ["fetch", store, "--entity", "Loan", "--format", "csv"] + arguments)
        #expect(result.code == 0, "\(result.errors)")
        return result.output
      }
      #expect(
        try rows(
          "--group", "month:(due)", "--columns", "month:(due) AS month, @count, median:(book.price)", "--sort", "month")
          == "month,@count,median:(book.price)\n10,1,9.99\n11,2,22.425\n12,1,24.90\n", "\(store)")
      #expect(
        try rows("--group", "month:(due) AS month", "--having", "@count > 1", "--sort", "-month")
          == "month,count\n11,2\n", "\(store)")
      #expect(
        try rows(
          "--columns", "borrower + ' ' + book.title AS text", "--sort", "-day:(due),length:(borrower)", "--limit", "2")
          == "text\nGrace Hopper Middlemarch\nAda Lovelace Germinal\n", "\(store)")
      #expect(
        try rows(
          "--where", "startOf:(due, 'month') == '2026-11-01'", "--columns", "hour:(due, '+02:00') AS h", "--sort", "h")
          == "h\n2\n20\n", "\(store)")
      #expect(
        try rows(
          "--group", "returned", "--sort", "returned", "--columns",
          "returned, percentile:(book.price, 0.5) AS p, join:(uppercase:(borrower), '|') AS names, sum:(book.price * 2) AS s"
        )
          == "returned,p,names,s\nfalse,24.90,CHARLES BABBAGE|ADA LOVELACE|GRACE HOPPER,139.50\n"
          + "true,9.99,ADA LOVELACE,19.98\n", "\(store)")
    }
  }

  @Test(
    "a mistake in an expression names the option",
    arguments: [
      (["--group", "month:(duo)"], "--group: 'month:(duo)': unknown key 'duo' on Loan; did you mean 'due'?"),
      (["--group", "month:(borrower)"], "--group: 'month:(borrower)': "),
      (
        ["--columns", "borrower + 1"], "--columns: 'borrower + 1': add:to: requires numbers, but 'borrower' is a string"
      ),
      (["--sort", "year:(borrower)"], "--sort: 'year:(borrower)': "),
      (["--columns", "startOf:(due)"], "startOf: requires 2 to 3 arguments, not 1"),
      (["--distinct", "--columns", "borrower", "--sort", "length:(borrower)"], "distinct rows are sorted by columns"),
    ])
  func mistakes(_ arguments: [String], _ message: String) throws {
    let folder = try TemporaryDirectory("expressions")
    let result = try Command.run(
      arguments: ["fetch", try Self.library(folder), "--entity", "Loan"] + arguments)
    #expect(result.code != 0)
    #expect(result.errors.contains(message), "\(result.errors)")
  }

  @Test("set and where take the same expressions")
  func changes() throws {
    let folder = try TemporaryDirectory("expressions")
    let library = try Self.library(folder)
    let changed = try Command.run(
      arguments: [
        "set", library, "--entity", "Author", "--where", "year:(born) < 1800 AND length:(trim:(fullName)) > 0",
        "fullName=replace:(fullName, 'Jane', 'J.') + ' (' + concat:(year:(born)) + ')'",
      ])
    #expect(changed.code == 0, "\(changed.errors)")
    let result = try Command.run(
      "fetch", library, "--entity", "Author", "--columns", "fullName", "--format", "csv", "--where",
      "fullName ENDSWITH ')'")
    #expect(result.output == "fullName\nJ. Austen (1775)\n")
  }

  @Test("binary data is shown by its kind and size, and decoded")
  func kinds() throws {
    let shown = try Command.run(
      "fetch", Command.company, "--entity", "Employee", "--columns", "kind:(photo) AS k, size:(photo) AS s", "--format",
      "csv")
    #expect(shown.output.contains("\nimage/png,8\n"), "\(shown.output)\(shown.errors)")
    let decoded = try Command.run(
      "fetch", Command.company, "--entity", "Employee", "--columns", "photo", "--decode", "--where", "photo != nil",
      "--format", "ndjson", "--limit", "1")
    #expect(
      decoded.output.contains(#"{\"kind\":\"image/png\",\"size\":8,\"base64\":\"iVBORw0KGgo=\"}"#), "\(decoded.output)")
    let dump = try Command.run("dump", Command.company, "--entity", "Employee", "--decode")
    #expect(dump.output.contains(#"<89504e470d0a1a0a> {"kind":"image/png","size":8}"#), "\(dump.output)")
  }

  @Test("values are written to files with the extension of their kind, and listed")
  func extraction() throws {
    let folder = try TemporaryDirectory("expressions")
    let target = folder.path + "/photos"
    let arguments = ["extract", Command.company, "--entity", "Employee", "--property", "photo", "-o", target]
    let result = try Command.run(arguments: arguments)
    #expect(result.code == 0, "\(result.errors)")
    let list = try String(contentsOfFile: target + "/files.csv", encoding: .utf8)
    let lines = list.split(separator: "\n").map(String.init)
    #expect(lines[0] == "file,entity,reference,property,kind,size")
    let files = try FileManager.default.contentsOfDirectory(atPath: target).sorted()
    #expect(files.count == lines.count && result.output == "\(target): \(lines.count - 1) files, listed in files.csv\n")
    let image = try #require(files.first { $0.hasSuffix(".png") })
    #expect(lines.contains { $0.hasPrefix(image + ",") && $0.hasSuffix(",photo,image/png,8") }, "\(list)")
    #expect(
      try Data(contentsOf: URL(fileURLWithPath: target + "/" + image))
        == Data([0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10]))
    // Nothing is overwritten, unless it was written by the command and --force says so.
    #expect(try Command.run(arguments: arguments).code == 73)
    let texts = try Command.run(
      arguments: [
        "extract", Command.company, "--entity", "Employee", "--property", "uppercase:(name)", "--where",
        "badge == 1001",
        "-o", target, "--force",
      ])
    #expect(texts.code == 0, "\(texts.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: target).filter { $0.hasSuffix(".txt") }.count == 1)
    let other = folder.path + "/mine"
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
    try Data().write(to: URL(fileURLWithPath: other + "/letter.txt"))
    let refused = try Command.run(arguments: arguments.dropLast() + [other, "--force"])
    #expect(refused.code != 0 && refused.errors.contains("remove it first"), "\(refused.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: other) == ["letter.txt"])
    // Whatever list is there: only what it names is replaced.
    for text in ["", "a\nletter.txt\n", list] {
      try Data(text.utf8).write(to: URL(fileURLWithPath: other + "/files.csv"))
      let refused = try Command.run(arguments: arguments.dropLast() + [other, "--force"])
      #expect(refused.code != 0 && refused.errors.contains("remove it first"), "\(text): \(refused.errors)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: other).sorted() == ["files.csv", "letter.txt"])
    }
    let number = try Command.run(
      arguments: ["extract", Command.company, "--entity", "Employee", "--property", "badge", "-o", folder.path + "/n"])
    #expect(number.code == 64 && number.errors.contains("neither binary data nor text"), "\(number.errors)")
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/n"))
  }

  @Test("the text of a note comes out of a store of the shape of Apple's Notes")
  func notes() throws {
    let folder = try TemporaryDirectory("expressions")
    // Python wrote it: gzip of a message with the text in field 2.3.2.
    let note = "H4sIAAAAAAACA+NgEFLjYJBSEpJwKq1UyM3MyeZKzEtReNQwJ6koNTHlUcNcLTYOFiGm//8AGUyLVCoAAAA="
    let model = folder.path + "/Notes.xcdatamodel"
    try FileManager.default.createDirectory(atPath: model, withIntermediateDirectories: true)
    try """
    <?xml version="1.0" encoding="UTF-8"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
      <entity name="ICNoteData" syncable="YES"><attribute name="data" optional="YES" attributeType="Binary"/></entity>
    </model>
    """.write(toFile: model + "/contents", atomically: true, encoding: .utf8)
    let table = folder.path + "/ICNoteData.csv"
    try "id,data\n1,\(note)\n2,\n".write(toFile: table, atomically: true, encoding: .utf8)
    let store = folder.path + "/NoteStore.sqlite"
    let made = try Command.run("import", table, "-o", store, "--model", model)
    try #require(made.code == 0, "\(made.errors)")
    let text = "Buy milk\nand “bread”"
    let shown = try Command.run(
      "fetch", store, "--entity", "ICNoteData", "--columns", "protobuf:(gunzip:(data), '2.3.2') AS text", "--format",
      "csv", "--where", "data != nil")
    #expect(shown.output == "text\n\"\(text)\"\n", "\(shown.errors)")
    let extracted = try Command.run(
      "extract", store, "--entity", "ICNoteData", "--property", "text:(protobuf:(gunzip:(data), '2.3.2'))", "-o",
      folder.path + "/notes")
    #expect(extracted.code == 0, "\(extracted.errors)")
    #expect(try String(contentsOfFile: folder.path + "/notes/1.txt", encoding: .utf8) == text)
    let decoded = try Command.run("dump", store, "--decode")
    #expect(
      decoded.output.contains(
        #""content":{"kind":"application/x-protobuf","size":42,"content":{"1":0,"2":{"1":0,"3":{"2":"Buy milk\nand"#),
      "\(decoded.output)")
  }
}
