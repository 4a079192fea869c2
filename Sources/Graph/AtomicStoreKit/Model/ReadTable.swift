import Synchronization

/// How to read the properties of an entity by the literals that name them.
///
/// A ``Managed`` property knows its name as the address of a literal, which is the same at each read. The table maps
/// addresses to properties, so that a name is hashed and compared at its first read only.
///
/// It consists of pointers into a ``Memory`` that the entity's plan retains: each read would retain and release any
/// object in it, which costs more than the rest of the read.
///
/// `@unchecked Sendable`: the pointers are constant, the forms are only read, and the entries are atomics.
struct ReadTable: @unchecked Sendable {
  /// How a property's value is stored, if it can be read from its column directly.
  enum Form: UInt8, Sendable {
    case general, text, integer, boolean, double, float, date, toOne
  }
  struct Cell: Sendable {
    let slot: Int32
    /// The number of a stored relationship among those of the entity: see ``HeldObjects``. 0 for other properties.
    let holder: UInt16
    let form: Form
    @inline(__always) var index: Int { Int(slot) }
  }
  private let cells: UnsafePointer<Cell>
  private let count: Int
  /// The number of stored relationships.
  let holderCount: Int
  /// An address in the low 48 bits, the property's number plus one in the others; 0 for an empty entry. Entries are
  /// independent of each other: any thread may replace one at any time.
  private let first: UnsafeMutablePointer<Atomic<UInt64>>
  private let shift: UInt64

  /// Owns what a table points to.
  ///
  /// `@unchecked Sendable`: the pointers are constant, and the memory is released with the object.
  final class Memory: @unchecked Sendable {
    private let cells: UnsafeMutablePointer<Cell>
    private let entries: UnsafeMutablePointer<Atomic<UInt64>>
    private let entryCount: Int
    /// Valid while this object lives.
    let table: ReadTable

    init(_ properties: [PropertyPlan]) {
      cells = .allocate(capacity: max(properties.count, 1))
      var holders = 0
      for (index, property) in properties.enumerated() {
        let isHolder = property.isRelationship && property.slot >= 0
        // A model has fewer relationships than this; further ones would share a number.
        let holder = UInt16(isHolder ? min(holders, Int(UInt16.max)) : 0)
        if isHolder { holders += 1 }
        let cell = Cell(slot: Int32(truncatingIfNeeded: property.slot), holder: holder, form: Form(property))
        (cells + index).initialize(to: cell)
      }
      var bits: UInt64 = 3
      while 1 << bits < properties.count * 2, bits < 12 { bits += 1 }
      entryCount = 1 << Int(bits)
      entries = .allocate(capacity: entryCount)
      for index in 0..<entryCount { (entries + index).initialize(to: Atomic(0)) }
      table = ReadTable(
        cells: cells, count: properties.count, holderCount: holders, first: entries, shift: 64 - bits)
    }

    deinit {
      entries.deinitialize(count: entryCount)
      entries.deallocate()
      cells.deallocate()
    }
  }

  /// How to read a property by its number.
  @inline(__always) subscript(property: Int) -> Cell {
    precondition(property >= 0 && property < count, "no such property")
    return cells[property]
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
      switch type.valueKind {
      case .string: .text
      case .integer: .integer
      case .boolean: .boolean
      case .double: .double
      case .float: .float
      case .date: .date
      default: .general
      }
  }
}
