import Foundation
import Testing

@Suite("Damaged stores") struct SalvageTests {
  private static func bytes(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path))) }
  private static func text(_ path: String) throws -> String { String(decoding: try bytes(path), as: UTF8.self) }

  private static func damaged(_ folder: borrowing Folder) throws {
    let objects = """
      <?xml version="1.0"?>
      <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

      <database>
          <databaseInfo>
              <version>134481920</version>
              <UUID>8AD22A05-5FF5-4A27-9FD1-6D9F529750FD</UUID>
              <nextObjectID>106</nextObjectID>
              <metadata><plist version="1.0"><dict></dict></plist></metadata>
          </databaseInfo>
          <object type="DEPT" id="z101"><attribute name="name" type="string">A</attribute>
              <relationship name="staff" type="0/0" destination="EMP" idrefs="z103 z104 zz9 z105"></relationship></object>
          <object type="DEPT" id="odd"><attribute name="name" type="string">B</attribute></object>
          <object type="EMP" id="z103"><attribute name="age" type="int32">30</attribute>
              <relationship name="dept" type="1/1" destination="DEPT" idrefs="z101"></relationship></object>
          <object type="EMP" id="z104"><attribute name="age" type="int32">old</attribute>
              <relationship name="dept" type="1/1" destination="DEPT" idrefs="z101"></relationship></object>
          <object type="EMP" id="z105"><attribute name="age" type="int32">31</attribute><oops><deep/></oops>
              <relationship name="dept" type="1/1" destination="DEPT" idrefs="z101"></relationship></object>
          <object type="EMP" id="z106"><attribute name="age" type="int32">32</attribute>
              <relationship name="dept" type="1/1" destination="DEPT" idrefs="z102"></relationship></object>
      </database>
      """
    try Data(objects.utf8).write(to: URL(filePath: folder("d.xml")))
  }

  private static let skip = ["--read-option", "damaged=skip-object"]

  @Test("objects that cannot be read are left out of an XML store, with references to them; each is listed")
  func xml() throws {
    let folder = try Folder()
    try Self.damaged(folder)
    let path = folder("d.xml")
    #expect(try Command.run("dump", path).code == 65)
    let refused = try Command.run(arguments: ["convert", path, folder("s.xml")] + Self.skip)
    #expect(refused.code == 65 && !FileManager.default.fileExists(atPath: folder("s.xml")), "\(refused.errors)")
    let saved = try Command.run(arguments: ["convert", path, folder("s.xml"), "--allow-loss"] + Self.skip)
    #expect(saved.code == 0, "\(saved.errors)")
    let shown = try Command.run(arguments: ["inspect", path] + Self.skip)
    let places = [
      ":13:33: damaged object: 'odd' is not an object identifier",
      ":16:84 (EMP/104.age): damaged object: 'old'", "(EMP/105): damaged object", "<oops>",
      "(DEPT/101.staff): damaged reference: 'staff' refers to 'zz9'",
      "(EMP/106.dept): reference left out: DEPT/102 does not exist",
      "(DEPT/101.staff): reference left out: EMP/104 does not exist",
    ]
    for result in [refused.errors, saved.errors, shown.output] {
      for text in places { #expect(result.contains(text), "\(text): \(result)") }
      #expect(result.components(separatedBy: "\n").count(where: { $0.contains("d.xml:") }) >= 7, "\(result)")
    }
    let rows = try Command.run("dump", folder("s.xml"))
    #expect(
      rows.output.hasSuffix(
        """
        DEPT/101
          name: "A"
          staff: EMP/103

        EMP/103
          age: 30
          dept: DEPT/101

        EMP/106
          age: 32

        """), "\(rows.output)")
    #expect(try Command.run("check", folder("s.xml")).code == 0)
  }

  @Test("the order of what remains of an ordered relationship is kept")
  func order() throws {
    let folder = try Folder()
    try Self.damaged(folder)
    let text = try Self.text(folder("d.xml")).replacing("z103 z104 zz9 z105", with: "z106 z104 z103")
    try Data(text.replacing("z102", with: "z101").utf8).write(to: URL(filePath: folder("o.xml")))
    let rows = try Command.run(arguments: ["dump", folder("o.xml")] + Self.skip)
    #expect(rows.output.contains("staff: EMP/106\n  staff: EMP/103\n"), "\(rows.output)\(rows.errors)")
  }

  @Test(
    "an object that cannot begin takes no other one along, nor does text between elements",
    arguments: [
      #"<object id="z107"></object>"#, #"<object type="EMP"></object>"#, #"<object type="EMP" id="z107" odd="1"/>"#,
      #"<object type="EMP" id="z103"></object>"#,
      #"<object type="EMP" id="z107">text</object>"#,
      #"<object type="EMP" id="z107"><relationship name="dept" type="1/1" destination="DEPT">x</relationship></object>"#,
    ])
  func neighbors(_ damage: String) throws {
    let folder = try Folder()
    try Self.damaged(folder)
    let whole = try Self.text(folder("d.xml")).replacing("<oops><deep/></oops>", with: "")
      .replacing("old<", with: "40<").replacing(" zz9", with: "").replacing(#"id="odd""#, with: #"id="z102""#)
    try Data(whole.utf8).write(to: URL(filePath: folder("whole.xml")))
    try Data(whole.replacing("</database>", with: damage + "</database>").utf8).write(
      to: URL(filePath: folder("last.xml")))
    let marker = #"<object type="EMP" id="z105">"#
    try Data(whole.replacing(marker, with: damage + marker).utf8).write(to: URL(filePath: folder("middle.xml")))
    let wanted = try Command.run("dump", folder("whole.xml"))
    #expect(wanted.code == 0, "\(wanted.errors)")
    for name in ["last.xml", "middle.xml"] {
      let found = try Command.run(arguments: ["dump", folder(name)] + Self.skip)
      #expect(found.code == 0 && found.output == wanted.output, "\(name): \(found.output)\(found.errors)")
      let shown = try Command.run(arguments: ["inspect", folder(name)] + Self.skip)
      #expect(shown.output.components(separatedBy: "damaged object").count == 2, "\(shown.output)")
    }
  }

  @Test(
    "links that only one end has once something is left out are left out as well, and an object named twice is once")
  func contradictions() throws {
    let folder = try Folder()
    let model = """
      <model><entity name="Dept"><relationship name="staff" toMany="YES" destinationEntity="Emp" inverseName="dept" \
      inverseEntity="Dept" optional="YES"/><relationship name="friends" toMany="YES" destinationEntity="Emp" \
      inverseName="places" inverseEntity="Emp" optional="YES"/></entity>
      <entity name="Emp"><attribute name="age" attributeType="Integer 32" optional="YES"/><relationship name="dept" \
      maxCount="1" destinationEntity="Dept" inverseName="staff" inverseEntity="Dept" optional="YES"/>\
      <relationship name="places" toMany="YES" destinationEntity="Dept" inverseName="friends" inverseEntity="Dept" \
      optional="YES"/></entity></model>
      """
    try Data(
      model.replacing("inverseName=\"dept\" inverseEntity=\"Dept\"", with: "inverseName=\"dept\" inverseEntity=\"Emp\"")
        .utf8
    )
    .write(to: URL(filePath: folder("m.xcdatamodel.xml")))
    let head = try Self.head(folder)
    let objects = """
      <object type="DEPT" id="z1"><relationship name="staff" type="0/0" destination="EMP" idrefs="z3 z4 z3"></relationship>
      <relationship name="friends" type="0/0" destination="EMP" idrefs="z3 z4"></relationship></object>
      <object type="DEPT" id="z2"></object>
      <object type="EMP" id="z3"><relationship name="dept" type="0/1" destination="DEPT" idrefs="z1"></relationship>
      <relationship name="places" type="0/0" destination="DEPT" idrefs="z1"></relationship></object>
      <object type="EMP" id="z4"><relationship name="dept" type="0/1" destination="DEPT" idrefs="odd"></relationship>
      <relationship name="places" type="0/0" destination="DEPT" idrefs="odd"></relationship></object>
      </database>
      """
    try Data((head + objects).utf8).write(to: URL(filePath: folder("c.xml")))
    let options = ["--model", folder("m.xcdatamodel.xml")]
    let shown = try Command.run(arguments: ["dump", folder("c.xml")] + options + Self.skip)
    #expect(shown.code == 0, "\(shown.errors)")
    #expect(
      shown.output.contains("DEPT/1\n  friends: EMP/3\n  staff: EMP/3\n")
        || shown.output.contains("Dept/1\n  friends: Emp/3\n  staff: Emp/3\n"), "\(shown.output)")
    let notes = try Command.run(arguments: ["inspect", folder("c.xml")] + options + Self.skip)
    for text in ["3 occurs twice", "does not name"] { #expect(notes.output.contains(text), "\(text): \(notes.output)") }
    let fixed = try Command.run(
      arguments: ["check", folder("c.xml"), "--fix", "damaged=skip-object", "-o", folder("f.xml")] + options)
    #expect(fixed.code == 0 || fixed.code == 1, "\(fixed.errors)")
    #expect(try Command.run(arguments: ["check", folder("f.xml")] + options).code == 0)
  }

  /// The beginning of the damaged store, up to its objects.
  private static func head(_ folder: borrowing Folder) throws -> String {
    try damaged(folder)
    let text = try text(folder("d.xml"))
    return String(text[..<(try #require(text.range(of: "<object"))).lowerBound])
  }

  @Test("check lists every object that cannot be read, and --fix writes a store without them")
  func checking() throws {
    let folder = try Folder()
    try Self.damaged(folder)
    let found = try Command.run("check", folder("d.xml"), "--json")
    #expect(found.code == 1)
    let counts = (try found.json() as? [String: Any])?["counts"] as? [String: Int]
    #expect(counts?["unreadable"] == 4 && counts?["dangling"] == 3, "\(found.output)")
    let dry = try Command.run(
      "check", folder("d.xml"), "--fix", "damaged=skip-object", "-o", folder("f.xml"), "--dry-run")
    #expect(dry.code == 0 && !FileManager.default.fileExists(atPath: folder("f.xml")), "\(dry.output)\(dry.errors)")
    let fixed = try Command.run("check", folder("d.xml"), "--fix", "damaged=skip-object", "-o", folder("f.xml"))
    #expect(fixed.code == 0, "\(fixed.output)\(fixed.errors)")
    #expect(fixed.errors.components(separatedBy: "lost: ").count == 8, "\(fixed.errors)")
    #expect(try Command.run("check", folder("f.xml")).code == 0)
  }

  @Test(
    "derived values do not count objects that are left out, whichever command leaves them out",
    arguments: [
      ["check", "d.xml", "--fix", "damaged=skip-object", "-o", "r.xml"],
      ["convert", "d.xml", "r.xml", "--allow-loss"],
      ["set", "d.xml", "--entity", "Manager", "--all", "parking=1", "-o", "r.xml", "--allow-loss"],
      ["patch", "d.xml", "p.json", "-o", "r.xml", "--allow-loss"],
      ["anonymize", "d.xml", "Employee.name=mask", "-o", "r.xml", "--allow-loss"],
    ])
  func derived(_ arguments: [String]) throws {
    let folder = try Folder()
    let company = try Self.text(Command.company)
    try Data(company.replacing("name=\"badge\" type=\"int32\">1<", with: "name=\"badge\" type=\"int32\">x<").utf8)
      .write(
        to: URL(filePath: folder("d.xml")))
    try Data(#"{"atomicstorePatch": 1, "changes": []}"#.utf8).write(to: URL(filePath: folder("p.json")))
    func counts(_ path: String) throws -> [Int] {
      let rows = try Command.run(
        "fetch", path, "--entity", "Department", "--columns", "headcount,employees.@count", "--format", "csv")
      return rows.output.split { !$0.isNumber }.compactMap { Int($0) }
    }
    #expect(try counts(Command.company) == [4, 4, 2, 2])
    let options = arguments[0] == "check" ? [] : Self.skip
    let result = try Command.run(arguments: arguments + options, in: folder.path)
    #expect(result.code == 0, "\(result.errors)")
    let found = try counts(folder("r.xml"))
    #expect(found.reduce(0, +) == 10 && found[0] == found[1] && found[2] == found[3], "\(found)")
    // Those that list what they left out.
    if ["check", "convert"].contains(arguments[0]) {
      #expect(result.errors.contains("Department.headcount: derived values, computed again"), "\(result.errors)")
    }
    #expect(!(try Command.run("check", folder("r.xml"))).output.contains("employees.@count gives"))
  }

  @Test("a store is not changed in place without its damaged objects")
  func inPlace() throws {
    let folder = try Folder()
    try Self.damaged(folder)
    let before = try Self.bytes(folder("d.xml"))
    let result = try Command.run(arguments: ["set", folder("d.xml"), "--entity", "EMP", "--all", "age=1"] + Self.skip)
    #expect(result.code == 65 && result.errors.contains("open the store read-only"), "\(result.errors)")
    #expect(try Self.bytes(folder("d.xml")) == before)
  }

  @Test("rows of an SQLite store that cannot be read are left out, as are rows of no object")
  func sqlite() throws {
    let folder = try Folder()
    for (name, text) in [
      ("bad-number", "(Employee/2.AGE): damaged object"), ("wrong-table", "left out: a row that is of Team"),
    ] {
      let path = "\(Command.samples)/Damaged/\(name).sqlite"
      let target = folder("\(name).xml")
      #expect(try Command.run(arguments: ["convert", path, target] + Self.skip).code == 65)
      let saved = try Command.run(arguments: ["convert", path, target, "--allow-loss"] + Self.skip)
      #expect(saved.code == 0 && saved.errors.contains(text), "\(saved.errors)")
      let fixed = try Command.run("check", path, "--fix", "damaged=skip-object", "-o", folder("\(name)-fixed.xml"))
      #expect(fixed.code == 0 && fixed.errors.contains(text), "\(fixed.output)\(fixed.errors)")
    }
  }

  @Test("of an SQLite store with a damaged page, the rest is read, checked and written to a new store")
  func damagedDatabase() throws {
    let folder = try Folder()
    let path = folder("f.sqlite")
    let sound = try Command.run("convert", "\(Command.samples)/FriendInfo/FriendInfo.xml", path)
    #expect(sound.code == 0, "\(sound.errors)")
    let whole = try Command.run("fetch", path, "--entity", "Person", "--count").output
    var bytes = try Self.bytes(path)
    let size = 4096
    let pages = 1..<bytes.count / size
    let table = try #require(pages.first { Self.isRoot($0 + 1, of: "ZFRIENDINFO", in: bytes) })
    for index in table * size..<(table + 1) * size { bytes[index] = 0 }
    try Data(bytes).write(to: URL(filePath: path))
    let refused = try Command.run("dump", path)
    #expect(refused.code == 65 && refused.errors.contains("--read-option damaged=skip-object"), "\(refused.errors)")
    let found = try Command.run("check", path)
    #expect(found.code == 1 && found.output.contains("the table ZFRIENDINFO is damaged"), "\(found.output)")
    let fixed = try Command.run("check", path, "--fix", "damaged=skip-object", "-o", folder("g.sqlite"))
    #expect(fixed.errors.contains("page \(table + 1)") && fixed.errors.contains("0 rows read"), "\(fixed.errors)")
    #expect(try Command.run("fetch", folder("g.sqlite"), "--entity", "Person", "--count").output == whole)
    #expect(try Self.bytes(path) == bytes)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["f.sqlite", "g.sqlite"])
  }

  /// Whether the schema says that a table begins at a page: its statement follows the page's number.
  private static func isRoot(_ page: Int, of name: String, in bytes: [UInt8]) -> Bool {
    let mark = Array("\(name)\(name)".utf8) + [UInt8(page)] + Array("CREATE TABLE".utf8)
    return bytes.indices.dropLast(mark.count).contains { bytes[$0..<$0 + mark.count].elementsEqual(mark) }
  }

  @Test("a write-ahead log without its database is named", arguments: [false, true])
  func logAlone(_ isEmpty: Bool) throws {
    let folder = try Folder()
    try Data([0x37, 0x7F, 0x06, 0x82]).write(to: URL(filePath: folder("s.sqlite-wal")))
    if isEmpty { try Data().write(to: URL(filePath: folder("s.sqlite"))) }
    let result = try Command.run("dump", folder("s.sqlite"))
    #expect(result.code == (isEmpty ? 65 : 66) && result.errors.contains("s.sqlite-wal is there"), "\(result.errors)")
  }

  @Test("objects of a binary store that cannot be read are left out")
  func binary() throws {
    let folder = try Folder()
    let table = "id:Reference P,name:String,age:Integer 16\n1,a,1\n2,b,30001\n3,c,3\n"
    try Data(table.utf8).write(to: URL(filePath: folder("P.csv")))
    #expect(try Command.run("convert", folder("P.csv"), folder("P.binary"), "--allow-loss").code == 0)
    var bytes = try Self.bytes(folder("P.binary"))
    // The number 30001, and a string of the same size.
    let places = bytes.indices.dropLast(2).filter { Array(bytes[$0...$0 + 2]) == [0x11, 0x75, 0x31] }
    #expect(places.count == 1)
    for place in places { bytes[place] = 0x52 }
    try Data(bytes).write(to: URL(filePath: folder("P.binary")))
    #expect(try Command.run("dump", folder("P.binary")).code == 65)
    let saved = try Command.run(
      arguments: ["convert", folder("P.binary"), folder("P.xml"), "--allow-loss"] + Self.skip)
    #expect(saved.code == 0 && saved.errors.contains("(P/2.age): damaged object"), "\(saved.errors)")
    let rows = try Command.run("fetch", folder("P.xml"), "--entity", "P", "--columns", "name", "--format", "csv")
    #expect(rows.output == "name\na\nc\n")
  }

  @Test("records that cannot be read are left out of CSV", arguments: ["kit", "foreign"])
  func csv(_ kind: String) throws {
    let folder = try Folder()
    let head = kind == "kit" ? "id:Reference P,name:String,age:Integer 16\n" : "id,name,age\n"
    let text = head + "1,a,1\n2,b,old\n3,c\n4,d,4,5,6\nx,e,5\n1,f,6\n7,g,70000\n8,h,8\n"
    try Data(text.utf8).write(to: URL(filePath: folder("P.csv")))
    var options = ["--read-option", "damaged=skip-object"]
    if kind == "foreign" {
      options += ["--read-option", "types=age=Integer 16,id=Integer 64", "--read-option", "key=id"]
    }
    let read = try Command.run(
      arguments: ["fetch", folder("P.csv"), "--entity", "P", "--columns", "name", "--format", "csv"] + options)
    #expect(read.output == "name\na\nh\n", "\(read.output)\(read.errors)")
    let converted = try Command.run(
      arguments: ["convert", folder("P.csv"), folder("p.plist"), "--allow-loss"] + options)
    #expect(
      converted.code == 0 && converted.errors.components(separatedBy: "damaged object").count == 7,
      "\(converted.errors)")
    #expect(converted.errors.contains("P.csv:3:") && converted.errors.contains("P.csv:8:"), "\(converted.errors)")
  }

  @Test("errors of the store as a whole are not skipped")
  func whole() throws {
    for name in ["truncated.xml", "not-a-store.xml", "circle.xml", "unterminated.csv"] {
      let result = try Command.run(
        "dump", "\(Command.samples)/Damaged/\(name)", "--read-option", "damaged=skip-object")
      #expect(result.code == 65 && result.output == "", "\(name)")
    }
    #expect(try Command.run("dump", Command.company, "--read-option", "damaged=no").code == 64)
  }

  @Test("a property list is refused as a whole")
  func propertyList() throws {
    let result = try Command.run(arguments: ["dump", "\(Command.samples)/Damaged/not-utf8.plist"] + Self.skip)
    #expect(result.code == 65 && result.errors.contains("Person.name"), "\(result.errors)")
  }

  @Test("convert --check prints what it finds, also if the conversion is refused", arguments: [false, true])
  func convertCheck(_ isDamaged: Bool) throws {
    let folder = try Folder()
    try Self.damaged(folder)
    // Without damage: a NaN, which a rule of no model forbids, but CSV of one entity loses the other one's objects.
    let source = isDamaged ? folder("d.xml") : folder("rule.xml")
    let model = "\(Command.samples)/Library/Library.xcdatamodeld/Library.xcdatamodel"
    if !isDamaged {
      let made = try Command.run(
        "import", "\(Command.samples)/Library/authors.csv", "\(Command.samples)/Library/books.csv", "-o", source,
        "--model", model)
      #expect(made.code == 0, "\(made.errors)")
      let text = try Self.text(source).replacing(">9.99<", with: ">-9.99<")
      try Data(text.utf8).write(to: URL(filePath: source))
    }
    // An existing target: the conversion is refused, whatever is in the source.
    try Data("x".utf8).write(to: URL(filePath: folder("taken.plist")))
    for target in [folder("taken.plist")] + (isDamaged ? [folder("new.plist")] : []) {
      let result = try Command.run("convert", source, target, "--check")
      #expect(result.code != 0 && result.errors.contains("found: "), "\(result.errors)")
      let json = try Command.run("convert", source, target, "--check", "--json")
      let check = (try json.json() as? [String: Any])?["check"] as? [String: Any]
      #expect((check?["findings"] as? [Any])?.isEmpty == false, "\(json.output)")
    }
    guard !isDamaged else { return }
    let written = try Command.run("convert", source, folder("new.plist"), "--check")
    #expect(written.code == 1 && written.errors.contains("found: Book/1.price"), "\(written.errors)")
  }
}
