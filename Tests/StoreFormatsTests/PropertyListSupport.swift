import AtomicStoreSPI
import BinaryPropertyListStoreFormat
import Foundation
import StoreCodecs

/// What the tests of the BinaryPropertyList format share.
enum PropertyListSupport {
  typealias Writer = BinaryPropertyListWriter
  typealias Entry = (key: Writer.Reference, value: Writer.Reference)

  /// Opens as the kit does: metadata and model, then the nodes.
  @discardableResult
  static func open(_ bytes: [UInt8]) throws(PersistentStoreError) -> NodeTable {
    let source = StoreSource(bytes: bytes, name: "test.plist")
    var store = try BinaryPropertyListStore(StoreConfiguration(path: "test.plist"))
    let metadata = try store.metadata(in: source)
    guard let description = metadata.model else { throw PersistentStoreError(.modelNeeded, "no model") }
    let model: ManagedObjectModel
    do {
      model = try ManagedObjectModel(description)
    } catch {
      throw PersistentStoreError(.invalidModel, "\(error)", at: StoreLocation(file: source.name))
    }
    let builder = NodeTableBuilder(model: model, file: source.name)
    try store.load(source, into: builder)
    return try builder.finish()
  }

  /// Saves a graph to a new file.
  static func save(_ snapshot: StoreSnapshot, to path: String) throws {
    var store = try BinaryPropertyListStore(StoreConfiguration(path: path))
    let staged = try StagedStore(target: path, layout: .file, policy: .createNew)
    try store.save(snapshot, to: staged.files)
    try staged.finish()
    try staged.commit()
  }

  /// A store of `Person` with the entities that the body writes, however odd they are.
  static func store(
    maximumObjectCount: Int = 4096, model: ModelDescription = person,
    _ entities: (inout Writer) throws(PersistentStoreError) -> Writer.Reference
  ) throws -> [UInt8] {
    let output = Output()
    var writer = try Writer(maximumObjectCount: maximumObjectCount) { (bytes) throws(PersistentStoreError) in
      output.bytes.append(contentsOf: bytes)
    }
    let signature = try writer.string("AtomicStore BinaryPropertyList")
    var top: [Entry] = [(try writer.string("format"), signature)]
    top.append((try writer.string("version"), try writer.integer(1)))
    top.append((try writer.string("UUID"), try writer.string("B4FC79D0-E654-43EF-9020-A5273B3F104A")))
    top.append((try writer.string("lastReference"), try writer.integer(9)))
    top.append((try writer.string("metadata"), try writer.dictionary([])))
    top.append((try writer.string("model"), try writer.value(model.propertyList)))
    top.append((try writer.string("entities"), try entities(&writer)))
    try writer.finish(top: try writer.dictionary(top))
    return output.bytes
  }

  static let person = ModelDescription(entities: [
    EntityDescription(
      name: "Person",
      properties: [
        .attribute("age", .integer16),
        .attribute("name", .string),
        .attribute("worth", .decimal),
        .attribute("anything", .undefined),
        .toOne("boss", "Person"),
        .toMany("friends", "Person"),
      ])
  ])

  private final class Output {
    var bytes: [UInt8] = []
  }
}

extension BinaryPropertyListWriter {
  /// A dictionary of entries whose keys may repeat.
  mutating func entries(_ entries: [(String, Reference)]) throws(PersistentStoreError) -> Reference {
    var list: [(key: Reference, value: Reference)] = []
    for (key, value) in entries { list.append((try string(key), value)) }
    return try dictionary(list)
  }

  /// Numbers as a data object.
  mutating func packed<Number: FixedWidthInteger & BitwiseCopyable>(
    _ numbers: [Number]
  ) throws(PersistentStoreError) -> Reference {
    let bytes = numbers.flatMap { number in withUnsafeBytes(of: number.littleEndian) { Array($0) } }
    return try packedBytes(bytes)
  }

  mutating func packedBytes(_ bytes: [UInt8]) throws(PersistentStoreError) -> Reference {
    let reference = try beginData(count: bytes.count)
    let result: Result<Void, PersistentStoreError> = bytes.withUnsafeBytes { raw in
      do throws(PersistentStoreError) { return .success(try append(raw)) } catch { return .failure(error) }
    }
    try result.get()
    return reference
  }

  /// An entity's dictionary with these columns.
  mutating func person(
    references: [Int64], columns: [(String, Reference)], more: [(String, Reference)] = []
  ) throws(PersistentStoreError) -> Reference {
    let count = try integer(Int128(references.count))
    let packed = try packed(references)
    let list = try entries(columns)
    return try entries([("count", count), ("references", packed), ("columns", list)] + more)
  }
}

/// Bytes of a binary property list put together by hand, right or wrong.
struct CraftedList {
  var objects: [[UInt8]] = []
  var referenceSize = 2

  /// A container's object: its marker, its count and its references.
  mutating func add(_ bytes: [UInt8]) -> Int {
    objects.append(bytes)
    return objects.count - 1
  }
  mutating func string(_ text: String) -> Int { add([0x5F, 0x11] + big(text.utf8.count, 2) + Array(text.utf8)) }
  mutating func array(_ references: [Int]) -> Int {
    add([0xAF, 0x12] + big(references.count, 4) + references.flatMap { big($0, referenceSize) })
  }
  mutating func dictionary(_ entries: [(Int, Int)]) -> Int {
    add(
      [0xDF, 0x12] + big(entries.count, 4) + entries.flatMap { big($0.0, referenceSize) }
        + entries.flatMap { big($0.1, referenceSize) })
  }

  func big(_ number: Int, _ size: Int) -> [UInt8] {
    (0..<size).map { UInt8(truncatingIfNeeded: number >> ((size - 1 - $0) * 8)) }
  }

  /// The file. `count`, `table` and `offsets` lie where they are given.
  func bytes(top: Int, count: UInt64? = nil, table: UInt64? = nil, offsets: [Int: Int] = [:]) -> [UInt8] {
    var bytes = Array("bplist00".utf8)
    var places: [Int] = []
    for object in objects {
      places.append(bytes.count)
      bytes += object
    }
    let start = bytes.count
    for (index, place) in places.enumerated() { bytes += big(offsets[index] ?? place, 4) }
    bytes += [0, 0, 0, 0, 0, 0, 4, UInt8(referenceSize)]
    for number in [count ?? UInt64(objects.count), UInt64(truncatingIfNeeded: top), table ?? UInt64(start)] {
      bytes += (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64((7 - $0) * 8)) }
    }
    return bytes
  }
}
