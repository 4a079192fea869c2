import AtomicStoreSPI

extension PredicateComposite {
  /// As `value(forKey:)` returns a composite: a dictionary of the parts that are not nil; nil if there are none.
  var any: [String: Any]? {
    var known: [String: Any] = [:]
    for part in parts {
      if let value = part.value.any {
        known[String(decoding: part.name.utf8.dropFirst(name.utf8.count + 1), as: UTF8.self)] = value
      }
    }
    return known.isEmpty ? nil : known
  }
}

extension PredicateValue {
  /// The value as programs use it.
  package var any: Any? {
    switch self {
    case .value(let value): value.anyValue
    case .open(let number): number.value.anyValue
    case .object(let object): object
    case .id(let id): id
    case .list(let list): list.map { $0.any as Any }
    case .composite(let composite): composite.any
    }
  }

  /// Converts what a program passed: a value, an object, an ID, or a list of these. Nil for anything else.
  package init?(any value: Any?) {
    guard let value = StoredValue.unwrapped(value) else {
      self = .null
      return
    }
    if let object = value as? any PredicateSubject {
      self = .object(object)
      return
    }
    guard case .expression(let expression)? = PredicateArgument(value) else { return nil }
    switch expression {
    case .constant(let stored): self = .value(stored)
    case .objectID(let id): self = .id(id)
    case .aggregate:
      guard let list = PredicateArgument.list(value) else { return nil }
      var elements: [PredicateValue] = []
      for element in list {
        guard let made = PredicateValue(any: element) else { return nil }
        elements.append(made)
      }
      self = .list(elements)
    default: return nil
    }
  }

  /// Converts the values of variables that a program passed, by name.
  package static func table(_ variables: [String: Any?], entityName: String) throws(PredicateEvaluationError)
    -> [String: PredicateValue]
  {
    var table: [String: PredicateValue] = [:]
    for (name, value) in variables {
      guard let made = PredicateValue(any: value) else {
        throw PredicateEvaluationError(
          .invalid, "the value of $\(name) cannot be used in a predicate", entityName: entityName, key: name)
      }
      table[name] = made
    }
    return table
  }
}
