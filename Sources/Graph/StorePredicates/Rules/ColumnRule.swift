package import AtomicStoreSPI

/// What a model demands of the values in one column: a row that cannot break it is recognized without its value.
package struct ColumnRule {
  private let slot: Int
  private let rule: ValidationRule
  private let reader: EntityReader
  /// A text without bounds can only break a rule if it is an object's temporary URI.
  private let looksAtTexts: Bool

  /// - Returns: Nil if no value of the attribute breaks a rule.
  package init?(_ slot: Slot, _ reader: EntityReader) {
    guard let rule = slot.attribute.flatMap({ ValidationRule($0, isStored: true) }) else { return nil }
    self.slot = slot.index
    self.rule = rule
    self.reader = reader
    looksAtTexts = !rule.limitsValues && (slot.attributeType == .string || slot.attributeType == .uri)
    guard rule.isMandatory || rule.limitsValues || looksAtTexts else { return nil }
  }

  /// The rules that the value of a row breaks.
  package func violations(_ row: Int, _ budget: StepBudget) -> [ValidationRule.Violation] {
    if reader.isNull(slot: slot, row: row) { return rule.isMandatory ? rule.violations(.null, budget) : [] }
    guard rule.limitsValues || looksAtTexts && mayBeObjectURI(row) else { return [] }
    return rule.violations(reader.value(slot: slot, row: row), budget)
  }

  /// The rules that another value breaks.
  package func violations(_ value: StoredValue, _ budget: StepBudget) -> [ValidationRule.Violation] {
    rule.violations(value, budget)
  }

  /// Whether a text begins as the URI of an object does.
  private func mayBeObjectURI(_ row: Int) -> Bool {
    let bytes = reader.bytes(slot: slot, row: row)
    return bytes.count > 11 && bytes[0] == UInt8(ascii: "x") && bytes[1] == UInt8(ascii: "-")
      && bytes[2] == UInt8(ascii: "c")
  }
}
