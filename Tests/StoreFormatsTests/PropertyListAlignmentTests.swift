import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import StoreCodecs
import Testing

@Suite("Columns in property lists are aligned") struct PropertyListAlignmentTests {
  /// The path and the offset of each data object below `entities` that is not empty.
  private static func columns(_ bytes: [UInt8]) throws -> [(path: String, offset: Int)] {
    try bytes.withUnsafeBytes { raw in
      let reader = try BinaryPropertyListReader(raw)
      var found: [(path: String, offset: Int)] = []
      func visit(_ object: BinaryPropertyListReader.Object, _ path: String) throws {
        switch try reader.kind(of: object) {
        case .dictionary:
          for position in 0..<(try reader.count(of: object)) {
            let (key, value) = try reader.entry(position, of: object)
            try visit(value, path + "." + (try reader.string(of: key)))
          }
        case .data:
          let data = try reader.dataBytes(of: object)
          guard let start = data.baseAddress, let base = raw.baseAddress, !data.isEmpty else { return }
          found.append((path, start - base))
        default: break
        }
      }
      try visit(try #require(try reader.value(for: "entities", in: reader.top)), "entities")
      return found
    }
  }

  @Test("each column of a store begins on a border of 64 bytes", arguments: ["Company", "FriendInfo"])
  func stores(_ name: String) throws {
    let folder = NSTemporaryDirectory() + "alignment-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/copy.plist"
    _ = try StoreConverter(registry: .builtIn)
      .convert(from: "\(SampleStores.folder)/\(name)/\(name).xml", to: path)
    let columns = try Self.columns(Array(try Data(contentsOf: URL(filePath: path))))
    #expect(columns.count > 10)
    for column in columns { #expect(column.offset % 64 == 0, "\(column.path) begins at \(column.offset)") }
  }

  @Test(
    "an aligned data object begins where it should, whatever precedes it, and reads back",
    arguments: [0, 1, 14, 15, 255, 256, 70_000, 300_000])
  func object(_ size: Int) throws {
    for before in [0, 1, 47, 48, 49, 63, 64] {
      let output = Output()
      var writer = try BinaryPropertyListWriter(maximumObjectCount: 16) { (bytes) throws(PersistentStoreError) in
        output.bytes.append(contentsOf: bytes)
      }
      let first = try writer.string(String(repeating: "x", count: before))
      let data = try writer.beginData(count: size, alignedTo: 64)
      let content = [UInt8](repeating: 7, count: size)
      var failure: PersistentStoreError?
      content.withUnsafeBytes { raw in
        do throws(PersistentStoreError) { try writer.append(raw) } catch { failure = error }
      }
      #expect(failure == nil)
      let key = try writer.string("entities")
      let list = try writer.dictionary([(try writer.string("text"), first), (try writer.string("cells"), data)])
      try writer.finish(top: try writer.dictionary([(key, list)]))
      let columns = try Self.columns(output.bytes)
      #expect(columns.map { $0.offset % 64 } == (size == 0 ? [] : [0]))
      let value = try PropertyList.decodeBinary(output.bytes)
      #expect(value.dictionaryValue?["entities"]?.dictionaryValue?["cells"] == .data(Data(content)))
    }
  }

  private final class Output {
    var bytes: [UInt8] = []
  }
}
