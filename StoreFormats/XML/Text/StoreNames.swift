import AtomicStoreSPI

/// The form of names in the file: Core Data writes entities in upper case and properties in lower case.
enum NameFolding {
  case entity
  case property

  func fold(_ name: String) -> String {
    switch self {
    case .entity: name.uppercased()
    case .property: name.lowercased()
    }
  }

  func folded(_ names: [String]) -> [ScalarString] { names.map { ScalarString(fold($0)) } }

  /// The names as they are written, in the given order: folded, but unchanged if folding would make two equal.
  func written(_ names: [String]) -> [String] { written(names, folded(names)) }

  /// - Parameter folded: The folded names.
  func written(_ names: [String], _ folded: [ScalarString]) -> [String] {
    let known = FoldedNames(folded)
    return zip(names, folded).map { known.isUnique($1) ? $1.string : $0 }
  }

  /// Two of the names that differ only in case, if there are any.
  func clash(_ names: [String]) -> (String, String)? {
    var seen: [ScalarString: String] = [:]
    for name in names {
      let folded = ScalarString(fold(name))
      if let other = seen[folded] { return (other, name) }
      seen[folded] = name
    }
    return nil
  }
}

/// Folded names, some of which may be equal.
///
/// Most entities have a few properties: one of them is found sooner than a hash is computed.
struct FoldedNames {
  private let names: [ScalarString]
  /// The number of each name, or -1 if several are equal; empty for a few names.
  private var numbers: [ScalarString: Int] = [:]
  private static let few = 8

  init(_ names: [ScalarString]) {
    self.names = names
    guard names.count > Self.few else { return }
    numbers.reserveCapacity(names.count)
    for (index, name) in names.enumerated() {
      if numbers.updateValue(index, forKey: name) != nil { numbers[name] = -1 }
    }
  }

  /// The number of the only name that is equal to this one; nil if there is none, or more than one.
  func number(of name: ScalarString) -> Int? {
    guard names.count <= Self.few else { return numbers[name].flatMap { $0 < 0 ? nil : $0 } }
    guard let first = names.firstIndex(of: name) else { return nil }
    return names[(first + 1)...].contains(name) ? nil : first
  }

  func isUnique(_ name: ScalarString) -> Bool { number(of: name) != nil }
}

/// Names by number, looked up by their bytes: first as they are written, then folded, so that files in other case than
/// Core Data's can be read too. Created once per file; it hashes without allocating.
final class NameTable {
  /// The written names, concatenated.
  private let bytes: UnsafeMutableBufferPointer<UInt8>
  private let starts: UnsafeMutablePointer<Int>
  private let places: UnsafeMutableBufferPointer<Int32>
  private let mask: Int
  private let folding: NameFolding
  private let byFolded: FoldedNames
  /// The name found last, and for each name the one that followed it: files repeat the same sequences.
  private let guesses: UnsafeMutablePointer<Int32>
  let count: Int
  /// The table whose names this one shares, if any.
  private let original: NameTable?

  /// The same names, for another thread: only what was found last is its own.
  init(sharing other: NameTable) {
    original = other.original ?? other
    bytes = other.bytes
    starts = other.starts
    places = other.places
    mask = other.mask
    folding = other.folding
    byFolded = other.byFolded
    count = other.count
    guesses = .allocate(capacity: count + 1)
    guesses.initialize(repeating: 0, count: count + 1)
  }

  /// - Parameters:
  ///   - folded: The folded names.
  ///   - written: The bytes of each name in the file.
  init(folded: [ScalarString], written: [[UInt8]], folding: NameFolding) {
    self.folding = folding
    original = nil
    count = written.count
    byFolded = FoldedNames(folded)
    starts = .allocate(capacity: count + 1)
    starts.initialize(to: 0)
    bytes = .allocate(capacity: max(written.reduce(0) { $0 + $1.count }, 1))
    bytes.initialize(repeating: 0)
    var capacity = 8
    while capacity < count * 2 { capacity *= 2 }
    mask = capacity - 1
    places = .allocate(capacity: capacity)
    places.initialize(repeating: -1)
    guesses = .allocate(capacity: count + 1)
    guesses.initialize(repeating: 0, count: count + 1)
    for (index, name) in written.enumerated() {
      let start = starts[index]
      for place in name.indices { bytes[start + place] = name[place] }
      (starts + index + 1).initialize(to: start + name.count)
      var place = name.withUnsafeBufferPointer { Self.hash($0) } & mask
      while places[place] >= 0 { place = (place + 1) & mask }
      places[place] = Int32(truncatingIfNeeded: index)
    }
  }

  deinit {
    guesses.deallocate()
    guard original == nil else { return }
    bytes.deallocate()
    starts.deallocate()
    places.deallocate()
  }

  /// The number of a name, or -1. `previous` is the number found before it, or -1.
  func index(of name: UnsafeBufferPointer<UInt8>, after previous: Int) -> Int {
    guard count > 0 else { return -1 }
    let guess = Int(guesses[previous + 1])
    if matches(guess, name) { return guess }
    let found = search(name)
    if found >= 0 { guesses[previous + 1] = Int32(truncatingIfNeeded: found) }
    return found
  }

  @inline(__always) private func matches(_ index: Int, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
    let start = starts[index]
    let count = name.count
    guard starts[index + 1] - start == count, let here = bytes.baseAddress, let there = name.baseAddress else {
      return false
    }
    let one = UnsafeRawPointer(here + start)
    let other = UnsafeRawPointer(there)
    // Eight bytes at a time; the last eight may overlap the previous ones.
    if count >= 8 {
      var offset = 0
      while offset < count {
        let place = min(offset, count - 8)
        if one.loadUnaligned(fromByteOffset: place, as: UInt64.self)
          != other.loadUnaligned(fromByteOffset: place, as: UInt64.self)
        {
          return false
        }
        offset += 8
      }
      return true
    }
    var offset = 0
    while offset < count {
      if here[start + offset] != there[offset] { return false }
      offset += 1
    }
    return true
  }

  private func search(_ name: UnsafeBufferPointer<UInt8>) -> Int {
    var place = Self.hash(name) & mask
    while places[place] >= 0 {
      let index = Int(places[place])
      if matches(index, name) { return index }
      place = (place + 1) & mask
    }
    return byFolded.number(of: ScalarString(folding.fold(String(decoding: name, as: UTF8.self)))) ?? -1
  }

  private static func hash(_ name: UnsafeBufferPointer<UInt8>) -> Int {
    var value: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in name { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return Int(truncatingIfNeeded: value ^ value >> 29)
  }
}
