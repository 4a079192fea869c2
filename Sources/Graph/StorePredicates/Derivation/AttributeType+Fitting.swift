package import AtomicStoreSPI

extension AttributeType {
  /// Converts a computed value to this type: numbers are converted, and rounded if the type is less precise.
  ///
  /// - Returns: nil for a value that the type cannot hold.
  package func fitting(_ value: StoredValue) -> StoredValue? {
    if accepts(value) { return value }
    guard let number = NumberOrder.Number(value) else { return nil }
    let converted: StoredValue
    switch valueKind {
    case .integer:
      let rounded: Int64? =
        if case .decimal(let decimal) = number {
          decimal.rounded(.toNearestOrAwayFromZero).integer
        } else {
          Int64(exactly: number.asDouble.rounded())
        }
      guard let rounded else { return nil }
      converted = .integer(rounded)
    case .double: converted = .double(number.asDouble)
    case .float: converted = .float(Float(number.asDouble))
    case .decimal:
      switch number {
      case .integer(let whole): converted = .decimal(DecimalNumber(whole))
      default:
        guard let decimal = DecimalNumber("\(number.asDouble)") else { return nil }
        converted = .decimal(decimal)
      }
    default: return nil
    }
    return accepts(converted) ? converted : nil
  }
}
