import AtomicStoreSPI
import FoundationEssentials

extension Faults {
  static let incrementalHistory: [Fault] = [
    .incremental("historyGap", "leaves every second save out of the history") { hooks in
      hooks.history = { _, _, list in list = list.enumerated().filter { $0.offset % 2 == 0 }.map(\.element) }
    },
    .incremental("historyPropertiesLost", "does not keep which properties were changed") { hooks in
      hooks.history = { _, _, list in
        for index in list.indices {
          for change in list[index].changes.indices { list[index].changes[change].properties = [] }
        }
      }
    },
    .incremental("historyAuthorLost", "does not keep who saved") { hooks in
      hooks.saved = { _, changes in changes.author = nil }
    },
    .incremental("historyForgotten", "keeps its history in memory, so that another opening does not have it") { hooks in
      hooks.saved = { target, _ in target.memory.count += 1 }
      hooks.token = { target, token in target.memory.count > 0 ? token : nil }
      hooks.history = { target, _, list in if target.memory.count == 0 { list = [] } }
    },
    .incremental("currentTokenStays", "has one current token for all times") { hooks in
      hooks.token = { _, token in token == nil ? nil : HistoryToken(1) }
    },
    .incremental("sinceIncludesToken", "returns the save of the token itself again") { hooks in
      hooks.history = { target, token, list in
        guard let token, let all = try? target.store.changes(since: nil) else { return }
        list = all.filter { $0.token >= token }
      }
    },
    .incremental("purgeForgetsAll", "forgets all history where a part is to be purged") { hooks in
      hooks.deleteHistory = { (target, _) throws(PersistentStoreError) in
        try target.store.deleteHistory(before: HistoryToken(.max))
      }
    },
    .incremental("purgeIgnored", "does not purge") { hooks in hooks.deleteHistory = { _, _ in } },
    .incremental("historyOfFailedSaves", "notes saves in the history that were not carried out") { hooks in
      hooks.save = { (target, changes) throws(PersistentStoreError) in
        do throws(PersistentStoreError) {
          let answer = try target.store.save(changes)
          if case .overtaken = answer { target.memory.count += 1 }
          return answer
        } catch {
          target.memory.count += 1
          throw error
        }
      }
      hooks.history = { target, _, list in
        guard let last = list.last else { return }
        list += Array(repeating: last, count: target.memory.count)
      }
    },
    .incremental("historyOfOwnSavesOnly", "has the connection's own saves alone in its history") { hooks in
      hooks.saved = { target, changes in target.memory.texts.insert(changes.author ?? "") }
      hooks.history = { target, _, list in list.removeAll { !target.memory.texts.contains($0.author ?? "") } }
    },
    .incremental("lastIgnored", "does not respect the last transaction and reference that a save is based on") {
      hooks in
      hooks.saved = { _, changes in
        changes.lastTransaction = nil
        changes.lastReference = nil
      }
    },
    .incremental("historyOfCutsLost", "does not note whose relationships a deletion cuts") { hooks in
      hooks.history = { _, _, list in
        for index in list.indices where list[index].changes.contains(where: { $0.kind == .delete }) {
          list[index].changes.removeAll { $0.kind == .update && !$0.properties.contains("name") }
        }
      }
    },
    .incremental("savedTokenOfOthers", "takes any connection's last transaction for its own") { hooks in
      hooks.savedToken = { target, token in
        var store = target.store
        return token.flatMap { _ in try? store.currentHistoryToken() }
      }
    },
  ]
}
