import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// A store, a change to be saved to it, and what it holds on either side of the change.
struct SaveCase: Sendable {
  /// A folder with nothing in it but the store: what else is there afterwards was left behind.
  let home: String
  let path: String
  let old: Graph
  let new: Graph
  let names: [String: String]
  let oldText: GraphText
  let newText: GraphText
  let oldFiles: [String: [UInt8]]
  let keepsMetadata: Bool
  /// What is done instead of a save, where that is another thing.
  var action: (@Sendable (StoreSession) throws -> Bool)?

  static let key = "conformanceState"

  /// Puts the old store back, and nothing else.
  func reset() {
    Files.remove(home)
    Files.makeFolder(home)
    Files.put(oldFiles, at: path)
  }

  /// What is beside the store.
  var left: [String] {
    let own = path.dropFirst(home.count + 1)
    return Files.names(in: home).filter { $0 != own }
  }

  /// Whether a path is in a directory beside the store.
  func isWithinDirectory(_ path: String) -> Bool {
    path.hasPrefix(home + "/") && path.dropFirst(home.count + 1).contains("/")
  }

  /// Opens the store, makes the change, saves.
  func save(_ session: StoreSession) throws -> Bool {
    if let action { return try action(session) }
    return try session.opened(path, new.model) { open in
      _ = try session.change(open, from: old, to: new, names: names)
      if keepsMetadata {
        var entries = open.store.metadata.entries
        entries[Self.key] = .string("new")
        try open.store.setMetadata(entries)
      }
      try open.context.save()
      return true
    }
  }

  /// Opens what is there and saves another change.
  func saveAgain(_ session: StoreSession) throws -> Bool {
    try session.opened(path, new.model) { open in
      guard let name = names.sorted(by: { $0.key < $1.key }).first?.value else { return false }
      let object = try session.object(name, in: open)
      try object.setValue("saved again", forKey: "name")
      try open.context.save()
      return true
    }
  }
}

/// What a process that had no part in a save finds afterwards.
enum SaveVerdict: Sendable, Equatable {
  case old
  case new
  case other(String)

  var word: String {
    switch self {
    case .old: "OLD"
    case .new: "NEW"
    case .other: "ELSE"
    }
  }
  var text: String {
    switch self {
    case .old: "the old store"
    case .new: "the new store"
    case .other(let text): text
    }
  }
}
