package import FoundationEssentials

/// The temporary IDs that were requested, so that each stays valid while its object lives.
package struct TemporaryIDs<Object: AnyObject> {
  private struct Entry { weak var object: Object? }
  private var entries: [UUID: Entry] = [:]
  private var limit = 1024

  package init() {}

  package var count: Int { entries.count }

  package subscript(name: UUID) -> Object? { entries[name]?.object }

  /// Objects that left the context before they ended do not say that they ended: their IDs are removed from time to
  /// time.
  package mutating func remember(_ object: Object, as name: UUID) {
    if entries.count >= limit {
      entries = entries.filter { $0.value.object != nil }
      limit = max(1024, entries.count * 2)
    }
    entries[name] = Entry(object: object)
  }

  package mutating func forget(_ name: UUID) { entries[name] = nil }
}
