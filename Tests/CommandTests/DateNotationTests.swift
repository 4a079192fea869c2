import Foundation
import Testing

@Suite("Dates far away") struct DateNotationTests {
  @Test(
    "a date has one notation in dump, JSON, CSV, tables and values to set, and reads back equal",
    arguments: ["0000-12-30T00:00:00Z", "4001-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00.5Z"])
  func notation(_ text: String) throws {
    let folder = try Folder()
    try NodeStore.writeModel(
      "<entity name=\"E\" syncable=\"YES\">\(NodeStore.attribute("d", "Date"))</entity>", to: folder("M.xcdatamodel"))
    try "id,d\n1,\(text)\n2,\n".write(toFile: folder("E.csv"), atomically: false, encoding: .utf8)
    try NodeStore.shell("\"$0\" import E.csv -o e.xml --model M.xcdatamodel", in: folder)
    for arguments in [
      ["dump", "e.xml"], ["dump", "e.xml", "--json"], ["fetch", "e.xml", "--entity", "E", "--format", "csv"],
      ["fetch", "e.xml", "--entity", "E", "--json"], ["fetch", "e.xml", "--entity", "E"],
    ] {
      let result = try Command.run(arguments: arguments, in: folder.path)
      #expect(result.code == 0 && result.output.contains(text), "\(arguments): \(result.output)")
    }
    try NodeStore.shell(
      """
      cp e.xml f.xml
      "$0" set f.xml --entity E --where "d == nil" "d:=\(text)"
      "$0" set f.xml --entity E --where "d == CAST('\(text)', 'NSDate')" "d=CAST('\(text)', 'NSDate')"
      "$0" convert e.xml g.csvstore
      "$0" convert g.csvstore h.sqlite
      "$0" convert h.sqlite i.xml
      "$0" diff e.xml i.xml
      """, in: folder)
    let count = try Command.run(
      "fetch", "f.xml", "--entity", "E", "--where", "d == CAST('\(text)', 'NSDate')", "--count", in: folder.path)
    #expect(count.output == "2\n", "\(count.output)\(count.errors)")
  }
}
