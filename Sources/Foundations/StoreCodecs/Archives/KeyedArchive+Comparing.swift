import StorePrimitives

extension KeyedArchive.Value {
  /// Whether both lead to the same graph of objects, wherever these are in their archives: the same plain values, and
  /// references that meet in the same objects.
  public func isSame(as other: KeyedArchive.Value) -> Bool {
    var partners: [Int: Int] = [:]
    var known: Set<Int> = []
    var rest: [(PropertyListValue, PropertyListValue)] = []

    /// Notes that two objects are the same, and what they hold for comparison; false if one is another's already.
    func pair(_ one: Int, _ two: Int) -> Bool {
      if let partner = partners[one] { return partner == two }
      guard storage.objects.indices.contains(one), other.storage.objects.indices.contains(two),
        known.insert(two).inserted
      else { return false }
      partners[one] = two
      rest.append((storage.objects[one], other.storage.objects[two]))
      return true
    }
    if let index, let second = other.index {
      guard pair(index, second) else { return false }
    } else {
      rest.append((value, other.value))
    }
    while let (one, two) = rest.popLast() {
      switch (one, two) {
      case (.uid(let first), .uid(let second)):
        guard (first == 0) == (second == 0), let first = Int(exactly: first), let second = Int(exactly: second),
          first == 0 || pair(first, second)
        else { return false }
      case (.array(let first), .array(let second)):
        guard first.count == second.count else { return false }
        rest += zip(first, second)
      case (.dictionary(let first), .dictionary(let second)):
        guard first.count == second.count else { return false }
        for field in first {
          guard let value = second[field.key] else { return false }
          rest.append((field.value, value))
        }
      default: guard one == two else { return false }
      }
    }
    return true
  }
}
