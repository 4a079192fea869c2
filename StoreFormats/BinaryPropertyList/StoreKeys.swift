import StoreCodecs

/// Keys of the dictionaries of a store's entities and columns.
struct StoreKeys: OptionSet, Sendable {
  let rawValue: UInt32

  static let count = StoreKeys(rawValue: 1 << 0)
  static let references = StoreKeys(rawValue: 1 << 1)
  static let referenceTexts = StoreKeys(rawValue: 1 << 2)
  static let columns = StoreKeys(rawValue: 1 << 3)
  static let cells = StoreKeys(rawValue: 1 << 4)
  static let presence = StoreKeys(rawValue: 1 << 5)
  static let present = StoreKeys(rawValue: 1 << 6)
  static let lengths = StoreKeys(rawValue: 1 << 7)
  static let bytes = StoreKeys(rawValue: 1 << 8)
  static let values = StoreKeys(rawValue: 1 << 9)
  static let objects = StoreKeys(rawValue: 1 << 10)
  static let rows = StoreKeys(rawValue: 1 << 11)
  static let counts = StoreKeys(rawValue: 1 << 12)

  /// The names in the file, in the order of the bits.
  private static let allNames = [
    "count", "references", "referenceTexts", "columns", "cells", "presence", "present", "lengths", "bytes", "values",
    "objects", "rows", "counts",
  ]

  var names: [String] {
    Self.allNames.indices.filter { rawValue & 1 << UInt32($0) != 0 }.map { Self.allNames[$0] }
  }

  /// The name of a single key.
  var name: String { Self.allNames[rawValue.trailingZeroBitCount] }

  /// The key with a name in the file; nil for any other object.
  init?(_ object: BinaryPropertyListReader.Object, in reader: BinaryPropertyListReader) {
    guard let position = Self.allNames.firstIndex(where: { (try? reader.isString(object, $0)) ?? false }) else {
      return nil
    }
    rawValue = 1 << UInt32(position)
  }

  init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// The keys that objects of the file are: the file has each string once, so that its bytes are compared once.
struct KnownKeys {
  /// By the lowest bits of the object's index.
  private var recent: [(index: Int, key: StoreKeys)] = Array(repeating: (-1, []), count: 64)

  mutating func key(_ object: BinaryPropertyListReader.Object, in reader: BinaryPropertyListReader) -> StoreKeys? {
    let place = object.index & 63
    if recent[place].index == object.index { return recent[place].key }
    guard let key = StoreKeys(object, in: reader) else { return nil }
    recent[place] = (object.index, key)
    return key
  }
}

/// The values of a dictionary of at most four known keys.
struct StoreFields {
  private typealias Field = (key: StoreKeys, value: BinaryPropertyListReader.Object)
  private(set) var keys: StoreKeys = []
  private var first: Field?
  private var second: Field?
  private var third: Field?
  private var fourth: Field?

  /// Finds the entries of a dictionary in one pass.
  ///
  /// - Returns: nil for anything else: then each key is looked for by itself, which says what is wrong.
  init?(
    _ dictionary: BinaryPropertyListReader.Object, in reader: BinaryPropertyListReader, _ known: inout KnownKeys
  ) {
    var isPlain = true
    do {
      try reader.forEachEntry(of: dictionary) { key, value throws(PersistentStoreError) in
        guard isPlain, let key = known.key(key, in: reader), add(key, value) else {
          isPlain = false
          return
        }
      }
    } catch {
      return nil
    }
    guard isPlain else { return nil }
  }

  /// Returns false for a key that there is already, and for a fifth one.
  private mutating func add(_ key: StoreKeys, _ value: BinaryPropertyListReader.Object) -> Bool {
    guard keys.isDisjoint(with: key) else { return false }
    keys.formUnion(key)
    if first == nil {
      first = (key, value)
    } else if second == nil {
      second = (key, value)
    } else if third == nil {
      third = (key, value)
    } else if fourth == nil {
      fourth = (key, value)
    } else {
      return false
    }
    return true
  }

  subscript(key: StoreKeys) -> BinaryPropertyListReader.Object? {
    guard keys.contains(key) else { return nil }
    if let first, first.key == key { return first.value }
    if let second, second.key == key { return second.value }
    if let third, third.key == key { return third.value }
    if let fourth, fourth.key == key { return fourth.value }
    return nil
  }
}
