import Foundation
import Testing

/// A store with numbers, a sub-entity and a unique name, for tests of commands: t.xml with the model T.xcdatamodel.
enum NodeStore {
  /// A model with entities in the form of its file.
  static func writeModel(_ entities: String, to path: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let text = """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
      \(entities)
      </model>
      """
    try text.write(toFile: path + "/contents", atomically: false, encoding: .utf8)
  }

  static func attribute(_ name: String, _ type: String) -> String {
    "<attribute name=\"\(name)\" optional=\"YES\" attributeType=\"\(type)\" usesScalarValueType=\"NO\"/>"
  }

  /// Node, its sub-entity SubNode, and Tag, whose name is unique.
  static func entities(_ nodeAttributes: String) -> String {
    """
    <entity name="Node" syncable="YES">\(nodeAttributes)</entity>
    <entity name="SubNode" parentEntity="Node" syncable="YES">\(attribute("extra", "String"))</entity>
    <entity name="Tag" syncable="YES">\(attribute("name", "String"))
      <uniquenessConstraints><uniquenessConstraint><constraint value="name"/></uniquenessConstraint></uniquenessConstraints>
    </entity>
    """
  }

  static func make(in folder: borrowing Folder) throws {
    let attributes = attribute("i", "Integer 16") + attribute("d", "Double") + attribute("s", "String")
    try writeModel(entities(attributes), to: folder("T.xcdatamodel"))
    try "id,i,d,s\n1,1,0.5,one\n2,2,1.5,two\n".write(toFile: folder("Node.csv"), atomically: false, encoding: .utf8)
    try "id,i,s\n7,7,seven\n".write(toFile: folder("SubNode.csv"), atomically: false, encoding: .utf8)
    try "id,name\n1,red\n2,green\n".write(toFile: folder("Tag.csv"), atomically: false, encoding: .utf8)
    let made = try Command.run(
      "import", "Node.csv", "SubNode.csv", "Tag.csv", "-o", "t.xml", "--model", "T.xcdatamodel", in: folder.path)
    #expect(made.code == 0, "\(made.errors)")
  }

  /// Runs lines for the shell, in which the command is `"$0"`, all of which must succeed.
  static func shell(_ lines: String, in folder: borrowing Folder) throws {
    let result = try Command.shell("set -e\n" + lines, in: folder.path)
    #expect(result.code == 0, "\(result.errors)")
  }
}
