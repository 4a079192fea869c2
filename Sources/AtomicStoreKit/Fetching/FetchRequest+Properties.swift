import AtomicStoreSPI
package import StorePrimitives

extension FetchRequest {
  /// The names of all properties, of whatever entity, whose values the request may ask for: the keys of its predicates,
  /// columns, groups and sort keys, of which some may be operators. Nil if it may ask for others, too. Columns must be
  /// specified.
  package var namedProperties: Set<ScalarString>? {
    guard filter == nil, relationshipKeyPathsForPrefetching.isEmpty else { return nil }
    var names: Set<ScalarString> = []
    var rest = propertiesToFetch.map { FetchTree.expression($0.expression) }
    rest += [predicate, havingPredicate].compactMap { $0.map { .predicate($0) } }
    rest += (sortKeys.map(\.keyPath) + propertiesToGroupBy).map { .expression(.keyPath(of: $0)) }
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
}
