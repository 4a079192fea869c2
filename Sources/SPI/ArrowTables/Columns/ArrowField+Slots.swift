/// The fields of a slot's column, which say what the model says of it.
extension ArrowField {
  /// A field of an attribute. The type of its values is to be set.
  static func attribute(_ slot: Slot, _ name: String, _ type: AttributeType) -> ArrowField {
    var field = ArrowField(name, .boolean, metadata: [ArrowMetadataEntry(ArrowKey.type, type.modelName)])
    if !slot.isOptional { field.metadata.append(ArrowMetadataEntry(ArrowKey.optional, "false")) }
    if type == .uuid { field.metadata += ArrowKey.uuidExtension }
    return field
  }

  /// A field of references: integers, or texts with their kind.
  static func references(_ name: String, _ type: String, isNullable: Bool = true, isText: Bool) -> ArrowField {
    var field = ArrowField(
      name, isText ? .text(isLarge: false) : .integer(bits: 64, isSigned: true), isNullable: isNullable,
      metadata: [ArrowMetadataEntry(ArrowKey.type, type)])
    if isText { field.metadata.append(ArrowMetadataEntry(ArrowKey.references, "typed")) }
    return field
  }

  /// A field of the references of objects.
  static func identifiers(_ name: String, isText: Bool) -> ArrowField {
    references(name, "Reference", isNullable: false, isText: isText)
  }

  static func toOne(_ slot: Slot, _ name: String, isText: Bool) -> ArrowField {
    var field = references(name, "To-one", isText: isText)
    field.metadata += metadata(slot)
    return field
  }

  static func toMany(_ slot: Slot, _ name: String, isText: Bool, isLarge: Bool) -> ArrowField {
    let item = references("item", "Reference", isNullable: false, isText: isText)
    return ArrowField(
      name, .list(ArrowField("item", item.type, isNullable: false), isLarge: isLarge), isNullable: false,
      metadata: [ArrowMetadataEntry(ArrowKey.type, "To-many")] + item.metadata.dropFirst() + metadata(slot))
  }

  private static func metadata(_ slot: Slot) -> [ArrowMetadataEntry] {
    guard let relationship = slot.relationship else { return [] }
    var entries = [ArrowMetadataEntry(ArrowKey.destination, relationship.destinationEntityName)]
    if let inverse = relationship.inverseName { entries.append(ArrowMetadataEntry(ArrowKey.inverse, inverse)) }
    if slot.isOrdered { entries.append(ArrowMetadataEntry(ArrowKey.ordered, "true")) }
    if !slot.isOptional { entries.append(ArrowMetadataEntry(ArrowKey.optional, "false")) }
    return entries
  }
}
