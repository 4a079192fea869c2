package import AtomicStoreSPI

/// What a model demands of the values in one column: a row that cannot break it is recognized without its value.
///
/// An object, because copying a rule for each row takes longer than looking at the row.
package final class ColumnRule {
  private let slot: Int
  private let rule: ValidationRule
  private let isMandatory: Bool
  private let limitsValues: Bool
  private let reader: EntityReader
  /// A text without bounds can only break a rule if it is an object's temporary URI.
  private let looksAtTexts: Bool

  /// - Returns: Nil if no value of the attribute breaks a rule.
  package init?(_ slot: Slot, _ reader: EntityReader) {
    guard let rule = slot.attribute.flatMap({ ValidationRule($0, isStored: true) }) else { return nil }
    self.slot = slot.index
    self.rule = rule
    self.reader = reader
    isMandatory = rule.isMandatory
    limitsValues = rule.limitsValues
    looksAtTexts = !limitsValues && slot.valueKind.isText
    guard isMandatory || limitsValues || looksAtTexts else { return nil }
  }

  /// The rules that the value of a row breaks.
  package func violations(_ row: Int, _ budget: StepBudget) -> [ValidationRule.Violation] {
    if reader.isNull(slot: slot, row: row) { return isMandatory ? rule.violations(.null, budget) : [] }
    guard limitsValues || looksAtTexts && mayBeObjectURI(row) else { return [] }
    return rule.violations(reader.value(slot: slot, row: row), budget)
  }

  /// The rules that another value breaks.
  package func violations(_ value: StoredValue, _ budget: StepBudget) -> [ValidationRule.Violation] {
    rule.violations(value, budget)
  }

  /// Whether a text begins as the URI of an object does.
  private func mayBeObjectURI(_ row: Int) -> Bool {
    let reader = reader
    let bytes = reader.bytes(slot: slot, row: row)
    return bytes.count > 11 && bytes[0] == UInt8(ascii: "x") && bytes[1] == UInt8(ascii: "-")
      && bytes[2] == UInt8(ascii: "c")
  }
}
