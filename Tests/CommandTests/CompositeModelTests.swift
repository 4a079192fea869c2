import Foundation
import Testing

/// Models whose composite attributes changed: what each command says of them.
@Suite("Composite attributes of two versions of a model") struct CompositeModelTests {
  private static let model = Command.samples + "/Company/Company.xcdatamodeld/Company.xcdatamodel"

  /// The model with one text replaced.
  private static func changed(_ old: String, _ new: String, in folder: borrowing Folder) throws -> String {
    var text = try String(contentsOfFile: model + "/contents", encoding: .utf8)
    #expect(text.contains(old))
    text.replace(old, with: new)
    let path = folder("N.xcdatamodel")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(filePath: path + "/contents"))
    return path
  }

  private static func city(_ path: String, _ key: String) throws -> String {
    try Command.run(
      "fetch", path, "--entity", "Employee", "--columns", key, "--where", "\(key) != nil", "--format", "csv"
    )
    .output
  }

  @Test(
    "model diff, migrate and fetch --model agree whether a store fits, and that a renaming can be inferred",
    arguments: [
      (
        "name=\"address\"", "name=\"home\" elementID=\"address\"", "home.city", "address.city is Employee.home.city now"
      ),
      (
        "name=\"city\"", "name=\"town\" elementID=\"city\"", "address.town", "address.city is Employee.address.town now"
      ),
      ("name=\"floor\" optional=\"YES\"", "name=\"floor\"", "address.city", "Department.floor: optional → required"),
      ("minValueString=\"-2\"", "minValueString=\"-3\"", "address.city", nil),
    ] as [(String, String, String, String?)])
  func agree(_ old: String, _ new: String, _ key: String, _ difference: String?) throws {
    let folder = try Folder()
    let path = try Self.changed(old, new, in: folder)
    let diff = try Command.run("model", "diff", Self.model, path)
    #expect(diff.code == (difference == nil ? 0 : 1) && diff.output.contains(difference ?? "match"), "\(diff.output)")
    #expect(difference == nil || diff.output.contains("the migration can be inferred"), "\(diff.output)")
    let stored = try Command.run("model", "diff", Command.company, path, "--json")
    #expect(((try stored.json() as? [String: Any])?["isCompatible"] as? Bool) == (difference == nil))
    let read = try Command.run("fetch", Command.company, "--model", path, "--entity", "Employee", "--limit", "1")
    #expect(read.code == (difference == nil ? 0 : 65), "\(read.errors)")
    let migrated = try Command.run("migrate", Command.company, "--model", path, "-o", folder("n.xml"), "--json")
    let steps = (try migrated.json() as? [String: Any])?["steps"] as? [[String: Any]]
    // Rules alone are not a difference for a store, which gets them all the same.
    #expect(migrated.code == 0 && steps?.count == 1, "\(migrated.errors)")
    #expect(
      try Self.city(folder("n.xml"), key).dropFirst(key.count)
        == Self.city(Command.company, "address.city").dropFirst(12))
  }

  @Test(
    "a part that was renamed is a difference that the version hash does not have, which model diff says",
    arguments: [false, true])
  func beyondHashes(_ isStore: Bool) throws {
    let folder = try Folder()
    let path = try Self.changed("name=\"city\"", "name=\"town\"", in: folder)
    let diff = try Command.run("model", "diff", isStore ? Command.company : Self.model, path)
    #expect(diff.code == 1 && diff.output.contains("the version hashes match, but"), "\(diff.output)")
    #expect(diff.output.contains("Employee.address.town: only in \(path) (not in the version hash)"), "\(diff.output)")
    let json = try #require(
      try Command.run("model", "diff", Self.model, path, "--json").json() as? [String: Any])
    let differences = try #require(json["differences"] as? [[String: Any]])
    #expect(differences.count == 2 && differences.allSatisfy { $0["isInHash"] as? Bool == false })
  }

  @Test(
    "a mapping file names composite attributes and parts",
    arguments: [
      ("name=\"address\"", "name=\"home\"", #""home": {"from": "address"}"#, "home.city"),
      ("name=\"city\"", "name=\"town\"", #""address.town": {"from": "address.city"}"#, "address.town"),
    ])
  func mapping(_ old: String, _ new: String, _ rules: String, _ key: String) throws {
    let folder = try Folder()
    let path = try Self.changed(old, new, in: folder)
    try Data(#"{"entities": {"Employee": {"properties": {\#(rules)}}}}"#.utf8).write(
      to: URL(filePath: folder("m.json")))
    let arguments = ["migrate", Command.company, "--model", path, "-o", folder("n.xml")]
    let refused = try Command.run(arguments: arguments)
    #expect(
      refused.code == 65 && refused.errors.contains("attribute-dropped: Employee.address.city"), "\(refused.errors)")
    let mapped = try Command.run(arguments: arguments + ["--mapping", folder("m.json")])
    #expect(mapped.code == 0, "\(mapped.errors)")
    #expect(
      try Self.city(folder("n.xml"), key).dropFirst(key.count)
        == Self.city(Command.company, "address.city").dropFirst(12))
  }

  @Test("a to-many that becomes required and is empty is migrated, and check warns of it")
  func requiredToMany() throws {
    let folder = try Folder()
    let path = try Self.changed("name=\"projects\" optional=\"YES\"", "name=\"projects\"", in: folder)
    let migrated = try Command.run("migrate", Command.company, "--model", path, "-o", folder("n.xml"))
    #expect(migrated.code == 0, "\(migrated.errors)")
    let checked = try Command.run("check", folder("n.xml"))
    #expect(checked.code == 0 && checked.output.contains("projects: an object is needed"), "\(checked.output)")
  }
}
