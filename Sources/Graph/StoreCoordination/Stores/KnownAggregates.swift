package import AtomicStoreSPI

/// What a database said of the members of objects, such as their number, by the version of the object's row. A save
/// then asks of the members that it changes only.
///
/// Each save of a context that changes a member changes the version of the owner's row. Other saves need not, so all is
/// forgotten where there was one: in this process, or another transaction in the database's history.
package struct KnownAggregates {
  /// An aggregate of an object's members.
  package struct Key: Hashable {
    private let root: Int
    private let owner: ReferenceObject
    private let expression: FetchExpression

    package init(root: Int, owner: ReferenceObject, expression: FetchExpression) {
      (self.root, self.owner, self.expression) = (root, owner, expression)
    }
  }
  private var values: [Key: (version: Int64, value: Int128)] = [:]
  /// Another number after everything was forgotten.
  package private(set) var state = 0
  private static let most = 10_000

  package func value(of key: Key, version: Int64) -> Int128? {
    values[key].flatMap { $0.version == version ? $0.value : nil }
  }

  package mutating func note(_ value: Int128, of key: Key, version: Int64) {
    if values.count >= Self.most, values[key] == nil { values = [:] }
    values[key] = (version, value)
  }

  package mutating func forget() {
    values = [:]
    state += 1
  }
}
