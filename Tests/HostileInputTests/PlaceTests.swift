import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCodecs
import StoreMutation
import Testing

/// Errors that fuzzing found to lack a place, and values that could be read and not written.
@Suite("Findings of fuzzing") struct PlaceTests {
  private static func failure(_ body: () throws -> Void) throws -> PersistentStoreError {
    do { try body() } catch let error as PersistentStoreError { return error }
    throw Unexpected()
  }
  private struct Unexpected: Error {}

  /// A list of one integer of sixteen bytes.
  private static func list(integer bytes: [UInt8]) -> [UInt8] {
    Array("bplist00".utf8) + [0x14] + bytes + [8, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1]
      + [UInt8](repeating: 0, count: 15) + [25]
  }

  @Test("an integer that cannot be written to a property list is not read either")
  func wideInteger() throws {
    let greatest = [UInt8](repeating: 0, count: 8) + [UInt8](repeating: 0xFF, count: 8)
    #expect(try PropertyList.decodeBinary(Self.list(integer: greatest)) == .integer(Int128(UInt64.max)))
    for beyond in [
      [UInt8](repeating: 0, count: 7) + [1] + [UInt8](repeating: 0, count: 8), [UInt8](repeating: 0x80, count: 16),
    ] {
      let error = try Self.failure { _ = try PropertyList.decodeBinary(Self.list(integer: beyond)) }
      #expect(error.code == .invalidValue)
      #expect(error.location.offset == 8)
    }
  }

  @Test(
    "a file that is not an XML property list is refused at its first line, and a document without an element at its end"
  )
  func noList() throws {
    #expect(try Self.failure { _ = try PropertyList.decodeXML(Array("{ a = 1; }".utf8).span) }.location.line == 1)
    // UTF-16 of which half is missing: the parser gives up without a word.
    let text = Array("<?xml version=\"1.0\" encoding=\"UTF-16\"?>".utf8).flatMap { [$0, 0] } + Array("<?xml".utf8)
    #expect(try Self.failure { _ = try XMLElement.parse(text.span) }.location.line != nil)
  }

  @Test("a refused document leaks no memory")
  func leak() async {
    // In its own process, where no other test takes memory meanwhile.
    await #expect(processExitsWith: .success) { if !PlaceTests.refusalsLeaveNothing() { exit(1) } }
  }

  static func refusalsLeaveNothing() -> Bool {
    let documents = [
      "<!DOCTYPE a [<!ENTITY b \"c\">]><plist><true/></plist>", "<plist><array>", "<plist a='1' a='1'/>",
    ].map { Array($0.utf8) }
    func refuse(_ times: Int) {
      for number in 0..<times {
        let document = documents[number % 3]
        _ = try? PropertyList.decodeXML(document.span)
      }
    }
    refuse(300)
    // Thirty-seven million bytes, where each document with an entity kept what it had.
    return PeakMemory.growth { refuse(9000) } < 16 << 20
  }

  @Test("building a table leaks no memory")
  func builder() async {
    await #expect(processExitsWith: .success) { if try !PlaceTests.buildingLeavesNothing() { exit(1) } }
  }

  static func buildingLeavesNothing() throws -> Bool {
    let model = try ManagedObjectModel(ModelDescription(entities: [EntityDescription(name: "Node")]))
    let references = (1...50_000).map { Int64($0) }
    func build(_ times: Int) throws {
      for _ in 0..<times {
        let builder = NodeTableBuilder(model: model)
        try builder.appendRows(entity: 0, references: references.span)
        // The first line that is noted makes room for the lines of all rows: 200,000 bytes.
        try builder.beginNode(entity: 0, reference: 50_001, line: 7)
        _ = try builder.finish()
      }
    }
    try build(5)
    return try PeakMemory.growth { try build(200) } < 16 << 20
  }

  @Test("an error in a part that cannot be parsed has the part's location", arguments: ["model", "spare"])
  func propertyListStore(_ part: String) throws {
    let sample = MutationTests.samples + "/FriendInfo/FriendInfo.plist"
    var bytes = Array(try Data(contentsOf: URL(filePath: sample)))
    if part == "model" {
      // A key of the model becomes one that no one knows, as a newer version might have it.
      guard let place = bytes.firstRange(of: Array("properties".utf8))?.lowerBound else { throw Unexpected() }
      bytes[place] = 0x78
    } else {
      // One object more, which nothing holds: a marker before the table, and its place at the table's end.
      let trailer = bytes.count - 32
      let table = Int(bytes[trailer + 30]) << 8 | Int(bytes[trailer + 31])
      bytes.insert(contentsOf: [UInt8(table >> 8), UInt8(table & 0xFF)], at: trailer)
      bytes.insert(0x09, at: table)
      let end = bytes.count - 32
      let count = Int(bytes[end + 14]) << 8 | Int(bytes[end + 15]) + 1
      bytes[end + 14] = UInt8(count >> 8)
      bytes[end + 15] = UInt8(count & 0xFF)
      bytes[end + 30] = UInt8((table + 1) >> 8)
      bytes[end + 31] = UInt8((table + 1) & 0xFF)
    }
    let path = NSTemporaryDirectory() + "place-\(UUID().uuidString).plist"
    try Data(bytes).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let error = try Self.failure {
      try PersistentStoreCoordinator(registry: .builtIn).addPersistentStore(at: path, isReadOnly: true)
    }
    #expect(error.code == (part == "model" ? .unsupportedVersion : .malformed))
    #expect(error.location.offset != nil, "\(error)")
  }
}
