/// When the rows of a window were read, counted in requests to the store. Kept only if the model has derived
/// attributes.
struct NodeReadTimes {
  private struct Times {
    /// The first request that found the row in the version that it has.
    var since = 0
    /// The last request that did.
    var seen = 0
  }
  private let isKept: Bool
  /// By entity and row.
  private var rows: [[Times]]
  /// The number of the request whose answer is being taken.
  private(set) var request = 0

  init(_ model: ManagedObjectModel) {
    isKept = model.entities.contains { entity in
      entity.slots.contains { $0.attribute?.derivationExpression != nil }
    }
    rows = Array(repeating: [], count: isKept ? model.entityCount : 0)
  }

  mutating func beginRequest() { request += 1 }

  /// Notes that a row was found by the present request.
  ///
  /// - Parameter isUnchanged: Whether it has the version that it had.
  mutating func note(_ node: NodeHandle, isUnchanged: Bool) {
    guard isKept else { return }
    if rows[node.entity].count <= node.row {
      rows[node.entity] += [Times](repeating: Times(), count: node.row + 1 - rows[node.entity].count)
    }
    if !isUnchanged || rows[node.entity][node.row].since == 0 { rows[node.entity][node.row].since = request }
    rows[node.entity][node.row].seen = request
  }

  /// Whether a row was found in its present version by a request after another one.
  func isSeen(_ node: NodeHandle, after request: Int) -> Bool {
    times(node).seen > request
  }

  /// Whether a row was last found when another row had its present version already. If the other one is still in that
  /// version, and each save that changes this row changes the version of the other as well, this row is unchanged.
  func isSeen(_ node: NodeHandle, inTimeOf other: NodeHandle) -> Bool {
    let since = times(other).since
    return since > 0 && times(node).seen >= since
  }

  private func times(_ node: NodeHandle) -> Times {
    guard isKept, node.row < rows[node.entity].count else { return Times() }
    return rows[node.entity][node.row]
  }
}
