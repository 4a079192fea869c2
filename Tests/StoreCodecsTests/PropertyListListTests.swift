import StoreCodecs
import StorePrimitives
import Testing

/// Lists of lists and texts, as stores with string references have millions of.
@Suite("Lists in a binary property list") struct PropertyListListTests {
  private final class Output {
    var bytes: [UInt8] = []
  }

  private static let texts = [
    "", "plain", "é", "e\u{301}", "日本\u{1F600}", "a\0b", String(repeating: "long ", count: 60),
  ]

  private func list(
    _ body: (inout BinaryPropertyListWriter) throws -> BinaryPropertyListWriter.Reference
  ) throws -> [UInt8] {
    let output = Output()
    var writer = try BinaryPropertyListWriter(maximumObjectCount: 1000) { (bytes) throws(PersistentStoreError) in
      output.bytes.append(contentsOf: bytes)
    }
    let top = try body(&writer)
    try writer.finish(top: top)
    return output.bytes
  }

  @Test("an equal string is the same object")
  func strings() throws {
    _ = try list { writer in
      for text in Self.texts {
        let first = try writer.string(text)
        #expect(try writer.string(text) == first)
      }
      return try writer.array([])
    }
  }

  @Test("the UTF-8 of a string object is that of the string")
  func reading() throws {
    let bytes = try PropertyList.encodeBinary(.array(Self.texts.map { .string($0) }))
    try bytes.withUnsafeBytes { raw in
      let reader = try BinaryPropertyListReader(raw)
      for (index, text) in Self.texts.enumerated() {
        var found: [UInt8] = [1]
        let object = try reader.element(index, of: reader.top)
        try reader.appendUTF8(of: object, to: &found)
        #expect(found == [1] + Array(text.utf8))
        #expect(try reader.string(of: object).utf8.elementsEqual(text.utf8))
      }
    }
  }

  @Test("the elements of all lists of a list come with their counts, up to a limit")
  func elements() throws {
    let lists: [[Int]] = [[1, 2, 3], [], [4], Array(0..<20), []]
    let bytes = try PropertyList.encodeBinary(
      .array(lists.map { .array($0.map { .integer(Int128($0)) }) } + [.string("not a list")]))
    try bytes.withUnsafeBytes { raw in
      let reader = try BinaryPropertyListReader(raw)
      #expect(throws: PersistentStoreError.self, "an element is not a list") {
        _ = try reader.elements(ofArraysIn: reader.top, limit: 100)
      }
    }
    let right = try PropertyList.encodeBinary(.array(lists.map { .array($0.map { .integer(Int128($0)) }) }))
    try right.withUnsafeBytes { raw in
      let reader = try BinaryPropertyListReader(raw)
      let (counts, elements) = try #require(try reader.elements(ofArraysIn: reader.top, limit: 24))
      #expect(counts.map(Int.init) == lists.map(\.count))
      #expect(try elements.map { Int(try reader.integer(of: $0)) } == lists.flatMap { $0 })
      #expect(try reader.elements(ofArraysIn: reader.top, limit: 23) == nil)
      #expect(try reader.unreachable() == nil)
    }
  }

  @Test("objects outside the containers of the root are counted, and the first of them is named")
  func unreachable() throws {
    let bytes = try list { writer in
      let used = try writer.string("used")
      _ = try writer.string("lost")
      _ = try writer.array([used])
      let list = try writer.array([used])
      return try writer.dictionary([(used, list)])
    }
    try bytes.withUnsafeBytes { raw in
      let lost = try #require(try BinaryPropertyListReader(raw).unreachable())
      #expect(lost.count == 2 && lost.first.index == 1)
    }
  }
}
