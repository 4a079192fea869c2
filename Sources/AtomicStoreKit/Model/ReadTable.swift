import Synchronization

/// How to read the properties of an entity by the literals that name them.
///
/// A ``Managed`` property knows its name as the address of a literal, which is the same at each read. The table maps
/// addresses to properties, so that a name is hashed and compared at its first read only.
struct ReadTable: Sendable {
  /// How a property's value is stored, if it can be read from its column directly.
  enum Form: UInt8, Sendable {
    case general, text, integer, boolean, double, float, date, toOne
  }
  struct Cell: Sendable {
    let slot: Int32
    let form: Form
  }
  /// By property.
  let cells: [Cell]
  /// An address in the low 48 bits, the property's number plus one in the others; 0 for an empty entry. Entries are
  /// independent of each other: any thread may replace one at any time.
  private let entries: Entries
  // The same memory, so that reading an entry retains nothing.
  private nonisolated(unsafe) let first: UnsafeMutablePointer<Atomic<UInt64>>
  private let shift: UInt64

  /// Owns the entries.
  ///
  /// `@unchecked Sendable`: the pointer is constant, the memory lives as long as the object, and it holds atomics.
  private final class Entries: @unchecked Sendable {
    let first: UnsafeMutablePointer<Atomic<UInt64>>
    let count: Int
    init(count: Int) {
      first = .allocate(capacity: count)
      self.count = count
      for index in 0..<count { (first + index).initialize(to: Atomic(0)) }
    }
    deinit {
      first.deinitialize(count: count)
      first.deallocate()
    }
  }

  init(_ properties: [PropertyPlan]) {
    cells = properties.map { Cell(slot: Int32(truncatingIfNeeded: $0.slot), form: Form($0)) }
    var bits: UInt64 = 3
    while 1 << bits < properties.count * 2, bits < 12 { bits += 1 }
    shift = 64 - bits
    entries = Entries(count: 1 << Int(bits))
    first = entries.first
  }

  private static let addressMask: UInt64 = 0xFFFF_FFFF_FFFF

  @inline(__always) private func place(_ address: UInt64) -> Int {
    Int(truncatingIfNeeded: (address &* 0x9E37_79B9_7F4A_7C15) &>> shift)
  }

  /// The property that the name at an address was found to name; nil if it was not looked for yet.
  @inline(__always) func property(_ name: UnsafePointer<UInt8>) -> Int? {
    let address = UInt64(UInt(bitPattern: name))
    let place = place(address)
    var entry = first[place].load(ordering: .relaxed)
    if entry & Self.addressMask != address {
      entry = first[place ^ 1].load(ordering: .relaxed)
      guard entry & Self.addressMask == address else { return nil }
    }
    return Int(truncatingIfNeeded: entry >> 48) - 1
  }

  /// Notes what the name at an address names. Names may displace each other: they are looked for again then.
  func note(_ name: UnsafePointer<UInt8>, _ property: Int) {
    let address = UInt64(UInt(bitPattern: name))
    guard address & Self.addressMask == address, property < 0xFFFF else { return }
    let place = place(address)
    let isTaken = first[place].load(ordering: .relaxed) != 0
    let entry = address | UInt64(property + 1) << 48
    first[isTaken ? place ^ 1 : place].store(entry, ordering: .relaxed)
  }
}

extension ReadTable.Form {
  init(_ property: PropertyPlan) {
    guard property.slot >= 0, let type = property.attributeType else {
      self = property.slot >= 0 && property.kind == .toOne ? .toOne : .general
      return
    }
    self =
      switch type {
      case .string: .text
      case .integer16, .integer32, .integer64: .integer
      case .boolean: .boolean
      case .double: .double
      case .float: .float
      case .date: .date
      default: .general
      }
  }
}
