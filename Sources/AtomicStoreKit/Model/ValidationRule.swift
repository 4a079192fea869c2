import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// What a model demands of one property's values.
struct ValidationRule: Sendable {
  var isMandatory = false
  var minimum: StoredValue?
  var maximum: StoredValue?
  var minimumLength: Int?
  var maximumLength: Int?
  var pattern: String?
  /// For to-many relationships.
  var minimumCount = 0
  var maximumCount = 0

  /// Whether a text could be an object's URI, which must not be a temporary one.
  var mayNameObjects = false

  /// - Parameter isStored: Whether its values are stored, so that a text could name an object.
  /// - Returns: nil where nothing is demanded.
  init?(_ attribute: AttributeDescription, isStored: Bool) {
    switch attribute.type {
    case .uri, .string: mayNameObjects = isStored
    default: break
    }
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
  init?(_ relationship: RelationshipDescription) {
    isMandatory = !relationship.isOptional
    if relationship.isToMany {
      minimumCount = relationship.minimumCount
      maximumCount = relationship.maximumCount
    }
    guard isMandatory || minimumCount > 0 || maximumCount > 0 else { return nil }
  }

  /// The rules that an attribute's value breaks: the code, and the rule as text.
  func violations(_ value: StoredValue) -> [(code: ManagedObjectError.Code, rule: String)] {
    if value.isNull { return isMandatory ? [(.validationMissingMandatoryProperty, "a value is needed")] : [] }
    var broken: [(ManagedObjectError.Code, String)] = []
    let isDate = if case .date = value { true } else { false }
    if let minimum, Self.isLess(value, minimum) {
      broken.append((isDate ? .validationDateTooSoon : .validationNumberTooSmall, "at least \(minimum.displayText)"))
    }
    if let maximum, Self.isLess(maximum, value) {
      broken.append((isDate ? .validationDateTooLate : .validationNumberTooLarge, "at most \(maximum.displayText)"))
    }
    switch value {
    case .string(let text), .uri(let text):
      if text.utf8.starts(with: "x-coredata:///".utf8), ManagedObjectID(uriRepresentation: text)?.isTemporaryID == true
      {
        broken.append((.validationInvalidURI, "a permanent ID: a temporary one means nothing once it is stored"))
      }
    default: break
    }
    guard case .string(let text) = value else { return broken }
    if minimumLength != nil || maximumLength != nil {
      let length = text.unicodeScalars.count
      if let minimumLength, length < minimumLength {
        broken.append((.validationStringTooShort, "at least \(minimumLength) characters"))
      }
      if let maximumLength, length > maximumLength {
        broken.append((.validationStringTooLong, "at most \(maximumLength) characters"))
      }
    }
    if let pattern {
      switch PatternCache.matches(text, pattern) {
      case true?: break
      case false?: broken.append((.validationStringPatternMatching, "the pattern \(pattern)"))
      case nil:
        broken.append((.validationStringPatternMatching, "the pattern \(pattern), which is no regular expression"))
      }
    }
    return broken
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
