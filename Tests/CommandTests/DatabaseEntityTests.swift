import Foundation
import Testing

@Suite("A merge into a database keeps the entity of each object") struct DatabaseEntityTests {
  private static let model = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="Employee" syncable="YES">
            <attribute name="name" optional="YES" attributeType="String"/>
            <relationship name="projects" optional="YES" toMany="YES" destinationEntity="Project" inverseName="lead" inverseEntity="Project"/>
        </entity>
        <entity name="Manager" parentEntity="Employee" syncable="YES"/>
        <entity name="Project" syncable="YES">
            <attribute name="title" optional="YES" attributeType="String"/>
            <relationship name="lead" optional="YES" maxCount="1" destinationEntity="Employee" inverseName="projects" inverseEntity="Employee"/>
        </entity>
    </model>
    """

  @Test("an object that would get another one is refused by name, and the database stays as it was")
  func refused() throws {
    let folder = try Folder()
    try FileManager.default.createDirectory(atPath: folder("M.xcdatamodel"), withIntermediateDirectories: false)
    try Self.model.write(toFile: folder("M.xcdatamodel/contents"), atomically: false, encoding: .utf8)
    try "id,name\n1,Ada\n".write(toFile: folder("people.csv"), atomically: false, encoding: .utf8)
    try "id,title,lead_id\n5,One,1\n".write(toFile: folder("projects.csv"), atomically: false, encoding: .utf8)
    for (entity, store) in [("Manager", "north.xml"), ("Employee", "south.sqlgraph"), ("Employee", "before.xml")] {
      let made = try Command.run(
        "import", "\(entity)=people.csv", "Project=projects.csv", "-o", store, "--model", "M.xcdatamodel",
        in: folder.path)
      #expect(made.code == 0, "\(made.errors)")
    }
    for dryRun in [["--dry-run"], []] {
      let merged = try Command.run(
        arguments: ["merge", "north.xml", "south.sqlgraph", "-o", "south.sqlgraph", "--force"] + dryRun, in: folder.path
      )
      #expect(merged.code != 0 && merged.errors.contains("Employee/1 would become Manager/1"), "\(merged.errors)")
    }
    let diff = try Command.run("diff", "before.xml", "south.sqlgraph", "--ignore-uuid", in: folder.path)
    #expect(diff.code == 0 && diff.output.isEmpty, "\(diff.output)\(diff.errors)")
  }
}
