import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import StoreCodecs
import Testing

/// Damage of every kind must end in an error that says where, or in a store, and never in a trap: a trap here ends the
/// whole test run.
@Suite("Damaged binary property lists") struct PropertyListDamageTests {
  static let path = SampleStores.folder + "/Company/Company.plist"

  private static func company() throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: path))) }

  /// The error, or nil where the bytes are a store.
  private static func failure(_ bytes: [UInt8]) -> PersistentStoreError? {
    do throws(PersistentStoreError) {
      try PropertyListSupport.open(bytes)
      return nil
    } catch {
      return error
    }
  }

  @Test("cut at any length, a store is refused with its file")
  func truncated() throws {
    let bytes = try Self.company()
    for length in 0..<bytes.count {
      let error = Self.failure(Array(bytes[..<length]))
      guard let error, error.location.file == "test.plist", error.location.offset != nil else {
        Issue.record("cut at \(length): \(error.map(String.init(describing:)) ?? "was read")")
        return
      }
    }
  }

  @Test("with a bit changed, a store is read, or refused with its location", arguments: 0..<8)
  func flipped(_ bit: Int) throws {
    var bytes = try Self.company()
    var refused = 0
    var tried = 0
    // Every fourth byte loses one bit or another; the last ones, which everything hangs on, lose each.
    for index in bytes.indices where index % 32 == bit * 4 || index >= bytes.count - 32 {
      bytes[index] ^= 1 << UInt8(bit)
      tried += 1
      if let error = Self.failure(bytes) {
        refused += 1
        guard error.location != StoreLocation(), error.code != .internalInconsistency else {
          Issue.record("byte \(index): \(error.code) \(error)")
          return
        }
      }
      bytes[index] ^= 1 << UInt8(bit)
    }
    #expect(refused > tried / 4)
  }

  // MARK: Crafted to harm

  @Test("a list that contains itself is refused")
  func cycles() throws {
    var list = CraftedList()
    let key = list.string("format")
    let own = list.objects.count
    _ = list.dictionary([(key, own)])
    #expect(try #require(Self.failure(list.bytes(top: own))).code == .malformed)
    var metadata = CraftedList()
    let array = metadata.array([0])
    let bytes = metadata.bytes(top: array)
    #expect(throws: PersistentStoreError.self) { try PropertyList.decodeBinary(bytes) }
  }

  @Test("counts and offsets beyond the file are refused", arguments: [UInt64(1) << 62, .max, 1 << 63, 1 << 32, 3])
  func trailer(_ number: UInt64) throws {
    var list = CraftedList()
    let key = list.string("format")
    let top = list.dictionary([(key, key)])
    for bytes in [
      list.bytes(top: top, count: number), list.bytes(top: top, table: number),
      list.bytes(top: Int(truncatingIfNeeded: number)),
    ] {
      let error = try #require(Self.failure(bytes))
      #expect(error.code == .malformed && error.location.offset != nil, "\(error)")
    }
  }

  @Test("an object said to hold 2^62 elements is refused", arguments: [0x4F, 0x5F, 0x6F, 0xAF, 0xDF] as [UInt8])
  func hugeCounts(_ marker: UInt8) throws {
    var list = CraftedList()
    let object = list.add([marker, 0x13, 0x40, 0, 0, 0, 0, 0, 0, 0])
    let bytes = list.bytes(top: object)
    #expect(try #require(Self.failure(bytes)).code == .malformed)
    #expect(throws: PersistentStoreError.self) { try PropertyList.decodeBinary(bytes) }
  }

  @Test("an object outside the objects is refused", arguments: [0, 7, 1 << 20, 0x7FFF_FFFF, 0xFFFF_FFFF])
  func offsets(_ offset: Int) throws {
    var list = CraftedList()
    let key = list.string("format")
    let top = list.dictionary([(key, key)])
    let error = try #require(Self.failure(list.bytes(top: top, offsets: [key: offset])))
    #expect(error.code == .malformed && error.location.offset != nil, "\(error)")
  }

  @Test("three hundred thousand arrays inside each other are refused, not followed", .timeLimit(.minutes(60)))
  func nesting() throws {
    var list = CraftedList()
    list.referenceSize = 4
    for index in 0..<300_000 { _ = list.array([index + 1]) }
    _ = list.array([])
    let bytes = list.bytes(top: 0)
    do {
      _ = try PropertyList.decodeBinary(bytes)
      Issue.record("it was read")
    } catch { #expect(error.code == .limitExceeded) }
    #expect(Self.failure(bytes) != nil)
  }

  @Test("arrays that share arrays a thousand deep are refused, not unfolded", .timeLimit(.minutes(60)))
  func sharing() throws {
    var list = CraftedList()
    for index in 0..<60 { _ = list.array([index + 1, index + 1]) }
    _ = list.array([])
    let bytes = list.bytes(top: 0)
    do {
      _ = try PropertyList.decodeBinary(bytes)
      Issue.record("it was read")
    } catch { #expect(error.code == .limitExceeded) }
  }

  @Test(
    "a hundred thousand keys that are one long string cost no hundred thousand comparisons", .timeLimit(.minutes(60)))
  func sharedKeys() throws {
    var list = CraftedList()
    let key = list.add([0x5F, 0x12] + list.big(1_000_000, 4) + [UInt8](repeating: 0x61, count: 1_000_000))
    let top = list.dictionary(Array(repeating: (key, key), count: 100_000))
    let error = try #require(Self.failure(list.bytes(top: top)))
    #expect(error.code == .malformed && error.message.contains("format"), "\(error)")
  }

  @Test("rows that share one long list are refused, not unfolded", .timeLimit(.minutes(60)))
  func sharedLists() throws {
    let rows = 4000
    let bytes = try PropertyListSupport.store(maximumObjectCount: 1000) { writer throws(PersistentStoreError) in
      let one = try writer.integer(1)
      let list = try writer.array(Array(repeating: one, count: rows))
      let lists = try writer.array(Array(repeating: list, count: rows))
      let column = try writer.entries([("objects", lists)])
      let person = try writer.person(references: (0..<Int64(rows)).map { $0 }, columns: [("friends", column)])
      return try writer.entries([("Person", person)])
    }
    let error = try #require(Self.failure(bytes))
    #expect(error.code == .limitExceeded && error.location.property == "friends", "\(error)")
  }

  @Test("rows that share one long text are refused, not unfolded", .timeLimit(.minutes(60)))
  func sharedTexts() throws {
    let rows = 10_000
    let bytes = try PropertyListSupport.store(maximumObjectCount: 1000) { writer throws(PersistentStoreError) in
      let text = try writer.string("string:" + String(repeating: "a", count: 20_000))
      let column = try writer.entries([("values", try writer.array(Array(repeating: text, count: rows)))])
      let person = try writer.person(references: (0..<Int64(rows)).map { $0 }, columns: [("anything", column)])
      return try writer.entries([("Person", person)])
    }
    #expect(try #require(Self.failure(bytes)).code == .limitExceeded)
  }

  // MARK: Well-formed and wrong

  @Test("a duplicate entity is refused")
  func entityTwice() throws {
    let bytes = try PropertyListSupport.store { writer throws(PersistentStoreError) in
      let one = try writer.person(references: [1], columns: [])
      let two = try writer.person(references: [2], columns: [])
      return try writer.entries([("Person", one), ("Person", two)])
    }
    let error = try #require(Self.failure(bytes))
    #expect(error.code == .malformed && error.message.contains("Person twice"), "\(error)")
  }

  @Test("a duplicate column is refused")
  func columnTwice() throws {
    let bytes = try PropertyListSupport.store { writer throws(PersistentStoreError) in
      // The second has fewer: what the first left would reach behind its end.
      let many = try writer.entries([
        ("counts", try writer.packed([0, 3] as [UInt32])), ("references", try writer.packed([1, 2, 2] as [Int64])),
      ])
      let few = try writer.entries([
        ("counts", try writer.packed([1, 0] as [UInt32])), ("references", try writer.packed([2] as [Int64])),
      ])
      let person = try writer.person(references: [1, 2], columns: [("friends", many), ("friends", few)])
      return try writer.entries([("Person", person)])
    }
    let error = try #require(Self.failure(bytes))
    #expect(error.code == .malformed && error.message.contains("'friends' twice"), "\(error)")
  }

  @Test(
    "a key that the format does not have is refused, in a column too",
    arguments: ["presencf", "cell", "Cells", "", "values", "objects"])
  func unknownKeys(_ key: String) throws {
    let inColumn = try PropertyListSupport.store { writer throws(PersistentStoreError) in
      let column = try writer.entries([
        ("cells", try writer.packed([5, 0] as [Int16])), (key, try writer.packed([1] as [UInt8])),
      ])
      return try writer.entries([("Person", try writer.person(references: [1, 2], columns: [("age", column)]))])
    }
    let inEntity = try PropertyListSupport.store { writer throws(PersistentStoreError) in
      let extra = try writer.integer(1)
      return try writer.entries([("Person", try writer.person(references: [1], columns: [], more: [(key, extra)]))])
    }
    for bytes in [inColumn, inEntity] {
      let error = try #require(Self.failure(bytes))
      #expect(error.code == .malformed && error.message.contains("'\(key)'"), "\(error)")
    }
  }

  @Test("a key that is there twice is refused", arguments: ["cells", "presence"])
  func duplicateKeys(_ key: String) throws {
    let bytes = try PropertyListSupport.store { writer throws(PersistentStoreError) in
      let column = try writer.entries([
        ("cells", try writer.packed([5, 0] as [Int16])), ("presence", try writer.packed([1] as [UInt8])),
        (key, try writer.packed([3, 0] as [Int16])),
      ])
      return try writer.entries([("Person", try writer.person(references: [1, 2], columns: [("age", column)]))])
    }
    let error = try #require(Self.failure(bytes))
    #expect(error.code == .malformed && error.message.contains("duplicate key"), "\(error)")
  }

  @Test(
    "a decimal in another spelling is written in the canonical one", arguments: ["1e5", "+1.5", "007", "-0", "1."])
  func decimals(_ text: String) throws {
    let bytes = try PropertyListSupport.store { writer throws(PersistentStoreError) in
      let column = try writer.entries([
        ("lengths", try writer.packed([UInt32(text.utf8.count)])), ("bytes", try writer.packedBytes(Array(text.utf8))),
      ])
      return try writer.entries([("Person", try writer.person(references: [1], columns: [("worth", column)]))])
    }
    let nodes = try PropertyListSupport.open(bytes)
    let slot = try #require(nodes.model.entities[0].slot(named: "worth"))
    let exact = try #require(DecimalNumber(text)).description
    #expect(nodes.reader(of: 0).string(slot: slot, row: 0) == exact)
  }

  @Test(
    "reference texts for rows that do not ascend or do not exist are refused", arguments: [[2], [-1], [0, 0], [1, 0]])
  func referenceTexts(_ rows: [Int]) throws {
    let bytes = try PropertyListSupport.store { writer throws(PersistentStoreError) in
      var pairs: [BinaryPropertyListWriter.Reference] = []
      for row in rows {
        let number = try writer.integer(Int128(row))
        pairs.append(try writer.array([number, try writer.string("r\(pairs.count)")]))
      }
      let texts = try writer.array(pairs)
      let person = try writer.person(references: [0, 0], columns: [], more: [("referenceTexts", texts)])
      return try writer.entries([("Person", person)])
    }
    #expect(try #require(Self.failure(bytes)).code == .malformed)
  }

  @Test(
    "columns whose sizes do not fit the rows are refused with the property",
    arguments: [([UInt32(3)], "ab"), ([1, 1], "ab"), ([1], "ab"), ([UInt32.max - 1], "ab"), ([], "")])
  func sizes(_ lengths: [UInt32], _ text: String) throws {
    let bytes = try PropertyListSupport.store { writer throws(PersistentStoreError) in
      let column = try writer.entries([
        ("lengths", try writer.packed(lengths)), ("bytes", try writer.packedBytes(Array(text.utf8))),
      ])
      return try writer.entries([("Person", try writer.person(references: [1], columns: [("name", column)]))])
    }
    let error = try #require(Self.failure(bytes))
    #expect(error.code == .malformed && error.location.property == "name", "\(error)")
  }

  @Test(
    "a to-many whose counts do not add up is refused with the property",
    arguments: [[2], [0], [UInt32.max], [0x8000_0000], [1, 0]] as [[UInt32]])
  func counts(_ counts: [UInt32]) throws {
    let bytes = try PropertyListSupport.store { writer throws(PersistentStoreError) in
      let column = try writer.entries([
        ("counts", try writer.packed(counts)), ("references", try writer.packed([1] as [Int64])),
      ])
      return try writer.entries([("Person", try writer.person(references: [1], columns: [("friends", column)]))])
    }
    let error = try #require(Self.failure(bytes))
    #expect(error.code == .malformed && error.location.property == "friends", "\(error)")
  }
}
