import AtomicStoreSPI
import StoreCodecs

/// Keys of records, in one column or several.
extension ImportPass {
  /// The key in some columns; nil where a part of it is missing.
  ///
  /// - Parameter isLink: Whether it is the key of another record.
  /// - Throws: `ImportStop.textKeys` where it is not an integer, and the keys of its hierarchy were taken for integers.
  func key(
    _ record: ImportRecord, _ columns: [Int], _ root: Int, _ bytes: UnsafeBufferPointer<UInt8>, isLink: Bool = false
  ) throws(ImportStop) -> ReferenceObject? {
    if columns.count == 1 {
      let kind = record[columns[0]].kind
      // A JSON Boolean has no text in the source.
      if kind == .yes || kind == .no {
        let word = kind == .yes ? ValueReader.yes : ValueReader.no
        return try key(word.span, .text, root, isLink)
      }
      return try record.withText(of: columns[0], bytes) { text throws(ImportStop) in
        values.lacksKey(text, kind) ? nil : try key(text, kind, root, isLink)
      }
    }
    let numbers = job.numberKeys[root] ?? []
    var parts: [String] = []
    for (index, column) in columns.enumerated() {
      if lacksKey(record, column, bytes) { return nil }
      let kind = record[column].kind
      let isNumber = numbers.count == columns.count && numbers[index]
      let part = record.withText(of: column, bytes) { text in
        (isNumber ? values.integer(text, kind) : nil).map(String.init) ?? ValueReader.keyText(text, kind)
      }
      parts.append(part.replacing("\\", with: "\\\\").replacing("|", with: "\\|"))
    }
    return .string(parts.joined(separator: "|"))
  }

  func lacksKey(_ record: ImportRecord, _ column: Int, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    record.withText(of: column, bytes) { values.lacksKey($0, record[column].kind) }
  }

  private func key(
    _ text: Span<UInt8>, _ kind: ImportField.Kind, _ root: Int, _ isLink: Bool
  ) throws(ImportStop) -> ReferenceObject {
    if isTextRoot[root] { return .string(ValueReader.text(ValueReader.trimmed(text))) }
    let number = ExactText.integer(text) ?? values.integer(text, kind)
    if let existing = job.existingKeys[root] { return existing.reference(text, number: number) }
    if let number, isNumberRoot[root] || !ValueReader.hasLeadingZero(text) { return .integer(number) }
    // A dangling key does not make the keys of records texts.
    if isLink, removesKeys { return .string(ValueReader.text(ValueReader.trimmed(text))) }
    throw .textKeys(root: root)
  }

  /// As in SQL, a key of several columns refers to nothing if one of them has no value. What the others have may be
  /// lost.
  func notePartialKeys(_ plan: TablePlan) {
    for (index, count) in (partialKeys[plan.source] ?? [:]).sorted(by: { $0.key < $1.key }) {
      reconciliationNotes.append(
        SelectionNote(
          subject: "\(plan.entity.name).\(plan.entity.slots[plan.columns[index].slot].name)", count: count,
          text: "no object, because a column of the key has no value: "
            + plan.sources(of: index).map { plan.columnNames[$0] }.joined(separator: ", ")))
    }
  }
}
