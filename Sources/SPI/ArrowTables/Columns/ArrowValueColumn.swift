import FoundationEssentials

extension ArrowColumn {
  /// A column of values without a model, such as results of expressions: one batch.
  ///
  /// Values of one kind have the type that an attribute of that kind has; integers have 64 bits. Values of several
  /// kinds are texts with their kind, as `StoredValue.typedText` has them, and so are references. A column without
  /// values has texts.
  package init(_ name: String, values: [StoredValue]) {
    var kinds: Set<String> = []
    for value in values where !value.isNull { kinds.insert(value.kindDescription) }
    var field = ArrowField(name, .text(isLarge: false))
    switch kinds.count == 1 ? values.lazy.compactMap(\.attributeType).first : nil {
    case .float:
      self = Self.attribute(
        field, .double, values.map { if case .float(let number) = $0 { .double(Double(number)) } else { .null } })
    case let type?:
      if type == .uuid { field.metadata = ArrowKey.uuidExtension }
      self = Self.attribute(field, type, values)
    case nil:
      self = ArrowTexts.column(field, [values.map { $0.isNull ? nil : Self.text($0) }])
    }
  }

  private static func text(_ value: StoredValue) -> String {
    switch value {
    case .toOne(let reference): ArrowReferences.text(reference.reference)
    case .toMany(let list): list.map { ArrowReferences.text($0.reference) }.joined(separator: " ")
    default: value.typedText
    }
  }

  static func booleans(_ field: ArrowField, _ values: [StoredValue]) -> ArrowColumn {
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

  static func data(_ field: ArrowField, _ values: [StoredValue]) -> ArrowColumn {
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
  static func identifiers(_ field: ArrowField, _ values: [StoredValue]) -> ArrowColumn {
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
}
