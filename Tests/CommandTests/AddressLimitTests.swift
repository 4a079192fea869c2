import Foundation
import Testing

/// What happens to a store if the system has too little memory for it.
@Suite("Conversions with few addresses") struct AddressLimitTests {
  @Test("a conversion is right or it fails, whatever the limit")
  func conversions() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    // Columns of some megabytes grow in many steps.
    var rows = "number,text,more\n"
    for row in 0..<3000 {
      rows += "\(row),\(String(repeating: "text \(row) ", count: 300)),\(String(repeating: "m\(row)", count: 200))\n"
    }
    try Data(rows.utf8).write(to: folder.appending(path: "rows.csv"))
    try #require(try Command.run("convert", "rows.csv", "rows.xml", in: folder.path).code == 0)
    var ends: Set<Bool> = []
    for limit in stride(from: 100_000, through: 600_000, by: 25_000) {
      let result = try Command.run(
        arguments: [], in: folder.path,
        shell: "ulimit -v \(limit); \"$0\" convert rows.xml result.plist --force --jobs 1")
      ends.insert(result.code == 0)
      guard result.code == 0 else { continue }
      let difference = try Command.run("diff", "rows.xml", "result.plist", in: folder.path)
      #expect(difference.code == 0, "\(limit) kilobytes: \(difference.output.prefix(300))")
    }
    #expect(ends == [true, false], "no limit was near the need")
  }

  @Test("a load of references that are texts is complete or ends with an error, wherever memory ends")
  func references() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "limits-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let rows = (0..<100_000).map { "the text of reference \($0),\($0)\n" }.joined()
    try Data(("id,number\n" + rows).utf8).write(to: folder.appending(path: "Node.csv"))
    let made = try Command.run("convert", "Node.csv", "nodes.xml", "--read-option", "key=id", in: folder.path)
    try #require(made.code == 0, "\(made.errors)")
    var ends: Set<Int32> = []
    for limit in stride(from: 140_000, through: 300_000, by: 8_000) {
      let result = try Command.run(
        arguments: [], in: folder.path,
        shell: "ulimit -v \(limit); \"$0\" convert nodes.xml result.plist --force --jobs 1")
      ends.insert(result.code)
      guard result.code != 0 else { continue }
      #expect(
        result.code == 65 && result.errors.contains("memory"), "\(limit) kilobytes: \(result.errors.prefix(300))"
      )
    }
    #expect(ends == [0, 65], "no limit was near the need")
  }
}
