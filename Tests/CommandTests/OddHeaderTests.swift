import Foundation
import Testing

/// Tables of other programs have columns whose names begin like the operators of key paths: `@timestamp`, `@id`.
@Suite("atomicstore fetch: columns whose names begin with @") struct OddHeaderTests {
  private static let table = "id,@timestamp,@host\n1,30,b\n2,10,a\n3,20,b\n"

  /// A copy of the table in the given format.
  private static func withStore(_ name: String, _ body: (String, [String]) throws -> Void) throws {
    let folder = NSTemporaryDirectory() + "odd-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/Event.csv"
    try table.write(toFile: path, atomically: false, encoding: .utf8)
    let options = ["--read-option", "key=id"]
    if name == "Event.csv" { return try body(path, options) }
    let result = try Command.run(arguments: ["convert", path, folder + "/" + name] + options)
    #expect(result.code == 0, "\(result.errors)")
    try body(folder + "/" + name, [])
  }

  @Test(
    "are read, filtered, sorted, counted and grouped like others",
    arguments: ["Event.csv", "Event.xml", "Event.plist", "Event.sqlgraph"])
  func odd(_ name: String) throws {
    try Self.withStore(name) { path, options in
      func rows(_ arguments: String...) throws -> [Substring] {
        let result = try Command.run(
          arguments: ["fetch", path, "--entity", "Event", "--format", "csv"] + options + arguments)
        #expect(result.code == 0, "\(arguments): \(result.errors)")
        return result.output.split(separator: "\n")
      }
      let all = try rows()
      #expect(all.count == 4 && all[0].contains("@timestamp") && all[0].contains("@host"), "\(all)")
      #expect(try rows("--columns", "@host", "--sort", "@timestamp").dropFirst() == ["a", "b", "b"])
      #expect(
        try rows("--columns", "@host", "--where", "@timestamp > '15'", "--sort", "-@timestamp").dropFirst()
          == ["b", "b"])
      #expect(
        try rows("--group", "@host", "--columns", "@host,@count,max:(@timestamp) AS last", "--sort", "@host")
          .dropFirst()
          == ["a,1,10", "b,2,30"])
      #expect(try rows("--count", "--where", "@host == 'b' AND @timestamp BETWEEN {'20', '25'}") == ["1"])
    }
  }

  @Test("an operator that does not exist is still reported as that")
  func unknown() throws {
    let result = try Command.run(
      arguments: ["fetch", Command.company, "--entity", "Department", "--where", "employees.@cuont > 1"])
    #expect(result.code == 64)
    #expect(result.errors.contains("unknown operator '@cuont'") && result.errors.contains("@count"), "\(result.errors)")
  }
}
