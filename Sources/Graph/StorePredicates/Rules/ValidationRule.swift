package import AtomicStoreSPI
import FoundationEssentials

/// What a model demands of one property's values.
package struct ValidationRule: Sendable {
  package var isMandatory = false
  var minimum: StoredValue?
  var maximum: StoredValue?
  var minimumLength: Int?
  var maximumLength: Int?
  var pattern: String?
  /// For to-many relationships.
  package var minimumCount = 0
  package var maximumCount = 0

  /// Whether a text could be an object's URI, which must not be a temporary one.
  var mayNameObjects = false

  /// Whether it bounds values, beside asking for one.
  package var limitsValues: Bool {
    minimum != nil || maximum != nil || minimumLength != nil || maximumLength != nil || pattern != nil
  }

  /// A rule that a value breaks.
  package struct Violation: Sendable {
    /// In what way a rule is broken.
    package enum Kind: Sendable, Hashable {
      case missingValue, numberTooSmall, numberTooLarge, dateTooSoon, dateTooLate, textTooShort, textTooLong
      case patternMismatch, temporaryURI
    }
    package var kind: Kind
    /// The rule as text.
    package var rule: String
  }

  /// - Parameter isStored: Whether its values are stored, so that a text could name an object.
  /// - Returns: nil where nothing is demanded.
  package init?(_ attribute: AttributeDescription, isStored: Bool) {
    mayNameObjects = isStored && attribute.type.valueKind.isText
    // A derived attribute is computed, not given.
    isMandatory = !attribute.isOptional && attribute.derivationExpression == nil
    minimum = attribute.minimum
    maximum = attribute.maximum
    minimumLength = attribute.minimumLength
    maximumLength = attribute.maximumLength
    pattern = attribute.regularExpression
    guard
      isMandatory || minimum != nil || maximum != nil || minimumLength != nil || maximumLength != nil || pattern != nil
        || mayNameObjects
    else { return nil }
  }

  /// - Returns: nil where nothing is demanded.
  package init?(_ relationship: RelationshipDescription) {
    isMandatory = !relationship.isOptional
    if relationship.isToMany {
      minimumCount = relationship.minimumCount
      maximumCount = relationship.maximumCount
    }
    guard isMandatory || minimumCount > 0 || maximumCount > 0 else { return nil }
  }

  /// A condition that every value fulfils which breaks the rule of an attribute; nil if a predicate cannot say it.
  package func breaking(_ keyPath: [String]) -> FetchPredicate? {
    guard minimumLength == nil, maximumLength == nil, pattern == nil else { return nil }
    // Not-a-number breaks every bound, and fulfills no comparison.
    guard [minimum, maximum].allSatisfy({ $0?.isFloatingPoint != true }) else { return nil }
    func compared(_ comparator: FetchPredicate.Comparator, _ value: StoredValue) -> FetchPredicate {
      .comparison(FetchPredicate.Comparison(.keyPath(keyPath), comparator, .constant(value)))
    }
    var parts: [FetchPredicate] = []
    if isMandatory { parts.append(compared(.equal, .null)) }
    if let minimum { parts.append(compared(.less, minimum)) }
    if let maximum { parts.append(compared(.greater, maximum)) }
    if mayNameObjects { parts.append(compared(.beginsWith, .string("x-coredata:///"))) }
    return .or(parts)
  }

  /// The rules that an attribute's value breaks.
  ///
  /// - Parameter budget: The steps that patterns may take for all values together. Values that none are left for break
  ///   their rule.
  package func violations(_ value: StoredValue, _ budget: StepBudget) -> [Violation] {
    if value.isNull { return isMandatory ? [Violation(kind: .missingValue, rule: "a value is needed")] : [] }
    var broken: [Violation] = []
    let isDate = if case .date = value { true } else { false }
    if let minimum, Self.isLess(value, minimum) {
      broken.append(Violation(kind: isDate ? .dateTooSoon : .numberTooSmall, rule: "at least \(minimum.displayText)"))
    }
    if let maximum, Self.isLess(maximum, value) {
      broken.append(Violation(kind: isDate ? .dateTooLate : .numberTooLarge, rule: "at most \(maximum.displayText)"))
    }
    switch value {
    case .string(let text) where mayNameObjects, .uri(let text) where mayNameObjects:
      if text.utf8.starts(with: "x-coredata:///".utf8), ManagedObjectID(uriRepresentation: text)?.isTemporaryID == true
      {
        broken.append(
          Violation(
            kind: .temporaryURI, rule: "a permanent ID: a temporary one means nothing once it is stored"))
      }
    default: break
    }
    guard case .string(let text) = value else { return broken }
    if minimumLength != nil || maximumLength != nil {
      let length = text.unicodeScalars.count
      if let minimumLength, length < minimumLength {
        broken.append(Violation(kind: .textTooShort, rule: "at least \(minimumLength) characters"))
      }
      if let maximumLength, length > maximumLength {
        broken.append(Violation(kind: .textTooLong, rule: "at most \(maximumLength) characters"))
      }
    }
    if let pattern, let rule = Self.broken(pattern, text, budget) {
      broken.append(Violation(kind: .patternMismatch, rule: rule))
    }
    return broken
  }

  /// The rule that a text breaks which does not match a pattern, or for which that cannot be told; nil if it matches.
  private static func broken(_ pattern: String, _ text: String, _ budget: StepBudget) -> String? {
    let expression: RegularExpression
    do throws(RegularExpressionError) { expression = try PatternCache.expression(pattern) } catch {
      return unknown(pattern, error)
    }
    guard budget.left > 0 else {
      return "the pattern \(pattern), which was not compared: patterns took all \(budget.limit) steps before"
    }
    // Less than a second, so that one text does not take the steps of all others.
    var text = text
    switch text.withUTF8({ budget.match(expression, $0, limit: 1_000_000) }) {
    case .matching: return nil
    case .different: return "the pattern \(pattern)"
    case .tooManySteps, .tooMuchMemory: return "the pattern \(pattern), which takes too many steps for this text"
    }
  }

  /// The rule if a pattern cannot be compiled.
  static func unknown(_ pattern: String, _ error: RegularExpressionError) -> String {
    "the pattern \(pattern), which "
      + (error.isWithoutICU ? "was not compared: \(error)" : "is not a regular expression")
  }

  /// Not-a-number breaks every bound that there is.
  private static func isLess(_ one: StoredValue, _ other: StoredValue) -> Bool {
    switch (one, other) {
    case (.integer(let a), .integer(let b)): a < b
    case (.double(let a), .double(let b)): !(a >= b)
    case (.float(let a), .float(let b)): !(a >= b)
    case (.decimal(let a), .decimal(let b)): a.isLess(than: b) || a.isNaN
    case (.date(let a), .date(let b)): !(a.timeIntervalSinceReferenceDate >= b.timeIntervalSinceReferenceDate)
    default: false
    }
  }
}

extension StoredValue {
  /// Whether values of its type may be not-a-number.
  fileprivate var isFloatingPoint: Bool {
    switch self {
    case .double, .float, .date, .decimal: true
    default: false
    }
  }
}
