/// The entity of each object, by identifier. Numbers are mostly close together, so they are looked up in an array
/// unless that wastes too much.
struct EntityByIdentifier {
  private var base: Int64 = 0
  private var count = 0
  private var dense: [Int32] = []
  private var sparse: [Int64: Int32] = [:]
  private var texts: [[UInt8]: Int32] = [:]
  /// Whether an identifier was added twice.
  private(set) var hasDuplicates = false

  mutating func add(_ number: Int64, entity: Int) {
    let value = Int32(truncatingIfNeeded: entity)
    count += 1
    if dense.isEmpty, sparse.isEmpty { base = number }
    let (place, overflow) = number.subtractingReportingOverflow(base)
    // At most eight elements for each number.
    if !overflow, place >= 0, place <= Int64(count) * 8 + 1024 {
      while Int64(dense.count) <= place { dense.append(-1) }
      if dense[Int(place)] >= 0 { hasDuplicates = true }
      dense[Int(place)] = value
      if !sparse.isEmpty, sparse[number] != nil { hasDuplicates = true }
    } else if sparse.updateValue(value, forKey: number) != nil {
      hasDuplicates = true
    }
  }

  mutating func add(_ text: [UInt8], entity: Int) {
    if texts.updateValue(Int32(truncatingIfNeeded: entity), forKey: text) != nil { hasDuplicates = true }
  }

  /// Adds the identifiers of another part of the document.
  ///
  /// - Parameter entities: The numbers that the entities of the part have here.
  mutating func add(_ part: EntityByIdentifier, entities: [Int]) {
    if part.hasDuplicates { hasDuplicates = true }
    for (place, value) in part.dense.enumerated() where value >= 0 {
      let number = part.base &+ Int64(place)
      if self[number] != nil { hasDuplicates = true }
      add(number, entity: entities[Int(value)])
    }
    for number in part.sparse.keys.sorted() {
      if self[number] != nil { hasDuplicates = true }
      if let value = part.sparse[number] { add(number, entity: entities[Int(value)]) }
    }
    for (text, value) in part.texts { add(text, entity: entities[Int(value)]) }
  }

  subscript(number: Int64) -> Int? {
    let (place, overflow) = number.subtractingReportingOverflow(base)
    if !overflow, place >= 0, place < Int64(dense.count), dense[Int(place)] >= 0 { return Int(dense[Int(place)]) }
    return sparse.isEmpty ? nil : sparse[number].map { Int($0) }
  }

  subscript(text: [UInt8]) -> Int? { texts[text].map { Int($0) } }
}
