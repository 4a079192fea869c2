import FoundationEssentials

extension ArrowColumn {
  /// A column of a property's values: one batch. It has the type that ``ArrowNodeColumns`` gives it, so that a result
  /// has one schema, whether its rows come from the columns of a store or one by one.
  ///
  /// - Parameters:
  ///   - name: The name of the column.
  ///   - slot: The property.
  ///   - values: What rows have: null, the attribute's values, or `toOne` and `toMany`.
  ///   - hasTextReferences: For a relationship, whether references of its destination's hierarchy are texts.
  package init(_ name: String, of slot: Slot, values: [StoredValue], hasTextReferences: Bool = false) {
    switch slot.kind {
    case .attribute(let type):
      self = Self.attribute(ArrowField.attribute(slot, name, type), type, values)
    case .toOne:
      self.init(
        references: values.map { if case .toOne(let object) = $0 { object.reference } else { nil } },
        ArrowField.toOne(slot, name, isText: hasTextReferences), isText: hasTextReferences)
    case .toMany:
      self = Self.lists(
        values.map { if case .toMany(let list) = $0 { list.map(\.reference) } else { [] } }, slot, name,
        isText: hasTextReferences)
    }
  }

  /// A column of the references of objects: one batch, of the type that ``ArrowNodeColumns/identifiers(named:)`` has.
  package init(_ name: String, identifiers: [ReferenceObject?], areTexts: Bool) {
    self.init(references: identifiers, ArrowField.identifiers(name, isText: areTexts), isText: areTexts)
  }

  /// A column of the names of objects' entities: one batch, of the type that ``ArrowNodeColumns/entityNames(named:)``
  /// has.
  package init(_ name: String, entityNames: [String]) {
    self = ArrowTexts.column(ArrowField(name, .text(isLarge: false), isNullable: false), [entityNames])
  }

  private init(references: [ReferenceObject?], _ field: ArrowField, isText: Bool) {
    guard !isText else {
      self.init(field) { _ in ArrowTexts.data(references.map { $0.map { ArrowReferences.text($0) } }, isLarge: false) }
      return
    }
    self.init(field) { _ in
      var bits = ValidityBits(count: references.count)
      var numbers = [Int64](repeating: 0, count: references.count)
      for (index, reference) in references.enumerated() {
        guard case .integer(let number)? = reference else { continue }
        bits.set(index)
        numbers[index] = number
      }
      return ArrowColumnData(
        count: references.count, nullCount: bits.nullCount, buffers: [bits.buffer, .int64(numbers)])
    }
  }

  private static func lists(
    _ lists: [[ReferenceObject]], _ slot: Slot, _ name: String, isText: Bool
  ) -> ArrowColumn {
    let isLarge = lists.reduce(0) { $0 + $1.count } > Int(Int32.max)
    return ArrowColumn(ArrowField.toMany(slot, name, isText: isText, isLarge: isLarge)) { _ in
      var ends = Offsets(count: lists.count, isLarge: isLarge)
      var items: [ReferenceObject] = []
      for list in lists {
        items += list
        ends.append(items.count)
      }
      let numbers = items.map { if case .integer(let number) = $0 { number } else { Int64(0) } }
      let values =
        isText
        ? ArrowTexts.data(items.map { ArrowReferences.text($0) }, isLarge: false)
        : ArrowColumnData(count: items.count, nullCount: 0, buffers: [.empty, .int64(numbers)])
      return ArrowColumnData(count: lists.count, nullCount: 0, buffers: [.empty, ends.buffer], item: [values])
    }
  }

  // MARK: Attributes

  static func attribute(_ field: ArrowField, _ type: AttributeType, _ values: [StoredValue]) -> ArrowColumn {
    switch type.valueKind {
    case .boolean: booleans(field, values)
    case .integer: integers(field, bits: type.integerBits, values)
    case .float:
      cells(field, .float(bits: 32), values) {
        if case .float(let number) = $0 { UInt64(number.bitPattern) } else { nil }
      }
    case .double:
      cells(field, .float(bits: 64), values) { if case .double(let number) = $0 { number.bitPattern } else { nil } }
    case .uuid: identifiers(field, values)
    case .string, .uri:
      ArrowTexts.column(
        field,
        [
          values.map {
            switch $0 {
            case .string(let text), .uri(let text): text
            default: nil
            }
          }
        ])
    case .data: data(field, values)
    case .date:
      ArrowDates.column(
        field, [values.map { if case .date(let date) = $0 { date.timeIntervalSinceReferenceDate } else { nil } }])
    case .decimal:
      ArrowDecimals.column(field, [values.map { if case .decimal(let number) = $0 { number } else { nil } }])
    case .undefined, .toOne, .toMany:
      ArrowTexts.column(field, [values.map { $0.isNull ? nil : $0.typedText }])
    }
  }

  private static func booleans(_ field: ArrowField, _ values: [StoredValue]) -> ArrowColumn {
    var field = field
    field.type = .boolean
    return ArrowColumn(field) { _ in
      var bits = ValidityBits(count: values.count)
      var cells = [UInt8](repeating: 0, count: (values.count + 7) / 8)
      for (index, value) in values.enumerated() {
        guard case .boolean(let flag) = value else { continue }
        bits.set(index)
        if flag { cells[index >> 3] |= 1 << UInt8(index & 7) }
      }
      return ArrowColumnData(count: values.count, nullCount: bits.nullCount, buffers: [bits.buffer, .bytes(cells)])
    }
  }

  private static func data(_ field: ArrowField, _ values: [StoredValue]) -> ArrowColumn {
    var field = field
    var bits = ValidityBits(count: values.count)
    var bytes: [UInt8] = []
    let isLarge = values.reduce(0) { if case .data(let data) = $1 { $0 + data.count } else { $0 } } > Int(Int32.max)
    var ends = Offsets(count: values.count, isLarge: isLarge)
    for (index, value) in values.enumerated() {
      if case .data(let data) = value {
        bits.set(index)
        bytes.append(contentsOf: data)
      }
      ends.append(bytes.count)
    }
    field.type = .binary(isLarge: isLarge)
    let result = ArrowColumnData(
      count: values.count, nullCount: bits.nullCount, buffers: [bits.buffer, ends.buffer, .bytes(bytes)])
    return ArrowColumn(field) { _ in result }
  }

  /// A column of UUIDs.
  private static func identifiers(_ field: ArrowField, _ values: [StoredValue]) -> ArrowColumn {
    var field = field
    field.type = .fixedSizeBinary(16)
    var bits = ValidityBits(count: values.count)
    var bytes: [UInt8] = []
    for (index, value) in values.enumerated() {
      guard case .uuid(let uuid) = value else {
        bytes.append(contentsOf: repeatElement(0, count: 16))
        continue
      }
      bits.set(index)
      withUnsafeBytes(of: uuid.uuid) { bytes.append(contentsOf: $0) }
    }
    let result = ArrowColumnData(
      count: values.count, nullCount: bits.nullCount, buffers: [bits.buffer, .bytes(bytes)])
    return ArrowColumn(field) { _ in result }
  }

  private static func integers(_ field: ArrowField, bits: Int, _ values: [StoredValue]) -> ArrowColumn {
    cells(field, .integer(bits: bits, isSigned: true), values) {
      if case .integer(let number) = $0 { UInt64(bitPattern: number) } else { nil }
    }
  }

  /// A column of values of up to eight bytes, little-endian.
  private static func cells(
    _ field: ArrowField, _ type: ArrowType, _ values: [StoredValue], _ word: @escaping (StoredValue) -> UInt64?
  ) -> ArrowColumn {
    var field = field
    field.type = type
    let width = type.valueWidth ?? 8
    return ArrowColumn(field) { _ in
      var bits = ValidityBits(count: values.count)
      var words = [Int64](repeating: 0, count: values.count)
      for (index, value) in values.enumerated() {
        guard let word = word(value) else { continue }
        bits.set(index)
        words[index] = Int64(bitPattern: word)
      }
      guard width < 8 else {
        return ArrowColumnData(count: values.count, nullCount: bits.nullCount, buffers: [bits.buffer, .int64(words)])
      }
      var bytes: [UInt8] = []
      bytes.reserveCapacity(values.count * width)
      for word in words { for place in 0..<width { bytes.append(UInt8(truncatingIfNeeded: word >> (place * 8))) } }
      return ArrowColumnData(count: values.count, nullCount: bits.nullCount, buffers: [bits.buffer, .bytes(bytes)])
    }
  }
}
