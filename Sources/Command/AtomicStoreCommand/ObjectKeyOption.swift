import ArgumentParser
import CommandSupport
import StoreCoordination

/// By which properties the objects of two stores are matched that were not made of each other.
package struct ObjectKeyOption: ParsableArguments {
  @Option(
    name: .customLong("key"),
    help: "Match objects by this attribute instead of the reference: PROPERTY or ENTITY=PROPERTY,… May be repeated.")
  var keys: [String] = []

  package init() {}

  package var isGiven: Bool { !keys.isEmpty }

  /// Both graphs with their keys for references, where keys are asked for.
  ///
  /// - Returns: Also what to say of objects that share a key, or lack one.
  func named(_ pair: StorePair) throws -> (one: StoreSnapshot, other: StoreSnapshot, notes: [String]) {
    guard isGiven else { return (pair.one, pair.other, []) }
    let keys = try ObjectKeys(
      self.keys.map { text in
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard let list = parts.last, !list.isEmpty, !text.hasPrefix("=") else {
          throw CommandFailure("--key takes PROPERTY or ENTITY=PROPERTY,…, not '\(text)'", exitCode: 64)
        }
        return (parts.count > 1 ? parts[0] : nil, try Fetch.list(list, "--key"))
      }, models: [pair.left.model, pair.right.model])
    var notes: [String] = []
    func named(_ snapshot: StoreSnapshot, _ name: String) throws -> StoreSnapshot {
      let named = try keys.named(snapshot.nodes)
      for (entity, count) in named.repeated {
        notes.append(
          "note: \(name): \(Diagnostics.count(count, "object")) of \(entity) with the key of another; "
            + "they are matched in the order of their references")
      }
      for (entity, count) in named.keyless {
        notes.append(
          "note: \(name): \(Diagnostics.count(count, "object")) of \(entity) without a key, matched by reference")
      }
      return StoreSnapshot(nodes: named.nodes, metadata: snapshot.metadata)
    }
    let one = try named(pair.one, pair.names.0)
    return (one, try named(pair.other, pair.names.1), notes)
  }
}
