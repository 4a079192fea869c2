import AtomicStoreSPI
import Foundation
import StoreJSON
import TestSupport
import Testing

@testable import StoreImporting

@Suite("Members of JSON records") struct JSONMemberTests {
  /// Names that are alike, that are escaped, and that occur within objects.
  private static let names = ["a", "ab", "b", "a.b", "é", "ä", "\\u0061c", "x y", "\\\"", ""]

  /// A random record, and the values by column.
  private static func record(
    _ generator: inout SeededGenerator, depth: Int = 0, prefix: String = ""
  ) throws -> (text: String, fields: [String: String]) {
    var members: [String] = []
    var fields: [String: String] = [:]
    // Mostly in the same order.
    var order = names
    if Int.random(in: 0..<4, using: &generator) == 0 { order.shuffle(using: &generator) }
    for written in order where Int.random(in: 0..<5, using: &generator) > 0 {
      guard case .string(let name) = try JSONReader.read(Array("\"\(written)\"".utf8), name: "") else { continue }
      if depth < 2, !name.isEmpty, name.utf8.count < 3, Int.random(in: 0..<8, using: &generator) == 0 {
        let inner = try record(&generator, depth: depth + 1, prefix: prefix + name + ".")
        guard !inner.fields.keys.contains(where: { fields[$0] != nil }) else { continue }
        fields.merge(inner.fields) { $1 }
        members.append("\"\(written)\": \(inner.text)")
      } else if fields[prefix + name] == nil {
        let number = Int.random(in: 0..<1000, using: &generator)
        fields[prefix + name] = "\(number)"
        members.append("\"\(written)\":\(number)")
      }
    }
    return ("{\(members.joined(separator: ", "))}", fields)
  }

  private static func rows(
    _ bytes: [UInt8], _ known: JSONRecords? = nil
  ) throws -> (columns: [String], rows: [[String: String]], json: JSONRecords?) {
    try bytes.withUnsafeBufferPointer { bytes in
      var reader = JSONRecordReader(bytes, nil, known)
      var record = ImportRecord()
      var rows: [[String: String]] = []
      while try reader.next(&record) {
        var row: [String: String] = [:]
        for (column, name) in reader.columns.enumerated() where record[column].kind != .absent {
          row[name] = record.withText(of: column, bytes) { ValueReader.text($0) }
        }
        rows.append(row)
      }
      return (reader.columns, rows, reader.json)
    }
  }

  @Test(
    "each has the value that its name has, in whatever order records have them, also where the records are known",
    arguments: (0..<60).share(of: "members of JSON records"))
  func order(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    var text = ""
    var wanted: [[String: String]] = []
    for _ in 0..<40 {
      let (line, fields) = try Self.record(&generator)
      text += line + "\n"
      wanted.append(fields)
    }
    let found = try Self.rows(Array(text.utf8))
    #expect(found.rows == wanted)
    let again = try Self.rows(Array(text.utf8), found.json)
    #expect(again.columns.elementsEqual(found.columns) { $0.utf8.elementsEqual($1.utf8) })
    #expect(again.rows == wanted)
  }

  @Test("a member that occurs twice is an error also if the record before had it once")
  func twice() throws {
    let bytes = Array(#"{"a":1,"b":2}"#.utf8 + [UInt8(ascii: "\n")] + #"{"a":1,"b":2,"a":3}"#.utf8)
    #expect(throws: PersistentStoreError.self) { _ = try Self.rows(bytes) }
  }
}
