import Foundation
import Testing

@Suite("What fetch prints, imported again") struct ImportedKeyTests {
  private static func folder() throws -> Folder {
    let folder = try Folder()
    try FileManager.default.createDirectory(atPath: folder("M.xcdatamodel"), withIntermediateDirectories: false)
    try """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="N"><attribute name="objectID" optional="YES" attributeType="Integer 64"/>
            <attribute name="name" optional="YES" attributeType="String"/>
            <relationship name="parent" optional="YES" maxCount="1" destinationEntity="N"/></entity>
        <entity name="B"><attribute name="name" optional="YES" attributeType="String"/>
            <attribute name="bin" optional="YES" attributeType="Binary"/>
            <attribute name="code" optional="YES" attributeType="Transformable"/>
            <relationship name="next" optional="YES" maxCount="1" destinationEntity="B" inverseName="previous" inverseEntity="B"/>
            <relationship name="previous" optional="YES" toMany="YES" ordered="YES" destinationEntity="B" inverseName="next" inverseEntity="B"/></entity>
    </model>
    """.write(toFile: folder("M.xcdatamodel/contents"), atomically: false, encoding: .utf8)
    return folder
  }

  private static func run(
    _ arguments: [String], in folder: borrowing Folder, code: Int32 = 0, _ input: String? = nil
  ) throws -> Command.Result {
    let result = try Command.run(arguments: arguments, input: input.map { Data($0.utf8) }, in: folder.path)
    #expect(result.code == code, "\(arguments): \(result.errors)")
    return result
  }

  @Test("a property called objectID is not the reference of the object", arguments: ["json", "ndjson", "arrow", "csv"])
  func objectID(_ form: String) throws {
    let folder = try Self.folder()
    _ = try Self.run(
      ["import", "N=-", "--key", "N=id", "--model", "M.xcdatamodel", "-o", "a.xml"], in: folder,
      "id,objectID,name,parent\n1,2,a,\n2,3,b,1\n3,1,c,2\n")
    let table = try Self.run(["fetch", "a.xml", "--entity", "N", "--format", form], in: folder)
    try table.data.write(to: URL(filePath: folder("N.\(form)")))
    let back = try Self.run(["import", "N.\(form)", "--model", "a.xml", "-o", "b.xml"], in: folder)
    #expect(!back.errors.contains("left out"), "\(back.errors)")
    let changes = try Self.run(["diff", "a.xml", "b.xml"], in: folder, code: form == "arrow" ? 0 : 1).output
    #expect(changes.split(separator: "\n").allSatisfy { $0.hasPrefix("~ UUID") }, "\(changes)")
  }

  @Test(
    "CSV of fetch updates the objects that it names, and a new store of it is equal", arguments: ["1", "a b", "x/y"])
  func references(_ key: String) throws {
    let folder = try Self.folder()
    _ = try Self.run(
      ["import", "B=-", "--model", "M.xcdatamodel", "-o", "a.xml"], in: folder,
      "id,name,next\n\(key),old,\n2,two,\(key)\n3,,\(key)\n")
    let table = try Self.run(["fetch", "a.xml", "--entity", "B", "--format", "csv"], in: folder).output
    #expect(table.contains("B/"), "\(table)")
    _ = try Self.run(
      ["import", "B=-", "--into", "a.xml", "--upsert", "key", "-o", "b.xml"], in: folder,
      table.replacing(",old,", with: ",new,"))
    let changes = try Self.run(["diff", "a.xml", "b.xml"], in: folder, code: 1).output
    #expect(changes == "~ B/\(key).name: \"old\" → \"new\"\n", "\(changes)")
    _ = try Self.run(["import", "B=-", "--model", "a.xml", "-o", "c.xml"], in: folder, table)
    let made = try Self.run(["diff", "a.xml", "c.xml"], in: folder, code: 1).output
    #expect(made.split(separator: "\n").allSatisfy { $0.hasPrefix("~ UUID") }, "\(made)")
  }

  @Test("a text reference that begins like an entity's name and a slash stays what it is")
  func slash() throws {
    let folder = try Self.folder()
    _ = try Self.run(
      ["import", "B=-", "--model", "M.xcdatamodel", "-o", "a.xml"], in: folder, "id,name,next\nB/1,one,\n1,two,B/1\n")
    _ = try Self.run(
      ["import", "B=-", "--into", "a.xml", "--upsert", "key", "-o", "b.xml"], in: folder, "id,name\nB/1,uno\n")
    let changes = try Self.run(["diff", "a.xml", "b.xml"], in: folder, code: 1).output
    #expect(changes == "~ B/B/1.name: \"one\" → \"uno\"\n", "\(changes)")
  }

  @Test("objects are found by their binary data, too", arguments: ["bin", "code"])
  func binary(_ property: String) throws {
    let folder = try Self.folder()
    func table(_ name: String) -> String {
      #"[{"name":"\#(name)","\#(property)":{"base64":"AA=="}},{"name":"same","\#(property)":{"base64":"AQ=="}}]"#
    }
    _ = try Self.run(["import", "B=-", "--model", "M.xcdatamodel", "-o", "a.xml"], in: folder, table("old"))
    _ = try Self.run(
      ["import", "B=-", "--into", "a.xml", "--upsert", "B.\(property)", "-o", "b.xml"], in: folder, table("new"))
    let changes = try Self.run(["diff", "a.xml", "b.xml"], in: folder, code: 1).output
    #expect(changes == "~ B/1.name: \"old\" → \"new\"\n", "\(changes)")
  }
}
