import AtomicStoreSPI
package import StorePrimitives

extension FetchRequest {
  /// The names of all properties, of whatever entity, whose values the request may ask for: the keys of its predicates,
  /// columns, groups and sort keys, of which some may be operators. Nil if it may ask for others, too. Columns must be
  /// specified.
  package var namedProperties: Set<ScalarString>? {
    guard filter == nil, relationshipKeyPathsForPrefetching.isEmpty else { return nil }
    var names: Set<ScalarString> = []
    var rest = trees
    while let part = rest.popLast() {
      switch part {
      // A closure may ask for anything.
      case .predicate(.block), .expression(.custom), .expression(.fetch): return nil
      case .expression(.keyPath(let path)), .expression(.member(_, let path)):
        for key in path { names.insert(ScalarString(key)) }
        names.insert(ScalarString(path.joined(separator: ".")))
      default: break
      }
      rest += part.parts
    }
    return names
  }

  /// The objects and relationships that the request reads; nil if it may read any. Columns must be specified.
  package func neededObjects(in model: ManagedObjectModel) -> NeededObjects? {
    guard filter == nil, relationshipKeyPathsForPrefetching.isEmpty, let entity = model.entity(named: entityName) else {
      return nil
    }
    var needed = NeededObjects(of: entity)
    var rest = trees
    while let part = rest.popLast() {
      switch part {
      case .expression(.keyPath(let path)): guard needed.add(path, from: entity) else { return nil }
      // Where their key paths begin is not known, or they may ask for anything.
      case .predicate(.block), .expression(.custom), .expression(.fetch), .expression(.member), .expression(.subquery),
        .expression(.variable):
        return nil
      default: break
      }
      rest += part.parts
    }
    return needed
  }

  /// What a request evaluates.
  private var trees: [FetchTree] {
    (propertiesToFetch + propertiesToGroupBy).map { .expression($0.expression) }
      + [predicate, havingPredicate].compactMap { $0.map { .predicate($0) } }
      + sortKeys.map { .expression(.keyPath(of: $0.keyPath)) }
      + rowSortKeys.filter { key in !propertiesToFetch.contains { $0.name.utf8.elementsEqual(key.keyPath.utf8) } }
      .map { .expression(FetchColumn(ofRowSortKey: $0)?.expression ?? .keyPath(of: $0.keyPath)) }
  }
}
