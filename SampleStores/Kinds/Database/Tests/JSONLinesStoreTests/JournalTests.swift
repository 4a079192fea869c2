import AtomicStoreSPI
import Foundation
import Testing

@testable import JSONLinesStore

/// The conformance checks know nothing of the file: what a kill or damage leaves of it is tested here.
@Suite("The journal of a database") struct JournalTests {
  private final class Folder {
    let path = NSTemporaryDirectory() + "journal-" + UUID().uuidString
    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  private static let records: [[UInt8]] = [Array("first".utf8), [], Array("third".utf8)]

  /// The bytes of a journal with these records.
  private static func makeJournal(at path: String) throws -> [UInt8] {
    var journal = Journal(path: path, isReadOnly: false)
    defer { journal.close() }
    #expect(try journal.open(creates: true))
    #expect(try journal.extent() == nil)
    try journal.begin()
    #expect(try journal.extent() == nil)
    for (index, record) in records.enumerated() { _ = try journal.append(record, startsHere: index == 0) }
    return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
  }

  /// The current records of a file; nil for a file without a store.
  private static func records(at path: String, _ bytes: [UInt8]) throws -> [[UInt8]]? {
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    var journal = Journal(path: path, isReadOnly: true)
    defer { journal.close() }
    #expect(try journal.open(creates: false))
    guard let extent = try journal.extent() else { return nil }
    var records: [[UInt8]] = []
    var position = extent.start
    while position < extent.end {
      let (record, end) = try journal.record(at: position, until: extent.end)
      records.append(record)
      position = end
    }
    return records
  }

  @Test("what a killed process has written and not counted is ignored, and overwritten by the next record")
  func uncounted() throws {
    let folder = try Folder()
    let path = folder.path + "/store"
    let bytes = try Self.makeJournal(at: path)
    let left = bytes + [UInt8](repeating: 7, count: 1000)
    #expect(try Self.records(at: path, left) == Self.records)
    var journal = Journal(path: path, isReadOnly: false)
    defer { journal.close() }
    _ = try journal.open(creates: false)
    _ = try journal.append([4], startsHere: false)
    let after = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    #expect(try Self.records(at: folder.path + "/copy", after) == Self.records + [[4]])
  }

  @Test("a record that replaces everything is the first that counts")
  func replaced() throws {
    let folder = try Folder()
    let path = folder.path + "/store"
    _ = try Self.makeJournal(at: path)
    var journal = Journal(path: path, isReadOnly: false)
    defer { journal.close() }
    _ = try journal.open(creates: false)
    _ = try journal.append([4], startsHere: true)
    _ = try journal.append([5], startsHere: false)
    let after = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    #expect(try Self.records(at: folder.path + "/copy", after) == [[4], [5]])
  }

  @Test("a file that was cut is refused, wherever it was")
  func cut() throws {
    let folder = try Folder()
    let bytes = try Self.makeJournal(at: folder.path + "/store")
    for count in 1..<bytes.count {
      let error = #expect(throws: PersistentStoreError.self, "\(count) bytes") {
        try Self.records(at: folder.path + "/cut", Array(bytes.prefix(count)))
      }
      #expect(error?.code == .malformed)
    }
  }

  @Test("a changed byte is refused, wherever it is")
  func damaged() throws {
    let folder = try Folder()
    let bytes = try Self.makeJournal(at: folder.path + "/store")
    for place in bytes.indices {
      var damaged = bytes
      damaged[place] ^= 0x10
      #expect(throws: PersistentStoreError.self, "byte \(place)") {
        try Self.records(at: folder.path + "/damaged", damaged)
      }
    }
  }
}
