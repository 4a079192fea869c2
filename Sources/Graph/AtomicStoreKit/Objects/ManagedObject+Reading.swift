import AtomicStoreSPI
import FoundationEssentials

/// Reads by ``Managed`` properties.
///
/// The direct way takes a few nanoseconds: it retains nothing, looks up no name, and copies no description. It serves
/// attributes of objects whose values are those of a store's version; everything else takes the general way.
extension ManagedObject {
  /// The columns and the cell in which a property's value is; nil if the value has to be read in the general way. The
  /// access is noted if it is not nil.
  @inline(__always) final func cell(_ key: ManagedKey, _ form: ReadTable.Form) -> (NodeCells, ReadTable.Cell)? {
    guard flags.contains(.realized), edits == nil, overlay == nil, let p = plan.reads.property(key.key),
      let cells = base?.cells
    else { return nil }
    let cell = plan.reads[p]
    guard cell.form == form else { return nil }
    noteAccess(p)
    return (cells, cell)
  }

  /// The value of an attribute whose type the direct way serves; nil if it has to be read in the general way.
  @inline(__always) final func cellValue(_ p: Int) -> StoredValue? {
    guard edits == nil, overlay == nil, let cells = base?.cells else { return nil }
    let cell = plan.reads[p]
    let slot = Int(cell.slot)
    switch cell.form {
    case .general, .toOne: return nil
    case .integer: return cells.integer(slot, of: node).map { .integer($0) } ?? .null
    case .double: return cells.double(slot, of: node).map { .double($0) } ?? .null
    case .date: return cells.double(slot, of: node).map { .date(Date(timeIntervalSinceReferenceDate: $0)) } ?? .null
    case .float: return cells.float(slot, of: node).map { .float($0) } ?? .null
    case .boolean: return cells.boolean(slot, of: node).map { .boolean($0) } ?? .null
    case .text: return cells.text(slot, of: node).map { .string($0) } ?? .null
    }
  }

  /// The value of an attribute, as access by key reads it, in another type; nil if it is not a value of that type, and
  /// if it cannot be read, which is recorded as an error.
  final func attributeValue<Value: AttributeValue>(_ key: ManagedKey) -> Value? {
    guard let p = key.property(of: self) else {
      guard let probe = extras?.probe else { return nil }
      probe.note(Value.self)
      return probe.values.lazy.compactMap { Value(atomicStoreValue: $0) }.first
    }
    guard isReadable(p), case .attribute = plan.properties[p].kind else { return nil }
    do throws(ManagedObjectError) {
      switch try content(p) {
      case .stored(let stored): return Value(atomicStoreValue: stored)
      case .other(let value):
        return value as? Value ?? StoredValue(guessing: value).flatMap { Value(atomicStoreValue: $0) }
      }
    } catch {
      record(error)
      return nil
    }
  }
}
