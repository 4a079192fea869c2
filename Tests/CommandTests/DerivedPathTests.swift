import Foundation
import Testing

@Suite("Filtered counts and sums over paths, whatever changes a store") struct DerivedPathTests {
  /// Teams have projects, and these have tasks. A team has the number of its open tasks that take longer than an hour,
  /// and the hours of all.
  private static let model = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="Team" syncable="YES">
            <attribute name="name" optional="YES" attributeType="String"/>
            <attribute name="open" optional="YES" attributeType="Integer 64" derived="YES"
                derivationExpression="SUBQUERY(projects.tasks, $t, $t.isOpen == YES AND $t.hours &gt; 1).@count"/>
            <attribute name="hours" optional="YES" attributeType="Integer 64" derived="YES"
                derivationExpression="projects.@sum.tasks.hours"/>
            <relationship name="projects" optional="YES" toMany="YES" destinationEntity="Project" inverseName="team" inverseEntity="Project"/>
        </entity>
        <entity name="Project" syncable="YES">
            <relationship name="team" optional="YES" maxCount="1" destinationEntity="Team" inverseName="projects" inverseEntity="Team"/>
            <relationship name="tasks" optional="YES" toMany="YES" destinationEntity="Task" inverseName="project" inverseEntity="Task"/>
        </entity>
        <entity name="Task" syncable="YES">
            <attribute name="isOpen" optional="YES" attributeType="Boolean"/>
            <attribute name="hours" optional="YES" attributeType="Integer 64"/>
            <relationship name="project" optional="YES" maxCount="1" destinationEntity="Project" inverseName="tasks" inverseEntity="Project"/>
        </entity>
    </model>
    """

  @Test(
    "import, set, insert, delete, an update by key, merge, patch and migrate leave what the expressions give",
    arguments: ["xml", "csvstore", "sqlgraph"])
  func everyCommand(_ type: String) throws {
    let folder = try Folder()
    func write(_ text: String, _ name: String) throws {
      try text.write(toFile: folder(name), atomically: false, encoding: .utf8)
    }
    for name in ["D", "Next"] {
      try FileManager.default.createDirectory(atPath: folder("\(name).xcdatamodel"), withIntermediateDirectories: false)
    }
    try write(Self.model, "D.xcdatamodel/contents")
    let next = Self.model.replacing(" AND $t.hours &gt; 1", with: "").replacing("@sum", with: "@max")
    try write(next, "Next.xcdatamodel/contents")
    try write("id,name\n1,A\n2,B\n", "team.csv")
    try write("id,team_id\n1,1\n2,1\n3,2\n", "project.csv")
    try write("id,isOpen,hours,project_id\n1,true,5,1\n2,false,7,2\n3,true,1,1\n4,true,9,3\n", "task.csv")

    /// Runs a command, and expects the number of open tasks and the hours of both teams in its result.
    func run(_ arguments: [String], input: String = "", _ store: String, _ a: String, _ b: String) throws {
      let result = try Command.run(arguments: arguments, input: Data(input.utf8), in: folder.path)
      #expect(result.code == 0, "\(arguments): \(result.errors)")
      let found = try Command.run(
        "fetch", store, "--entity", "Team", "--columns", "name,open,hours", "--format", "csv", "--sort", "name",
        in: folder.path)
      #expect(found.output == "name,open,hours\nA,\(a)\nB,\(b)\n", "\(arguments): \(found.errors)")
      let check = try Command.run("check", store, in: folder.path)
      #expect(check.code == 0 && !(check.output + check.errors).contains("gives"), "\(check.output)\(check.errors)")
    }
    let store = "d.\(type)"
    func task(_ condition: String) -> [String] { ["--entity", "Task", "--where", condition] }
    func copy(_ name: String, _ arguments: [String]) -> [String] { arguments + ["-o", "\(name).\(type)"] }
    try run(
      ["import", "team.csv", "project.csv", "task.csv", "-o", store, "--model", "D.xcdatamodel"], store, "1,13", "1,9")
    try run(["set", store] + task("hours == 1") + ["hours=2"], store, "2,14", "1,9")
    try run(["set", store] + task("hours == 9") + ["project:=Project/2"], store, "3,23", "0,0")
    try run(
      ["insert", store, "--entity", "Task", "isOpen=YES", "hours=4", "project:=Project/3"], store, "3,23", "1,4")
    try run(["delete", store] + task("hours == 5"), store, "2,18", "1,4")
    try run(
      ["import", "Task=-", "--into", store, "--upsert", "key"],
      input: "id,isOpen,hours,project_id\n2,true,8,3\n", store, "2,11", "2,12")
    try run(copy("one", ["set", store] + task("hours == 8") + ["hours=18"]), "one.\(type)", "2,11", "2,22")
    try run(copy("other", ["set", store] + task("hours == 4") + ["isOpen=NO"]), "other.\(type)", "2,11", "1,12")
    try run(
      copy("both", ["merge", "--base", store, "one.\(type)", "other.\(type)"]), "both.\(type)", "2,11", "1,22")
    let patch = try Command.run("diff", store, "one.\(type)", "--patch", in: folder.path).output
    try run(["patch", store, "-"], input: patch, store, "2,11", "2,22")
    try run(copy("next", ["migrate", store, "--model", "Next.xcdatamodel"]), "next.\(type)", "2,9", "2,18")
  }
}
