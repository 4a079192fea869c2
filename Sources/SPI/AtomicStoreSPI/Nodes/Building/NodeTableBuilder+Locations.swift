/// Where nodes are, for errors.
extension NodeTableBuilder {
  /// The file that a row of an entity is in.
  ///
  /// - Parameter row: By default, the row that was begun last.
  func file(of entity: Int, row: Int = .max) -> String? {
    var (low, high) = (0, members[entity].count)
    while low < high {
      let middle = (low + high) / 2
      if members[entity][middle].firstRow <= row { low = middle + 1 } else { high = middle }
    }
    return low > 0 ? members[entity][low - 1].name : file
  }

  func location(entity: Int, row: Int, slot: Int?) -> StoreLocation {
    let record = model.records[entity]
    let line = building[entity].lines.map { Int($0[row]) } ?? 0
    let text = text(entity, row)
    let number = tables[entity].referenceNumbers.header.pointee
    let reference = text ?? (row < number.capacity ? String(number.cell(row, as: Int64.self)) : nil)
    return StoreLocation(
      file: file(of: entity, row: row), line: line > 0 ? line : nil, entity: record.description.name,
      reference: reference, property: slot.map { record.slots[$0].name })
  }

  /// The string reference of a row. The texts are sorted by row first: only errors need that.
  private func text(_ entity: Int, _ row: Int) -> String? {
    if textRows[entity].isEmpty {
      return tables[entity].referenceText(row).map { String(decoding: $0, as: UTF8.self) }
    }
    sortTexts(entity)
    var low = 0
    var high = textRows[entity].count
    while low < high {
      let middle = (low + high) / 2
      if Int(textRows[entity][middle].row) <= row { low = middle + 1 } else { high = middle }
    }
    guard low > 0, Int(textRows[entity][low - 1].row) == row else { return nil }
    return text(mention: Int(textRows[entity][low - 1].number), model.records[entity].root)
  }

  /// The location of the current node, for errors of the format.
  public func location(_ slot: Int? = nil) -> StoreLocation {
    guard state.pointee.row >= 0 else { return StoreLocation(file: file) }
    return location(entity: state.pointee.entity, row: state.pointee.row, slot: slot)
  }

  /// The type of a slot of the current node as text, such as `Integer 16`, for errors of the format.
  public func typeName(slot: Int) -> String {
    guard state.pointee.entity >= 0 else { return "value" }
    return model.records[state.pointee.entity].slots[slot].attributeType?.modelName ?? "reference"
  }

  func misfit(_ value: StoredValue, _ slot: Int) -> PersistentStoreError {
    if case .attribute(let type) = kind(slot) {
      return .unacceptable(value, for: type, at: location(slot))
    }
    return PersistentStoreError(
      .invalidValue, "a relationship cannot hold \(value.kindDescription)", at: location(slot))
  }

  func wrongCardinality(_ slot: Int, _ asked: String) -> PersistentStoreError {
    PersistentStoreError(.invalidValue, "the property is not a \(asked) relationship", at: location(slot))
  }
}
