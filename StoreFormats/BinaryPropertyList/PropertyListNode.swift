import AtomicStoreSPI
import StoreCodecs

/// An object of a property list with its path, for messages.
struct PropertyListNode {
  /// A path, whose text is only made for an error.
  final class Path: CustomStringConvertible {
    private let above: Path?
    private let key: String

    init(_ key: String, in above: Path? = nil) {
      self.above = above
      self.key = key
    }

    var description: String { (above.map { "\($0)." } ?? "") + key }
  }

  let reader: BinaryPropertyListReader
  let object: BinaryPropertyListReader.Object
  /// The path of the container; nil at the top.
  private let above: Path?
  private let key: String
  /// The index in an array. There may be millions.
  private let index: Int?
  /// The path as that of a container, if it was made: that of a leaf is not needed.
  private var base: Path?
  /// The entries, if they were found already.
  private var fields: StoreFields?

  var path: String { (above.map { "\($0)." } ?? "") + key + (index.map { "[\($0)]" } ?? "") }

  /// - Parameters:
  ///   - key: The object's key, or its path from ``above`` on.
  ///   - above: The container; nil for a path from the top.
  init(
    _ reader: BinaryPropertyListReader, _ object: BinaryPropertyListReader.Object, _ key: String,
    in above: PropertyListNode? = nil
  ) {
    self.init(reader, object, key, below: above?.containerPath)
  }

  /// - Parameter above: The path of the container, for messages.
  init(
    _ reader: BinaryPropertyListReader, _ object: BinaryPropertyListReader.Object, _ key: String, below above: Path?
  ) {
    self.reader = reader
    self.object = object
    self.above = above
    self.key = key
    index = nil
  }

  private init(_ array: PropertyListNode, element: BinaryPropertyListReader.Object, at index: Int) {
    reader = array.reader
    object = element
    above = array.above
    key = array.key
    self.index = index
  }

  private var containerPath: Path { base ?? (index == nil ? Path(key, in: above) : Path(path)) }

  /// The same node, of whose entries each is found at once: of a dictionary that is asked for several keys.
  func indexed(_ known: inout KnownKeys) -> PropertyListNode {
    var node = self
    node.base = containerPath
    node.fields = StoreFields(object, in: reader, &known)
    return node
  }

  func malformed(_ what: String) -> PersistentStoreError {
    PersistentStoreError(.malformed, "\(path) \(what)", at: StoreLocation(offset: try? reader.offset(of: object)))
  }

  func optional(_ key: String) throws(PersistentStoreError) -> PropertyListNode? {
    guard case .dictionary = try reader.kind(of: object) else { throw malformed("is not a dictionary") }
    return try reader.value(for: key, in: object).map { PropertyListNode(reader, $0, key, in: self) }
  }
  func require(_ key: String) throws(PersistentStoreError) -> PropertyListNode {
    guard let node = try optional(key) else { throw malformed("does not have the key '\(key)'") }
    return node
  }

  func optional(_ key: StoreKeys) throws(PersistentStoreError) -> PropertyListNode? {
    guard let fields else { return try optional(key.name) }
    return fields[key].map { PropertyListNode(reader, $0, key.name, in: self) }
  }
  func require(_ key: StoreKeys) throws(PersistentStoreError) -> PropertyListNode {
    guard let node = try optional(key) else { throw malformed("does not have the key '\(key.name)'") }
    return node
  }
  /// Refuses a dictionary with an unknown or duplicate key.
  func allow(_ keys: StoreKeys) throws(PersistentStoreError) {
    if let fields, fields.keys.isSubset(of: keys) { return }
    try allow(keys.names)
  }

  /// Refuses a dictionary with an unknown or duplicate key: what is skipped would be lost.
  func allow(_ keys: [String]) throws(PersistentStoreError) {
    guard case .dictionary = try reader.kind(of: object) else { throw malformed("is not a dictionary") }
    var count = 0
    try reader.forEachEntry(of: object) { (key, _) throws(PersistentStoreError) in
      count += 1
      var isKnown = false
      for name in keys where try reader.isString(key, name) { isKnown = true }
      guard isKnown else {
        let text = try reader.string(of: key)
        throw malformed("has an unknown key, '\(text.count > 60 ? text.prefix(60) + "…" : text[...])'")
      }
    }
    // All keys are known, so if there are more keys than names, one is duplicate.
    guard count <= keys.count else { throw malformed("has a duplicate key") }
  }
  func count() throws(PersistentStoreError) -> Int { try reader.count(of: object) }
  func string() throws(PersistentStoreError) -> String { try reader.string(of: object) }
  func integer() throws(PersistentStoreError) -> Int128 { try reader.integer(of: object) }
  func data() throws(PersistentStoreError) -> UnsafeRawBufferPointer { try reader.dataBytes(of: object) }
  func bytes() throws(PersistentStoreError) -> UnsafeBufferPointer<UInt8> {
    try data().assumingMemoryBound(to: UInt8.self)
  }
  func whole() throws(PersistentStoreError) -> PropertyListValue { try reader.materialize(object) }

  /// The place of a data object's bytes in the file.
  func range() throws(PersistentStoreError) -> Range<Int> { try reader.dataRange(of: object) }

  /// The place of a data object's numbers in the file.
  func numberRange<Number: FixedWidthInteger>(_ type: Number.Type) throws(PersistentStoreError) -> Range<Int> {
    let range = try range()
    let size = MemoryLayout<Number>.size
    guard range.count % size == 0 else { throw malformed("is \(range.count) bytes, not a multiple of \(size)") }
    return range
  }

  /// The numbers of a data object, little-endian.
  func numbers<Number: FixedWidthInteger & BitwiseCopyable>(
    _ type: Number.Type
  ) throws(PersistentStoreError) -> PackedNumbers<Number> {
    let bytes = try data()
    let size = MemoryLayout<Number>.size
    guard bytes.count % size == 0 else { throw malformed("is \(bytes.count) bytes, not a multiple of \(size)") }
    return PackedNumbers(bytes)
  }

  /// An element of an array, with its index in the path.
  func element(_ index: Int) throws(PersistentStoreError) -> PropertyListNode {
    PropertyListNode(self, element: try reader.element(index, of: object), at: index)
  }
  func tooLong() -> PersistentStoreError {
    PersistentStoreError(
      .limitExceeded, "\(path) refers to the same objects so often that they expand to more than can be read",
      at: StoreLocation(offset: try? reader.offset(of: object)))
  }
}
