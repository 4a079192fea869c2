/// A reference to an object of one entity hierarchy as a builder keeps it: a text is stored once, however often it is
/// mentioned. Valid for the builder that returned it, and there for entities of the same hierarchy.
public struct NumberedReference: Sendable, BitwiseCopyable {
  let cell: UInt64
}

extension NodeTableBuilder {
  /// Returns the number of an integer reference.
  public func numbered(_ reference: Int64) -> NumberedReference { NumberedReference(cell: encode(reference)) }

  /// Returns the number of a string reference from its UTF-8, in the hierarchy of an entity.
  ///
  /// - Throws: `.invalidValue` if the bytes are not UTF-8.
  public func numbered(utf8: Span<UInt8>, entity: Int) throws(PersistentStoreError) -> NumberedReference {
    guard Self.isUTF8(utf8) else { throw Self.notUTF8(StoreLocation(file: file(of: entity))) }
    let root = model.records[entity].root
    return NumberedReference(cell: utf8.withUnsafeBufferPointer { encode($0, root: root) })
  }

  /// Sets the reference of a row to a string that has a number.
  ///
  /// - Throws: `.malformed` if it is not a string of the entity's hierarchy.
  public func setReference(
    _ reference: NumberedReference, entity: Int, row: Int
  ) throws(PersistentStoreError) {
    precondition(row >= 0 && row < building[entity].count, "the row does not exist")
    let number = reference.cell & RawReference.numberMask
    guard reference.cell & RawReference.tagMask == RawReference.textTag,
      number < UInt64(texts[model.records[entity].root].count)
    else {
      throw PersistentStoreError(
        .malformed, "the reference is not a string", at: location(entity: entity, row: row, slot: nil))
    }
    noteNumber(Int(number), entity, row)
  }

  /// Fills a relationship by references that have numbers.
  ///
  /// - Parameters:
  ///   - entity: The entity's index in the model.
  ///   - slot: The relationship's slot.
  ///   - counts: The number of objects of each row; at most 1 for a to-one.
  ///   - references: The references of all objects, row by row.
  /// - Throws: `.malformed` if the sizes do not match the rows, or a reference is not one of the destination's
  ///   hierarchy.
  public func fillRelationship(
    entity: Int, slot: Int, counts: Span<UInt32>, references: Span<NumberedReference>
  ) throws(PersistentStoreError) {
    let (header, rows) = try whole(entity, slot)
    let isToMany = header.pointee.layout == .toMany
    guard isToMany || header.pointee.layout == .toOne, counts.count == rows else {
      throw badColumn(entity, slot, "\(counts.count) counts for \(rows) rows")
    }
    try checkNumbers(references, entity, slot)
    if isToMany {
      try reserve(references.count, header)
      try reserveHeap(
        references.count, header, at: StoreLocation(file: file, property: model.records[entity].slots[slot].name))
      header.pointee.heapCount = references.count
    }
    var start = 0
    for row in 0..<rows {
      let count = Int(counts[row])
      guard count <= references.count - start, isToMany || count <= 1 else {
        throw badColumn(entity, slot, "row \(row) has \(count) objects")
      }
      if count == 0 {
        header.pointee.setNull(row)
      } else if isToMany {
        for place in start..<(start + count) {
          (header.pointee.heap + place * 8).storeBytes(of: references[place].cell, as: UInt64.self)
        }
        guard header.pointee.placeValue(row, start: start, length: count) else {
          throw .columnFull(StoreLocation(file: file, property: model.records[entity].slots[slot].name))
        }
      } else {
        header.pointee.setCell(row, references[start].cell)
      }
      start += count
    }
    guard start == references.count else { throw badColumn(entity, slot, "unused references") }
  }

  /// A number that another builder or another hierarchy returned could be out of range.
  private func checkNumbers(
    _ references: Span<NumberedReference>, _ entity: Int, _ slot: Int
  ) throws(PersistentStoreError) {
    let textCount = UInt64(texts[Int(building[entity].roots[slot])].count)
    let listedCount = UInt64(listed.count)
    for place in 0..<references.count {
      let cell = references[place].cell
      let number = cell & RawReference.numberMask
      let isKnown =
        switch cell & RawReference.tagMask {
        case RawReference.textTag: number < textCount
        case RawReference.listTag: number < listedCount
        default: cell & RawReference.tagMask == RawReference.inlineTag
        }
      guard isKnown else {
        throw badColumn(entity, slot, "a reference that the builder does not have in this hierarchy")
      }
    }
  }
}
