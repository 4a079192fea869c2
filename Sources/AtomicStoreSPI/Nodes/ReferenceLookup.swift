/// Maps references to nodes, for one entity hierarchy.
struct ReferenceLookup: Sendable {
  /// An array, starting at the least reference, for references that are close together, as consecutive numbers are.
  private var base: Int64 = 0
  private var dense: [UInt64] = []
  private var sparse: [Int64: UInt64] = [:]
  private var strings: [ScalarString: UInt64] = [:]
  private(set) var count = 0

  init() {}

  /// Reserves room for `count` references from `least` to `greatest`: in the array if little of it is wasted.
  init(expecting count: Int, least: Int64, greatest: Int64) {
    guard count > 0 else { return }
    let (spread, overflow) = greatest.subtractingReportingOverflow(least)
    if !overflow, spread < Int64(count) * 4 + 64 {
      base = least
      dense = [UInt64](repeating: NodeHandle.nullBits, count: Int(spread) + 1)
    } else {
      sparse.reserveCapacity(count)
    }
  }

  @inline(__always) subscript(number: Int64) -> NodeHandle? {
    let (place, overflow) = number.subtractingReportingOverflow(base)
    if !overflow, place >= 0, place < Int64(dense.count) {
      let bits = dense[Int(place)]
      if bits != NodeHandle.nullBits { return NodeHandle(bits: bits) }
    }
    return sparse.isEmpty ? nil : sparse[number].map { NodeHandle(bits: $0) }
  }

  subscript(reference: ReferenceObject) -> NodeHandle? {
    switch reference {
    case .integer(let number): self[number]
    case .string(let text): strings[ScalarString(text)].map { NodeHandle(bits: $0) }
    }
  }

  /// Adds a node. If another node has the reference, returns that one and adds nothing.
  mutating func insert(_ number: Int64, _ handle: NodeHandle) -> NodeHandle? {
    if let taken = self[number] { return taken }
    count += 1
    let (place, overflow) = number.subtractingReportingOverflow(base)
    if !overflow, place >= 0, place < Int64(dense.count) {
      dense[Int(place)] = handle.bits
    } else if !overflow, place == Int64(dense.count) {
      dense.append(handle.bits)
    } else {
      sparse[number] = handle.bits
    }
    return nil
  }

  mutating func insert(_ text: String, _ handle: NodeHandle) -> NodeHandle? {
    let key = ScalarString(text)
    if let taken = strings[key] { return NodeHandle(bits: taken) }
    count += 1
    strings[key] = handle.bits
    return nil
  }

  mutating func insert(_ reference: ReferenceObject, _ handle: NodeHandle) -> NodeHandle? {
    switch reference {
    case .integer(let number): insert(number, handle)
    case .string(let text): insert(text, handle)
    }
  }

  mutating func remove(_ reference: ReferenceObject) {
    guard self[reference] != nil else { return }
    count -= 1
    switch reference {
    case .integer(let number):
      let (place, overflow) = number.subtractingReportingOverflow(base)
      if !overflow, place >= 0, place < Int64(dense.count), dense[Int(place)] != NodeHandle.nullBits {
        dense[Int(place)] = NodeHandle.nullBits
      } else {
        sparse[number] = nil
      }
    case .string(let text): strings[ScalarString(text)] = nil
    }
  }
}
