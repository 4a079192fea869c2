/// Where nodes are, for errors.
extension NodeTableBuilder {
  func location(entity: Int, row: Int, slot: Int?) -> StoreLocation {
    let record = model.records[entity]
    let line = building[entity].lines.map { Int($0[row]) } ?? 0
    let text = text(entity, row)
    let number = tables[entity].referenceNumbers.header.pointee
    let reference = text ?? (row < number.capacity ? String(number.cell(row, as: Int64.self)) : nil)
    return StoreLocation(
      file: members[entity] ?? file, line: line > 0 ? line : nil, entity: record.description.name,
      reference: reference, property: slot.map { record.slots[$0].name })
  }

  /// How many string references belong to rows up to this one. They are sorted by row.
  func textCount(_ entity: Int, through row: Int) -> Int {
    var low = 0
    var high = texts[entity].count
    while low < high {
      let middle = (low + high) / 2
      if texts[entity][middle].row <= row { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func text(_ entity: Int, _ row: Int) -> String? {
    let count = textCount(entity, through: row)
    guard count > 0, texts[entity][count - 1].row == row else { return nil }
    return texts[entity][count - 1].text
  }
}
