import AtomicStoreSPI

/// The live objects of one entity hierarchy, by reference. It does not keep them alive: each removes itself on
/// deinitialization.
struct IdentityMap<Object: AnyObject> {
  /// Objects whose numbers are close together, as consecutive references are, starting at ``first``.
  private var dense: ContiguousArray<Unmanaged<Object>?> = []
  private var first: Int64 = 0
  private var sparse: [Int64: Unmanaged<Object>] = [:]
  private var texts: [ScalarString: Unmanaged<Object>] = [:]
  private var count = 0

  subscript(number: Int64) -> Object? {
    let place = number &- first
    if place >= 0, place < dense.count, let object = dense[Int(truncatingIfNeeded: place)] {
      return object.takeUnretainedValue()
    }
    return sparse.isEmpty ? nil : sparse[number]?.takeUnretainedValue()
  }
  subscript(text: String) -> Object? { texts[ScalarString(text)]?.takeUnretainedValue() }

  mutating func insert(_ object: Object, _ reference: ReferenceObject) {
    count += 1
    switch reference {
    case .string(let text): texts[ScalarString(text)] = .passUnretained(object)
    case .integer(let number):
      if dense.isEmpty { first = number }
      let (place64, overflow) = number.subtractingReportingOverflow(first)
      // An array wastes little for neighboring numbers.
      guard !overflow, place64 >= 0, place64 < max(1024, dense.count * 2), place64 < count * 8 + 1024 else {
        sparse[number] = .passUnretained(object)
        return
      }
      let place = Int(truncatingIfNeeded: place64)
      while dense.count <= place { dense.append(nil) }
      dense[place] = .passUnretained(object)
    }
  }

  mutating func remove(_ reference: ReferenceObject) {
    count -= 1
    switch reference {
    case .string(let text): texts[ScalarString(text)] = nil
    case .integer(let number):
      let place = number &- first
      if place >= 0, place < dense.count, dense[Int(truncatingIfNeeded: place)] != nil {
        dense[Int(truncatingIfNeeded: place)] = nil
      } else {
        sparse[number] = nil
      }
    }
  }

  func visit(_ body: (Object) -> Void) {
    for object in dense { if let object { body(object.takeUnretainedValue()) } }
    for object in sparse.values { body(object.takeUnretainedValue()) }
    for object in texts.values { body(object.takeUnretainedValue()) }
  }

  var objects: [Object] {
    var result = dense.compactMap { $0?.takeUnretainedValue() }
    for key in sparse.keys.sorted() { if let object = sparse[key] { result.append(object.takeUnretainedValue()) } }
    for key in texts.keys.sorted() { if let object = texts[key] { result.append(object.takeUnretainedValue()) } }
    return result
  }
}
