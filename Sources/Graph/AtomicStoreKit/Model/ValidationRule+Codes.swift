import StorePredicates

extension ValidationRule.Violation {
  /// Core Data's code for a broken rule.
  var code: ManagedObjectError.Code {
    switch kind {
    case .missingValue: .validationMissingMandatoryProperty
    case .numberTooSmall: .validationNumberTooSmall
    case .numberTooLarge: .validationNumberTooLarge
    case .dateTooSoon: .validationDateTooSoon
    case .dateTooLate: .validationDateTooLate
    case .textTooShort: .validationStringTooShort
    case .textTooLong: .validationStringTooLong
    case .patternMismatch: .validationStringPatternMatching
    case .temporaryURI: .validationInvalidURI
    }
  }
}
