public import AtomicStoreSPI
import FoundationEssentials

/// A table to import: a CSV file, a JSON array of objects, or one JSON object on each line; also compressed with gzip,
/// or one or more of them in a ZIP archive; or an Arrow file or stream.
///
/// Which of them it is, is found from the content: JSON begins with a bracket or a brace.
public struct ImportSource: Sendable {
  /// The name of the file, for messages.
  package var name: String
  /// The path that it was read from; nil for a table in memory.
  package let path: String?
  /// The entity of its records; nil for the one that the file is named after.
  var entityName: String?
  /// The bytes, in whatever encoding.
  let bytes: StoreBytes
  /// The types of its columns, if its form has any.
  var types: [ScalarString: AttributeType] = [:]
  /// The store that the records' objects are of, if they come with their references.
  var storeUUID: UUID?
  /// The ZIP archive that it is a member of.
  var archiveName: String?
  /// Whether the bytes are UTF-8, whatever the conventions say.
  var isUTF8 = false

  /// Reads a file whole.
  ///
  /// - Throws: `.notFound`, and what else reading a file may fail with.
  public init(path: String, entityName: String? = nil) throws(PersistentStoreError) {
    name = path
    self.path = path
    self.entityName = entityName
    bytes = try StoreSource(opening: try StorePath.inspect(path)).bytes()
  }

  /// A table in memory.
  public init(bytes: [UInt8], name: String, entityName: String? = nil) {
    self.name = name
    path = nil
    self.entityName = entityName
    self.bytes = StoreBytes(bytes)
  }

  /// The file's name without its directory and extension.
  var stem: String {
    let last = Self.plainName(name.split(separator: "/").last.map(String.init) ?? name)
    guard let dot = last.lastIndex(of: "."), dot != last.startIndex else { return last }
    return String(last[..<dot])
  }

  /// A file's name without the extension of its compression.
  package static func plainName(_ name: String) -> String {
    name.lowercased().hasSuffix(".gz") ? String(name.dropLast(".gz".count)) : name
  }

  /// Whether a file of that name contains one JSON object per line. Such a file is empty if it does not contain any.
  package static func holdsJSONLines(_ fileName: String) -> Bool {
    [".ndjson", ".jsonl"].contains { plainName(fileName).lowercased().hasSuffix($0) }
  }

  /// Whether a file of that name is read when a directory or an archive is imported: `.csv`, `.tsv`, `.json`,
  /// `.ndjson`, `.jsonl`, `.arrow`, `.arrows`, `.feather`, or one of them with `.gz`.
  package static func isTable(_ fileName: String) -> Bool {
    let fileName = plainName(fileName)
    guard !fileName.hasPrefix("."), let dot = fileName.lastIndex(of: ".") else { return false }
    return ["csv", "tsv", "json", "ndjson", "jsonl", "arrow", "arrows", "feather"].contains(
      fileName[fileName.index(after: dot)...].lowercased())
  }
}
