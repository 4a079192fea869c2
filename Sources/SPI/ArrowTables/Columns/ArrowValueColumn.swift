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
}
