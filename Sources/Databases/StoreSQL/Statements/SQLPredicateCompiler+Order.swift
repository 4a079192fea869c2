import AtomicStoreSPI

extension SQLPredicateCompiler {
  /// The terms of `ORDER BY` for sort keys; nil if the kit has to sort.
  mutating func order(_ keys: [SortKey], _ entity: Entity, table: String) -> [String]? {
    var terms: [String] = []
    for key in keys {
      guard key.comparator == nil,
        key.options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive]), key.textOrder == .scalars,
        let (value, type, name) = sortValue(key.keyPath, entity, table)
      else { return nil }
      let direction = key.isAscending ? "ASC" : "DESC"
      let nulls = dialect.isSQLite ? "" : key.isAscending ? " NULLS FIRST" : " NULLS LAST"
      switch type.valueKind {
      case .integer, .boolean, .string: terms.append("\(value) \(direction)\(nulls)")
      case .double, .float, .date:
        // Not-a-number comes after null and before all numbers.
        terms.append(
          "(CASE WHEN \(value) IS NULL THEN 0 WHEN \(dialect.number(value)) IS NULL THEN 1 ELSE 2 END) \(direction)")
        terms.append("\(dialect.number(value)) \(direction)")
      case .decimal:
        guard let decimal = dialect.decimal(value, of: name) else { return nil }
        guard !dialect.isSQLite else {
          // One term, in which the function is called once for each row. No key is as short as no bytes.
          terms.append("COALESCE(\(decimal), CASE WHEN \(value) IS NOT NULL THEN x'' END) \(direction)")
          continue
        }
        terms.append("(CASE WHEN \(value) IS NULL THEN 0 WHEN \(value) = 'NaN' THEN 1 ELSE 2 END) \(direction)")
        terms.append("\(decimal) \(direction)")
      default: return nil
      }
    }
    return terms
  }

  /// The value of a sort key in SQL, its type, and which attribute it is of.
  private mutating func sortValue(
    _ path: String, _ entity: Entity, _ table: String
  ) -> (String, AttributeType, name: String)? {
    if let slot = entity.slot(named: path), let type = entity.slots[slot].attributeType,
      let column = schema.column(slot, of: entity)
    {
      return ("\(table).\(column.name.quoted)", type, "\(entity.name).\(path)")
    }
    let keys = path.split(separator: ".").map(String.init)
    guard keys.count == 2, let first = entity.slot(named: keys[0]), case .toOne = entity.slots[first].kind,
      let way = schema.column(first, of: entity),
      let destination = entity.slots[first].destination.map({ schema.model.entity(at: $0) }),
      let second = destination.slot(named: keys[1]), let type = destination.slots[second].attributeType,
      let column = schema.column(second, of: destination)
    else { return nil }
    let inner = alias()
    let value =
      "(SELECT \(inner).\(column.name.quoted) FROM \(schema.table(of: destination).name.quoted) \(inner) WHERE \(inner).id = \(table).\(way.name.quoted))"
    return (value, type, "\(destination.name).\(keys[1])")
  }
}
