import ArgumentParser
import AtomicStoreKit
import CommandSupport
import StoreCoordination
import StorePredicates

/// By which properties the objects of two stores are matched that were not made of each other.
package struct ObjectKeyOption: ParsableArguments {
  @Option(
    name: .customLong("key"),
    help: "Match objects by this attribute instead of the reference: PROPERTY or ENTITY=PROPERTY,… May be repeated.")
  var keys: [String] = []

  package init() {}

  package var isGiven: Bool { !keys.isEmpty }

  /// What the objects of both stores are called by their keys; nil where no keys are asked for.
  ///
  /// - Returns: Also what to say of objects that share a key, or lack one.
  func names(_ pair: StorePair) throws -> (names: KeyedNames?, notes: [String]) {
    guard isGiven else { return (nil, []) }
    let models = [pair.left.model, pair.right.model]
    let keys = try ObjectKeys(
      self.keys.map { text in
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard let list = parts.last, !list.isEmpty, !text.hasPrefix("=") else {
          throw CommandFailure("--key takes PROPERTY or ENTITY=PROPERTY,…, not '\(text)'", exitCode: 64)
        }
        return (parts.count > 1 ? parts[0] : nil, try Fetch.list(list, "--key").map { Self.attribute($0, models) })
      }, models: models)
    let names = try KeyedNames(keys, pair.one.nodes, pair.other.nodes)
    var notes: [String] = []
    for (side, name) in [(names.one, pair.names.0), (names.other, pair.names.1)] {
      for (entity, count) in side.repeated {
        notes.append(
          "note: \(name): \(Diagnostics.count(count, "object")) of \(entity) with the key of another; "
            + "they are matched in the order of their references")
      }
      for (entity, count) in side.keyless {
        notes.append(
          "note: \(name): \(Diagnostics.count(count, "object")) of \(entity) without a key, matched by reference")
      }
    }
    return (names, notes)
  }

  /// The name of an attribute, or a key path, that may be written as in predicates.
  private static func attribute(_ text: String, _ models: [ManagedObjectModel]) -> String {
    let isName = models.contains { $0.entities.contains { $0.property(named: text) != nil } }
    return isName ? text : FetchExpression.keys(of: text).joined(separator: ".")
  }
}
