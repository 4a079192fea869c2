import Foundation
import Testing

@Suite("atomicstore migrate --mapping with Xcode's mapping models") struct MappingModelCommandTests {
  /// The archive of `$source.key`, as Xcode stores value expressions.
  private static func archive(ofKey key: String) -> String {
    func object(_ fields: String, _ number: Int) -> String {
      "<dict>\(fields)<key>$class</key><dict><key>CF$UID</key><integer>\(number)</integer></dict></dict>"
    }
    func uid(_ name: String, _ number: Int) -> String {
      "<key>\(name)</key><dict><key>CF$UID</key><integer>\(number)</integer></dict>"
    }
    func named(_ name: String) -> String {
      "<dict><key>$classname</key><string>\(name)</string><key>$classes</key><array>"
        + "<string>\(name)</string></array></dict>"
    }
    let list =
      "<dict><key>NS.objects</key><array><dict><key>CF$UID</key><integer>6</integer></dict></array>"
      + uid("$class", 10) + "</dict>"
    let objects = [
      "<string>$null</string>", object(uid("NSOperand", 2) + uid("NSSelectorName", 4) + uid("NSArguments", 5), 8),
      object(uid("NSVariable", 3), 9), "<string>source</string>", "<string>valueForKeyPath:</string>", list,
      object(uid("NSKeyPath", 7), 11), "<string>\(key)</string>", named("NSKeyPathExpression"),
      named("NSVariableExpression"), named("NSArray"), named("NSKeyPathSpecifierExpression"),
    ]
    let text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?><plist version=\"1.0\"><dict><key>$archiver</key>"
      + "<string>NSKeyedArchiver</string><key>$version</key><integer>100000</integer><key>$top</key><dict>"
      + uid("root", 1) + "</dict><key>$objects</key><array>\(objects.joined())</array></dict></plist>"
    return Data(text.utf8).base64EncodedString()
  }

  /// Copies the library, imports its books, and writes the mapping model from its first version to its last.
  private static func library(_ folder: borrowing Folder, policy: String? = nil, from version: String = "Library")
    throws
  {
    for name in try FileManager.default.contentsOfDirectory(atPath: Command.samples + "/Library") {
      try FileManager.default.copyItem(atPath: Command.samples + "/Library/" + name, toPath: folder(name))
    }
    func model(_ name: String) throws -> String {
      try Data(contentsOf: URL(filePath: folder("Library.xcdatamodeld/\(name).xcdatamodel/contents")))
        .base64EncodedString()
    }
    func attribute(_ name: String, _ value: String) -> String {
      "<attribute name=\"\(name)\" type=\"string\">\(value)</attribute>"
    }
    var text = "<?xml version=\"1.0\"?><database><object type=\"XDDEVMAPPINGMODEL\" id=\"m\">"
    text += attribute("sourcemodeldata", try model(version))
    text += attribute("destinationmodeldata", try model("Library 3")) + "</object>"
    let entities: [(String, [(name: String, key: String?)], [String])] = [
      ("Author", [("born", nil), ("country", nil), ("fullName", "name")], ["books"]),
      (
        "Book",
        [
          ("available", "inPrint"), ("language", nil), ("pages", nil), ("price", nil), ("published", nil),
          ("title", nil),
        ], ["author", "loans"]
      ),
      ("Loan", [("borrower", nil), ("due", nil), ("fee", nil), ("returned", nil)], ["book"]),
    ]
    for (name, attributes, relationships) in entities {
      text += "<object type=\"XDDEVENTITYMAPPING\" id=\"\(name)\">" + attribute("sourcename", name)
      text += attribute("destinationname", name)
      if let policy, name == "Book" { text += attribute("migrationpolicyclassname", policy) }
      text += "<relationship name=\"mappingmodel\" idrefs=\"m\"></relationship></object>"
      for (property, key) in attributes {
        text += "<object type=\"XDDEVATTRIBUTEMAPPING\">" + attribute("name", property)
        if let key { text += attribute("valueexpressiondata", archive(ofKey: key)) }
        text += "<relationship name=\"entitymapping\" idrefs=\"\(name)\"></relationship></object>"
      }
      for property in relationships {
        text += "<object type=\"XDDEVRELATIONSHIPMAPPING\">" + attribute("name", property)
        text += "<relationship name=\"entitymapping\" idrefs=\"\(name)\"></relationship></object>"
      }
    }
    try FileManager.default.createDirectory(atPath: folder("M.xcmappingmodel"), withIntermediateDirectories: true)
    try (text + "</database>").write(
      toFile: folder("M.xcmappingmodel/xcmapping.xml"), atomically: false, encoding: .utf8)
    let made = try Command.run(
      "import", "authors.csv", "books.csv", "loans.csv", "-o", "lib.xml", "--model",
      "Library.xcdatamodeld/Library.xcdatamodel", in: folder.path)
    #expect(made.code == 0, "\(made.errors)")
  }

  private static func migrate(_ store: String, _ more: String..., in folder: borrowing Folder) throws -> Command.Result
  {
    try Command.run(
      arguments: ["migrate", store, "--model", "Library.xcdatamodeld", "--mapping", "M.xcmappingmodel"] + more,
      in: folder.path)
  }

  @Test(
    "the result is that of inference, as a new store and in place", arguments: ["xml", "sqlgraph"],
    [true, false])
  func follows(_ type: String, _ isInPlace: Bool) throws {
    let folder = try Folder()
    try Self.library(folder)
    #expect(
      try Command.run(
        "migrate", "lib.xml", "--model", "Library.xcdatamodeld", "-o", "wanted.xml", in: folder.path
      ).code == 0)
    let store = "old." + type
    let converted = try Command.run("convert", "lib.xml", store, in: folder.path)
    #expect(converted.code == 0, "\(converted.errors)")
    let result = isInPlace ? store : "new." + type
    let migrated =
      isInPlace
      ? try Self.migrate(store, "--in-place", in: folder) : try Self.migrate(store, "-o", result, in: folder)
    #expect(migrated.code == 0, "\(migrated.errors)")
    let diff = try Command.run("diff", "wanted.xml", result, in: folder.path)
    #expect(diff.code == 0, "\(diff.output)\(diff.errors)")
    #expect(try Command.run("check", result, in: folder.path).code == 0)
    if !isInPlace { #expect(try Command.run("diff", "lib.xml", store, in: folder.path).code == 0) }
  }

  @Test("a policy and another version are refused by name, and nothing is written")
  func refuses() throws {
    let folder = try Folder()
    try Self.library(folder, policy: "Library.BookPolicy")
    let before = try Data(contentsOf: URL(filePath: folder("lib.xml")))
    for place in [["--in-place"], ["-o", "new.xml"]] {
      let refused = try Command.run(
        arguments: ["migrate", "lib.xml", "--model", "Library.xcdatamodeld", "--mapping", "M.xcmappingmodel"] + place,
        in: folder.path)
      #expect(refused.code == 65 && refused.errors.contains("'Library.BookPolicy'"), "\(refused.errors)")
      #expect(refused.errors.contains("the mapping model M.xcmappingmodel cannot be followed"))
    }
    #expect(try Data(contentsOf: URL(filePath: folder("lib.xml"))) == before)
    #expect(!FileManager.default.fileExists(atPath: folder("new.xml")))
    let other = try Folder()
    try Self.library(other, from: "Library 2")
    let mismatch = try Self.migrate("lib.xml", "-o", "new.xml", in: other)
    #expect(
      mismatch.code == 65
        && mismatch.errors.contains("is for another version of this entity of the source: its hash is"))
  }

  @Test("model show prints the expressions that Xcode generates; a directory is searched; one without is an error")
  func shows() throws {
    let folder = try Folder()
    try Self.library(folder)
    let shown = try Command.run("model", "show", "M.xcmappingmodel", in: folder.path)
    #expect(shown.output.contains("AuthorToAuthor: Author → Author (transform)\n"), "\(shown.output)")
    #expect(
      shown.output.contains("  born = $source.born\n") && shown.output.contains("  fullName = $source.name\n")
        && shown.output.contains("  country = (nothing)\n"))
    #expect(
      shown.output.contains(
        "'destinationInstancesForEntityMappingNamed:sourceInstances:', \"BookToBook\", $source.books)"))
    let found = try Command.run(
      "migrate", "lib.xml", "--model", "Library.xcdatamodeld", "--mapping", ".", "-o", "new.xml", in: folder.path)
    #expect(found.code == 0, "\(found.errors)")
    let none = try Command.run(
      "migrate", "lib.xml", "--model", "Library.xcdatamodeld", "--mapping", "Library.xcdatamodeld", "-o", "x.xml",
      in: folder.path)
    #expect(none.code != 0 && none.errors.contains("does not contain a mapping model"), "\(none.errors)")
  }
}
