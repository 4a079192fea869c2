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
    incremental(
      "INC-75", "A save based on the last transaction, or on the greatest reference, is not carried out after another",
      by:
        "two connections save what is based on the same token and reference, in turn, then on those of now",
      catches: ["lastIgnored"]
    ) { check in
      let problem = try check.process("save from two connections what is based on the same state") { session in
        let (one, two) = (try session.connect(), try session.connect())
        func last(_ connection: StoreConnection) throws -> (transaction: Int64, reference: Int64) {
          (
            try connection.store.currentHistoryToken()?.number ?? 0, try connection.store.metadata()?.lastReference ?? 0
          )
        }
        let tag = try saveTag(one)
        _ = try one.history()
        let old = try last(two)
        func change(_ connection: StoreConnection, _ name: String) throws -> StoreSave {
          try connection.change(tag, ["name": .string(name)])
        }
        func hasName(_ name: String) throws -> Bool {
          try two.value("name", of: tag) == GraphText.value(.string(name))
        }
        var first = try change(one, "first")
        (first.lastTransaction, first.lastReference) = old
        guard try one.save(first) else { return "a save based on the present state is refused" }
        var second = try change(two, "second")
        second.lastTransaction = old.transaction
        if try two.save(second) {
          return "a save is carried out though another was since the transaction that it names"
        }
        guard try hasName("first") else { return "a refused save has changed the name" }
        (second.lastTransaction, second.lastReference) = (nil, old.reference)
        guard try two.save(second) else {
          return "a save is refused though no reference was given since the one it names"
        }
        // References are taken in blocks: so many come from another one.
        let others = try one.new(1000, "Tag")
        try one.mustSave(StoreSave(inserted: [try one.snapshot(others[999], ["name": .string("far")])]))
        var third = try change(two, "third")
        third.lastReference = old.reference
        if try two.save(third) {
          return "a save is carried out though references were given since the one that it names"
        }
        guard try hasName("second") else { return "a refused save has changed the name" }
        (third.lastTransaction, third.lastReference) = try last(two)
        return try two.save(third) ? "" : "a save based on the state of now is refused"
      }
      try check.expectEqual(problem, "", "what is wrong")
    },
    incremental(
      "INC-76", "Objects whose relationships a deletion has cut are in its transaction, with those relationships",
      by:
        "objects are deleted that others lead to, one of which the same save changes",
      catches: ["historyOfCutsLost"]
    ) { check in
      let found = try check.connected("delete an object that others lead to") { connection -> [String] in
        let tag = try connection.insert("Tag", [["name": .string("a")]])[0]
        let part = try connection.insert("Item", [[:]])[0]
        let items = try connection.insert(
          "Item",
          [
            ["alone": .toOne(tag)], ["alone": .toOne(tag)], ["parts": .toMany([part])], [:],
          ])
        _ = try connection.history()
        let token = try connection.store.currentHistoryToken()
        var changes = try connection.change(items[0], ["name": .string("b")])
        changes.deleted = [tag, part]
        try connection.mustSave(changes)
        let names = [
          items[0]: "both", items[1]: "one", items[2]: "whole", items[3]: "none", tag: "tag", part: "part",
        ]
        return try connection.history(since: token).flatMap(\.changes).map {
          "\($0.kind.rawValue) \(names[$0.object] ?? "\($0.object)"): \($0.properties.joined(separator: ", "))"
        }
      }
      try check.expectList(
        found.sorted(),
        ["delete part: ", "delete tag: ", "update both: name, alone", "update one: alone", "update whole: parts"],
        "the changes in the history")
    },
    incremental(
      "INC-77",
      "A connection knows the token of the last transaction that it made, if the store says so, and of no other",
      by: "two connections save in turn, one of them is overtaken and fails", catches: ["savedTokenOfOthers"]
    ) { check in
      let problem = try check.process("save from two connections") { session in
        let (one, two) = (try session.connect(), try session.connect())
        func token(_ author: String) throws -> HistoryToken? {
          let transactions = try one.history()
          return transactions.last { $0.author == author }?.token
        }
        if one.store.lastSavedToken != nil { return "there is a token before the first save" }
        let tag = try saveTag(one, author: "one")
        guard let first = one.store.lastSavedToken else {
          throw NotApplicable(reason: "the store does not know the tokens of its saves")
        }
        if try first != token("one") { return "\(first) is not the token of the save" }
        let version = try one.row(tag)?.version
        try saveTag(two, author: "two")
        if try two.store.lastSavedToken != token("two") { return "the second connection has another token" }
        if one.store.lastSavedToken != first { return "another connection's save changes the token" }
        try two.mustSave(try two.change(tag, ["name": .string("a")]))
        _ = try one.save(try one.change(tag, ["name": .string("b")], expecting: version))
        _ = try? one.save(StoreSave(inserted: [try one.snapshot(tag, [:])]))
        return one.store.lastSavedToken == first ? "" : "a save that was not carried out changes the token"
      }
      try check.expectEqual(problem, "", "what is wrong")
    },
  ]
}
