import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// INC, continued: the history of saves, for stores that keep one.
extension Checks {
  /// A transaction as text: what happened to how many objects, and which properties.
  private static func text(_ transaction: HistoryTransaction) -> String {
    let changes = transaction.changes.map { change in
      "\(change.kind.rawValue) \(change.object.entityName)"
        + (change.properties.isEmpty ? "" : " (\(change.properties.joined(separator: ", ")))")
    }
    let who = [transaction.author, transaction.contextName].map { $0 ?? "nil" }.joined(separator: "/")
    return "\(who): \(changes.joined(separator: "; "))"
  }

  /// Saves a new tag, for the history.
  @discardableResult
  private static func saveTag(_ connection: StoreConnection, author: String? = nil) throws -> ObjectReference {
    let tag = try connection.new(1, "Tag")[0]
    try connection.mustSave(
      StoreSave(inserted: [try connection.snapshot(tag, [:])], author: author, contextName: "checks"))
    return tag
  }

  static let incrementalHistory: [CheckDefinition] = [
    incremental(
      "INC-59", "Each save is a transaction with its author, and with what happened to which object",
      by: "an object is inserted, changed and deleted in three saves, and read in another process",
      catches: ["historyGap", "historyPropertiesLost", "historyAuthorLost", "historyForgotten"]
    ) { check in
      let count = try check.connected("save three times") { connection in
        let tag = try saveTag(connection, author: "ada")
        var changes = try connection.change(tag, ["name": .string("a"), "weight": .double(1)])
        changes.author = "bob"
        try connection.mustSave(changes)
        try connection.mustSave(StoreSave(deleted: [tag]))
        return try connection.history().count
      }
      try check.expectEqual(count, 3, "transactions")
      let found = try check.connected("read the history") { connection -> [String] in
        do { return try connection.history().map(text) } catch is NotApplicable { return [] }
      }
      try check.expectList(
        found, ["ada/checks: insert Tag", "bob/nil: update Tag (name, weight)", "nil/nil: delete Tag"],
        "the transactions")
    },
    incremental(
      "INC-60", "Tokens ascend, the changes since a token are those after it, and the current token is the last one",
      by: "the history is read from each token on", catches: ["currentTokenStays", "sinceIncludesToken"]
    ) { check in
      let problem = try check.connected("save three times, and read from each token on") { connection in
        for _ in 0..<3 { try saveTag(connection) }
        let tokens = try connection.history().map(\.token)
        guard tokens.count == 3, tokens == tokens.sorted(), Set(tokens).count == 3 else { return "tokens \(tokens)" }
        for (index, token) in tokens.enumerated() {
          let later = try connection.history(since: token).map(\.token)
          if later != Array(tokens.dropFirst(index + 1)) { return "since \(token) there is \(later)" }
        }
        let current = try connection.store.currentHistoryToken()
        return current == tokens.last ? "" : "the current token is not the last one"
      }
      try check.expectEqual(problem, "", "what is wrong")
    },
    incremental(
      "INC-61", "A history that was purged up to a token has what came later, and its tokens go on",
      by: "the history before the second and after the last of three saves is purged, then another save follows",
      catches: ["purgeForgetsAll", "purgeIgnored"]
    ) { check in
      let problem = try check.connected("purge, and save again") { connection in
        for _ in 0..<3 { try saveTag(connection) }
        let tokens = try connection.history().map(\.token)
        guard tokens.count == 3 else { return "\(tokens.count) transactions of three saves" }
        try connection.store.deleteHistory(before: tokens[1])
        let left = try connection.history().map(\.token)
        let later = Array(tokens.dropFirst())
        if left != later { return "purged before \(tokens[1]), left \(left) of \(tokens)" }
        try connection.store.deleteHistory(before: HistoryToken(.max))
        try saveTag(connection)
        guard let current = try connection.store.currentHistoryToken() else {
          return "currentHistoryToken() returned nil"
        }
        return current > tokens[2] ? "" : "the token of a later save is \(current), after \(tokens[2])"
      }
      try check.expectEqual(problem, "", "what is wrong")
    },
    incremental(
      "INC-62", "A save that was not carried out is not in the history",
      by: "a save is overtaken, another one fails", catches: ["historyOfFailedSaves"]
    ) { check in
      let count = try check.connected("save, and fail to save") { connection in
        let tag = try saveTag(connection)
        let version = try connection.row(tag)?.version
        try connection.mustSave(try connection.change(tag, ["name": .string("a")]))
        _ = try connection.save(try connection.change(tag, ["name": .string("b")], expecting: version))
        _ = try? connection.save(StoreSave(inserted: [try connection.snapshot(tag, [:])]))
        return try connection.history().count
      }
      try check.expectEqual(count, 2, "transactions")
    },
    incremental(
      "INC-63", "The history has the saves of all connections, in the order in which they were carried out",
      by: "two connections save in turn, and both read the history", catches: ["historyOfOwnSavesOnly"]
    ) { check in
      let found = try check.process("save in turn") { session in
        let (one, two) = (try session.connect(), try session.connect())
        for turn in 0..<4 { try saveTag(turn % 2 == 0 ? one : two, author: "\(turn)") }
        return try [one, two].map { try $0.history().map { $0.author ?? "nil" } }
      }
      for list in found { try check.expectList(list, ["0", "1", "2", "3"], "the authors in the history") }
    },
  ]
}
