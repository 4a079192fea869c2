import AtomicStoreSPI

extension PredicateEvaluator {
  /// Evaluates a path on a value. Lists are processed one key at a time for all elements, so that an object that occurs
  /// several times is read once if repetitions do not matter.
  ///
  /// - Parameter isDistinct: Whether repeated objects may be dropped at each key.
  /// - Throws: `.invalidFetch` for a key that the object does not have, a path that continues after a value, and a path
  ///   of more than ``FetchExpression/maximumPathLength`` keys; `.stepLimitExceeded`.
  func value(
    at path: ArraySlice<String>, of start: PredicateValue, isDistinct: Bool
  ) throws(PredicateEvaluationError) -> PredicateValue {
    guard path.count <= FetchExpression.maximumPathLength else {
      throw failure(FetchExpression.pathTooLong(path.count))
    }
    var value = start
    var place = path.startIndex
    while place < path.endIndex {
      if case .list(let list) = value { return try spread(path[place...], over: list, isDistinct: isDistinct) }
      try budget.take()
      (value, place) = try step(from: value, at: place, in: path)
    }
    return value
  }

  /// Applies the rest of a path to each element of a list; null is skipped.
  private func spread(
    _ path: ArraySlice<String>, over list: [PredicateValue], isDistinct: Bool
  ) throws(PredicateEvaluationError) -> PredicateValue {
    guard let first = path.first else { return .list(list) }
    if FetchExpression.isOperator(first) { return try aggregate(first, path.dropFirst(), list) }
    if path.count > 1, let name = path.last, FetchExpression.endOperators.contains(name) {
      let isRepetitionIgnored = name == "@min" || name == "@max"
      return try aggregate(name, [], try spread(path.dropLast(), over: list, isDistinct: isRepetitionIgnored).elements)
    }
    var elements = list
    var place = path.startIndex
    while place < path.endIndex {
      // An operator is applied to the value of each element, not to the whole list.
      let isLast = place + 1 < path.endIndex && FetchExpression.isOperator(path[place + 1])
      guard !isLast, let (found, next) = try step(fromAll: elements, at: place, in: path, isDistinct: isDistinct) else {
        return .list(try valuesOfEach(elements, path[place...], isDistinct: isDistinct))
      }
      elements = found
      place = next
    }
    return .list(elements)
  }

  /// Evaluates one step of a path on each element.
  ///
  /// - Returns: The values, and where the path continues; nil if that differs between elements, since a composite takes
  ///   two keys of a path.
  private func step(
    fromAll elements: [PredicateValue], at place: Int, in path: ArraySlice<String>, isDistinct: Bool
  ) throws(PredicateEvaluationError) -> ([PredicateValue], Int)? {
    var found: [PredicateValue] = []
    var next: Int?
    try budget.take(elements.count)
    for element in elements {
      if case .list = element { return nil }
      let (value, end) = try step(from: element, at: place, in: path)
      switch value {
      case .value(.null): continue
      case .composite(let composite) where composite.isNull: continue
      case .list(let more): found += more
      default: found.append(value)
      }
      guard next == nil || next == end else { return nil }
      next = end
      try budget.checkList(found.count)
    }
    guard let next else { return ([], path.endIndex) }
    return (isDistinct && elements.count > 1 ? Self.withoutRepetitions(found) : found, next)
  }

  /// The value of a path for each element separately.
  private func valuesOfEach(
    _ elements: [PredicateValue], _ path: ArraySlice<String>, isDistinct: Bool
  ) throws(PredicateEvaluationError) -> [PredicateValue] {
    var found: [PredicateValue] = []
    for element in elements {
      let value = try value(at: path, of: element, isDistinct: isDistinct)
      switch value {
      case .value(.null): continue
      case .composite(let composite) where composite.isNull: continue
      case .list(let more): found += more
      default: found.append(value)
      }
      try budget.checkList(found.count)
    }
    return found
  }

  /// The values with each object once, in the order of first occurrence.
  private static func withoutRepetitions(_ values: [PredicateValue]) -> [PredicateValue] {
    var seen: Set<UInt64> = []
    return values.filter {
      if case .object(let object) = $0 { seen.insert(object.subjectNumber).inserted } else { true }
    }
  }

  /// Evaluates one step of a path on a value that is not a list.
  ///
  /// - Returns: The value, and where the path continues.
  private func step(
    from value: PredicateValue, at place: Int, in path: ArraySlice<String>
  ) throws(PredicateEvaluationError) -> (PredicateValue, Int) {
    let key = path[place]
    switch value {
    case .value(.null): return (key == "@count" ? .value(.integer(0)) : .null, path.endIndex)
    case .object(let object):
      if FetchExpression.isOperator(key) { return (try aggregate(key, path[(place + 1)...], [value]), path.endIndex) }
      return try step(from: object, at: place, in: path)
    case .value(.string(let name)) where key == "name" && place + 1 == path.endIndex:
      return (.value(.string(name)), path.endIndex)
    case .value(.string(let text)) where key == "length" && place + 1 == path.endIndex:
      return (.value(.integer(Int64(text.unicodeScalars.count))), path.endIndex)
    case .composite(let composite) where FetchExpression.isOperator(key):
      throw failure(composite.refusal, key: composite.name)
    case .value, .open, .id, .composite, .list:
      throw failure("the path continues with '\(path[place...].joined(separator: "."))' after a value", key: key)
    }
  }

  private func step(
    from object: any PredicateSubject, at place: Int, in path: ArraySlice<String>
  ) throws(PredicateEvaluationError) -> (PredicateValue, Int) {
    var key = path[place]
    var next = place + 1
    var found = object.predicateProperty(named: key)
    // The parts of a composite are properties with a dot in their names.
    while let property = found, property.isComposite, next < path.endIndex {
      if FetchExpression.isOperator(path[next]) { break }
      key += "." + path[next]
      next += 1
      found = object.predicateProperty(named: key)
    }
    if let property = found {
      let value = try object.predicateValue(of: property)
      // The list of a to-many is made for this step.
      if case .list(let list) = value { try budget.take(list.count) }
      return (value, next)
    }
    switch key {
    case "self", "SELF", "objectID": return (.object(object), next)
    case "entity": return (.value(.string(object.predicateEntityName)), next)
    default:
      if let nothing = Self.nothing(at: key, for: object) { return (nothing, next) }
      if let operation = FetchExpression.unknownOperator(key) {
        let names = FetchExpression.operators + object.predicatePropertyNames
        throw failure(operation + Suggestion.text(for: key, among: names), key: key)
      }
      throw failure(
        "\(object.predicateEntityName) has no property '\(key)'\(Suggestion.text(for: key, among: object.predicatePropertyNames))",
        key: key)
    }
  }

  /// The value of a key that an object does not have, but another entity of its hierarchy: null, or no objects.
  private static func nothing(at key: String, for object: any PredicateSubject) -> PredicateValue? {
    guard let root = object.predicateEntity?.root else { return nil }
    for entity in root.hierarchy {
      guard let kind = PredicateKind(ofProperty: key, of: entity) else { continue }
      if case .list = kind { return .list([]) }
      return .null
    }
    return nil
  }

  private func aggregate(
    _ name: String, _ rest: ArraySlice<String>, _ list: [PredicateValue]
  ) throws(PredicateEvaluationError) -> PredicateValue {
    if name == "@count" { return .value(.integer(Int64(list.count))) }
    let ignoresRepetition = name == "@min" || name == "@max" || name.hasPrefix("@distinct")
    let values = rest.isEmpty ? list : try spread(rest, over: list, isDistinct: ignoresRepetition).elements
    try refuseComposite(.list(values))
    switch name {
    case "@sum": return try call("sum:", [.list(values)])
    case "@avg": return try call("average:", [.list(values)])
    case "@min": return try call("min:", [.list(values)])
    case "@max": return try call("max:", [.list(values)])
    case "@unionOfObjects", "@unionOfArrays", "@unionOfSets": return .list(values)
    case "@distinctUnionOfObjects", "@distinctUnionOfArrays", "@distinctUnionOfSets": return .list(try distinct(values))
    default:
      throw failure("unknown operator '\(name)'\(Suggestion.text(for: name, among: FetchExpression.operators))")
    }
  }

  /// The values, with equal ones only once.
  private func distinct(_ values: [PredicateValue]) throws(PredicateEvaluationError) -> [PredicateValue] {
    var distinct: [PredicateValue] = []
    for value in Self.withoutRepetitions(values) {
      let known = distinct.firstIndex { Self.isEqual($0, value, []) }
      try budget.take(known ?? distinct.count)
      if known == nil { distinct.append(value) }
    }
    return distinct
  }
}

extension FetchPredicate.Comparison {
  /// Whether the result of the comparison does not depend on how often the left side contains an object.
  var ignoresRepetitionOnTheLeft: Bool {
    if modifier != .direct || comparator == .contains { return true }
    // Comparing a count with 0: whether the list is empty.
    return (comparator == .equal || comparator == .notEqual) && right == .constant(.null)
  }
}
