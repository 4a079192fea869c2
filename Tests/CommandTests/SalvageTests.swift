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

  @Test("objects that cannot be read are left out of an XML store, with references to them; each is listed")
  func xml() throws {
    let folder = try Folder()
    try Self.damaged(folder)
    let refused = try Command.run("dump", folder("d.xml"))
    #expect(refused.code == 65, "\(refused.errors)")
    let saved = try Command.run(
      "convert", folder("d.xml"), folder("s.xml"), "--read-option", "damaged=skip-object", "--read-option",
      "inverses=from-to-one")
    #expect(saved.code == 0, "\(saved.errors)")
    for text in [
      "'odd' is not an object identifier", "EMP/104: left out, because it is damaged: 'old'", "EMP/105: left out",
      "<oops>", "zz9", "EMP/106.dept: reference left out: DEPT/102 does not exist",
    ] { #expect(saved.errors.localizedCaseInsensitiveContains(text), "\(text): \(saved.errors)") }
    let rows = try Command.run("dump", folder("s.xml"))
    #expect(
      rows.output.components(separatedBy: "/").count > 2 && rows.output.contains("106") && !rows.output.contains("104"),
      "\(rows.output)")
    #expect(try Command.run("check", folder("s.xml")).code == 0)
  }

  @Test("check lists every object that cannot be read, and --fix writes a store without them")
  func checking() throws {
    let folder = try Folder()
    try Self.damaged(folder)
    let found = try Command.run("check", folder("d.xml"), "--json")
    #expect(found.code == 1)
    let counts = (try found.json() as? [String: Any])?["counts"] as? [String: Int]
    #expect(counts?["unreadable"] == 4, "\(found.output)")
    let fixed = try Command.run(
      "check", folder("d.xml"), "--fix", "damaged=skip-object", "--fix", "inverses=from-to-one", "-o", folder("f.xml"))
    #expect(fixed.code == 0, "\(fixed.output)\(fixed.errors)")
  }

  @Test("records that cannot be read are left out of CSV", arguments: ["kit", "foreign"])
  func csv(_ kind: String) throws {
    let folder = try Folder()
    let head = kind == "kit" ? "id:Reference P,name:String,age:Integer 16\n" : "id,name,age\n"
    let text = head + "1,a,1\n2,b,old\n3,c\n4,d,4,5,6\nx,e,5\n1,f,6\n7,g,70000\n8,h,8\n"
    try Data(text.utf8).write(to: URL(filePath: folder("P.csv")))
    var options = ["--read-option", "damaged=skip-object"]
    if kind == "foreign" { options += ["--read-option", "types=age=Integer 16,id=Integer 64", "--read-option", "key=id"] }
    let read = try Command.run(
      arguments: ["fetch", folder("P.csv"), "--entity", "P", "--columns", "name", "--format", "csv"] + options)
    #expect(read.output == "name\na\nh\n", "\(read.output)\(read.errors)")
    let converted = try Command.run(arguments: ["convert", folder("P.csv"), folder("p.plist")] + options)
    #expect(converted.code == 0 && converted.errors.components(separatedBy: "left out").count == 7, "\(converted.errors)")
    #expect(converted.errors.contains("line 3") && converted.errors.contains("line 8"), "\(converted.errors)")
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
}
