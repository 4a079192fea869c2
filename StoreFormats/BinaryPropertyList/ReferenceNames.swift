import AtomicStoreSPI
import StoreCodecs

/// The references that lists of a file of version 1 mention, each read once: the file has each string once, however
/// often it is mentioned.
struct ReferenceNames {
  private let reader: BinaryPropertyListReader
  /// By the index of an object in the file: its reference in the hierarchy that ``round`` began with. Allocated when it
  /// is needed.
  private var known: [Known] = []
  private struct Known {
    var round: UInt32 = 0
    var reference: NumberedReference?
  }
  /// Increases with each change of the hierarchy, so that nothing must be cleared.
  private var round: UInt32 = 0
  private var root = -1
  private var text: [UInt8] = []
  private var room = 0

  init(_ reader: BinaryPropertyListReader) { self.reader = reader }

  /// Begins with references to objects of a hierarchy.
  ///
  /// - Parameter room: The maximum size of all texts that ``text(_:_:)`` returns.
  mutating func begin(_ root: Int, room: Int) {
    if known.isEmpty { known = Array(repeating: Known(), count: reader.objectCount) }
    if root != self.root { round += 1 }
    self.root = root
    self.room = room
  }

  /// The number of a string in the file as a reference; nil if the expanded size of all of them is exceeded.
  mutating func text(
    _ object: BinaryPropertyListReader.Object, _ nodes: NodeTableBuilder
  ) throws(PersistentStoreError) -> NumberedReference? {
    text.removeAll(keepingCapacity: true)
    try reader.appendUTF8(of: object, to: &text)
    room -= text.count
    guard room >= 0 else { return nil }
    let reference = try nodes.numbered(utf8: text.span, entity: root)
    known[object.index] = Known(round: round, reference: reference)
    return reference
  }

  mutating func reference(
    _ object: BinaryPropertyListReader.Object, _ path: String, _ nodes: NodeTableBuilder
  ) throws(PersistentStoreError) -> NumberedReference {
    let entry = known[object.index]
    if entry.round == round, let reference = entry.reference { return reference }
    if case .string = try reader.kind(of: object), let reference = try text(object, nodes) { return reference }
    guard let number = Int64(exactly: try reader.integer(of: object)) else {
      throw PropertyListNode(reader, object, path).malformed("does not fit in 64 bits")
    }
    let reference = nodes.numbered(number)
    known[object.index] = Known(round: round, reference: reference)
    return reference
  }
}
