import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc
import StoreCoordination

/// INC, continued: whole stores.
extension Checks {
  /// A snapshot with one tag of that name.
  private static func snapshot(_ name: String, _ type: any IncrementalStore.Type) throws -> StoreSnapshot {
    var nodes = NodeTable(model: try Models.frozen(ItemGraph.description))
    let tag = nodes.model.entity(named: "Tag")?.index ?? 0
    try nodes.setValue(.string(name), forKey: "name", of: try nodes.addCacheNode(entity: tag, reference: .integer(1)))
    var metadata = StoreMetadata(storeType: type.storeType, lastReference: 1, model: ItemGraph.description)
    metadata.entries["note"] = .string(name)
    return StoreSnapshot(nodes: try nodes.canonical(), metadata: metadata)
  }

  /// The names of all tags, and the note in the metadata.
  private static func content(_ connection: StoreConnection) throws -> [String] {
    let names = try connection.store.fetch(connection.request("Tag")).rows.map {
      connection.text("name", of: $0) ?? "nil"
    }
    let note = try connection.store.metadata()?.entries["note"].map { GraphComparison.text($0) } ?? "no note"
    return names + [note]
  }
  private static func expected(_ names: [String], note: String?) -> [String] {
    names.map { GraphText.value(.string($0)) ?? "" } + [note.map { "\"\($0)\"" } ?? "no note"]
  }

  static let incrementalWhole: [CheckDefinition] = [
    incremental(
      "INC-74", "What is loaded at once is what was there at one moment, though another process saves meanwhile",
      by: "one process gives an owner and a tag the same new name in each save, another loads both, twenty times",
      catches: ["loadIsTorn"]
    ) { check in
      let problem = try check.process("load while another process saves", seconds: 60) { session in
        try session.loadWhileSaving(times: 20)
      }
      try check.expectEqual(problem, "", "what is wrong")
    },
    incremental(
      "INC-64", "What is loaded at once is what requests and lists return",
      by: "a random graph is saved and changed, loaded whole, and compared with its rows and lists",
      catches: ["loadDropsObject", "loadDropsLists"]
    ) { check in
      let wrong = try check.process("compare a load with requests", seconds: 60) { session -> [String] in
        let pair = try session.comparedStores(seed: 11, count: 30)
        _ = try pair.save(rounds: 2, seed: 11)
        let connection = try session.connect()
        let builder = NodeTableBuilder(model: connection.model)
        try connection.store.load(into: builder)
        let nodes = try builder.finish()
        var wrong: [String] = []
        for entity in connection.model.entities where !entity.isAbstract {
          let rows = try connection.store.fetch(connection.request(entity.name, onlyItself: true)).rows
          if rows.count != nodes.count(of: entity.index) {
            wrong.append("\(nodes.count(of: entity.index)) objects of \(entity.name) instead of \(rows.count)")
          }
          for slot in entity.slots {
            let lists =
              slot.isToMany
              ? try connection.store.related(rows.map(\.reference), slot: slot.index, entity: entity.index) : []
            for (index, row) in rows.enumerated() {
              guard let node = nodes.handle(for: row.reference, entity: entity.index) else { continue }
              let value = slot.isToMany ? .toMany(lists[index]) : row.values[slot.index] ?? .null
              let loaded = nodes.value(slot: slot.index, of: node)
              if !loaded.isIdentical(to: value) {
                wrong.append("\(connection.name(row)).\(slot.name): \(loaded) instead of \(value)")
              }
            }
          }
        }
        return Array(wrong.prefix(5))
      }
      try check.expectEqual(wrong.joined(separator: "; "), "", "what is loaded otherwise")
    },
    incremental(
      "INC-65", "A store is replaced by a whole one only where that is asked for, and then nothing of it is left",
      by: "a store with objects and entries is replaced without permission, and with it",
      catches: ["replacesUnasked", "replacedIsKept"]
    ) { check in
      _ = try check.process("create a store") { session in
        try session.connect().insert("Tag", [["name": .string("old")], ["name": .string("older")]]).count
      }
      _ = try check.refusal(of: "replacing it without permission", codes: ["alreadyExists"]) { session in
        let connection = try session.connect()
        try connection.store.replaceAll(
          with: try snapshot("new", try session.incrementalType()), mayReplace: false
        ) { _ in }
        return true
      }
      try check.expectList(
        try check.connected("read it") { try content($0) }, expected(["old", "older"], note: nil), "after the refusal")
      _ = try check.process("replace it") { session in
        let connection = try session.connect()
        try connection.store.replaceAll(
          with: try snapshot("new", try session.incrementalType()), mayReplace: true
        ) { _ in }
        return true
      }
      try check.expectList(
        try check.connected("read it") { try content($0) }, expected(["new"], note: "new"), "after it was replaced")
    },
    incremental(
      "INC-66", "A replacement is read back before it is final, and is undone where that is refused",
      by: "a store is replaced, and what reads it back throws", catches: ["verificationIgnored"]
    ) { check in
      _ = try check.process("create a store") { try $0.connect().insert("Tag", [["name": .string("old")]]).count }
      let seen = try check.process("replace it, and refuse") { session -> String in
        let connection = try session.connect()
        var seen = "nothing"
        do throws(PersistentStoreError) {
          let new = try Result { try snapshot("new", try session.incrementalType()) }
            .mapError { PersistentStoreError(.internalInconsistency, "\($0)") }.get()
          try connection.store.replaceAll(with: new, mayReplace: true) { read throws(PersistentStoreError) in
            let builder = NodeTableBuilder(model: connection.model)
            let metadata = try read(builder)
            let nodes = try builder.finish()
            seen = "\(nodes.count) \(metadata.entries["note"].map { GraphComparison.text($0) } ?? "no note")"
            throw PersistentStoreError(.cancelled, "the check refuses")
          }
          return "no error"
        } catch { return error.code == .cancelled ? seen : "another error: \(error)" }
      }
      try check.expectEqual(seen, "1 \"new\"", "what is read back")
      try check.expectList(
        try check.connected("read it") { try content($0) }, expected(["old"], note: nil), "after the refusal")
    },
    incremental(
      "INC-79", "A replacement that the store itself compares is undone where the metadata are refused",
      by: "a store is replaced so, where it can do that: refused, without permission, and with it",
      catches: ["comparisonIgnored"]
    ) { check in
      _ = try check.process("create a store") { try $0.connect().insert("Tag", [["name": .string("old")]]).count }
      let seen = try check.process("replace it, and refuse") { session -> String in
        let connection = try session.connect()
        let new = try snapshot("new", try session.incrementalType())
        var seen = "nothing"
        do throws(PersistentStoreError) {
          let isDone = try connection.store.replaceAll(with: new, mayReplace: true) {
          } compare: { metadata throws(PersistentStoreError) in
            seen = metadata.entries["note"].map { GraphComparison.text($0) } ?? "no note"
            throw PersistentStoreError(.cancelled, "the check refuses")
          }
          return isDone ? "no error" : "not supported"
        } catch { return error.code == .cancelled ? seen : "another error: \(error)" }
      }
      guard seen != "not supported" else {
        throw NotApplicable(reason: "the store does not replace all its objects itself")
      }
      try check.expectEqual(seen, "\"new\"", "the note that is compared")
      try check.expectList(
        try check.connected("read it") { try content($0) }, expected(["old"], note: nil), "after the refusal")
      _ = try check.refusal(of: "replacing it without permission", codes: ["alreadyExists"]) { session in
        try session.connect().store.replaceAll(
          with: try snapshot("new", try session.incrementalType()), mayReplace: false
        ) {
        } compare: { _ in
        }
      }
      _ = try check.process("replace it") { session in
        try session.connect().store.replaceAll(
          with: try snapshot("new", try session.incrementalType()), mayReplace: true
        ) {
        } compare: { _ in
        }
      }
      try check.expectList(
        try check.connected("read it") { try content($0) }, expected(["new"], note: "new"), "after it was replaced")
    },
    incremental(
      "INC-67", "A graph is converted from a property list and back without a difference", from: kit,
      by: "random graphs are converted there and back, and both property lists compared",
      catches: ["loadDropsObject", "loadDropsLists"]
    ) { check in
      let differences = try check.process("convert there and back", seconds: 60) { session -> [String] in
        let pair = try session.comparedStores(seed: 3, count: 50)
        let back = "\(session.folder)/back.plist"
        var converter = StoreConverter(registry: try session.incrementalRegistry())
        converter.sourceType = try session.incrementalType().storeType
        converter.targetType = "BinaryPropertyList"
        _ = try converter.convert(from: pair.incrementalPath, to: back)
        return try pair.differences(at: back)
      }
      try check.expectList(differences, [], "differences")
    },
    incremental(
      "INC-68", "Random changes that are saved leave the graph that a property list has", from: kit,
      by: "random graphs of 30 items are changed and saved six times in both, eight changes each; --runs makes more",
      catches: ["removedMembersStay", "toOneUpdateLost"], timeLimit: 3600
    ) { check in
      for turn in 0..<max(3, (check.subject.runs ?? 0) / 100) {
        let graph = check.seed &* 10_000 &+ UInt64(turn)
        let wrong = try check.process("change the graph of seed \(graph) in both", seconds: 60) { session -> [String] in
          let pair = try session.comparedStores(seed: graph, count: 30)
          if let error = try pair.save(rounds: 6, seed: graph) { return [error] }
          return try pair.differences()
        }
        try check.expectList(wrong, [], "differences of the graphs of seed \(graph)")
      }
    },
    incremental(
      "INC-69", "A new file has the permissions that new files have in this process",
      by: "a store is created in a process whose new files only their owner may read", catches: ["worldReadable"]
    ) { check in
      try check.requireFiles()
      let modes = try check.process("create a store with umask 077") { session -> [String] in
        umask(0o077)
        let connection = try session.connect()
        try connection.insert("Tag", [[:]])
        return Files.names(in: session.folder).compactMap { name in
          Files.status(session.folder + "/" + name).map {
            $0.st_mode & 0o077 == 0 ? "" : "\(name): \(String($0.st_mode & 0o777, radix: 8))"
          }
        }.filter { !$0.isEmpty }
      }
      try check.expectList(modes, [], "files that others may read")
    },
    incremental(
      "INC-70", "What was saved is there after the process ends without closing the store",
      by: "a process saves, and ends at once", catches: ["keptInMemory"]
    ) { check in
      _ = try check.process("save, and end without closing") { session -> Bool in
        let connection = try session.connect()
        try connection.insert("Tag", [["name": .string("a")]])
        // Nothing closes it: the process ends with _exit.
        _ = Unmanaged.passRetained(connection)
        return true
      }
      let found = try check.connected("read it in another process") { try content($0) }
      try check.expectList(found, expected(["a"], note: nil), "what is there")
    },
  ]
}

extension StoreSession {
  /// Loads everything again and again while another process saves an owner and a tag under one name.
  ///
  /// - Returns: What a load found that no save has left; empty if there is nothing.
  fileprivate func loadWhileSaving(times: Int) throws -> String {
    let stop = folder + "/stop"
    let report = folder + "/problem"
    let connection = try connect()
    let owner = try connection.insert("Owner", [["name": .string("0")]])[0]
    let tag = try connection.insert("Tag", [["name": .string("0")]])[0]
    let other = csf_fork()
    if other < 0 { throw Skipped(reason: "no process can be started") }
    if other == 0 {
      var isDone = false
      do {
        let writer = try connect()
        for number in 1...1_000_000 where Files.read(stop) == nil {
          do {
            var changes = try writer.change(owner, ["name": .string("\(number)")])
            changes.updated += try writer.change(tag, ["name": .string("\(number)")]).updated
            _ = try writer.save(changes)
          } catch let error as PersistentStoreError where error.code == .retry {}
        }
        isDone = true
      } catch { Files.write(Array("\(error)".utf8), to: report) }
      _exit(isDone ? 0 : 1)
    }
    defer { Files.write([1], to: stop) }
    let reader = try connect()
    let ends = [(owner, try reader.slot("name", of: "Owner")), (tag, try reader.slot("name", of: "Tag"))]
    for _ in 0..<times {
      let builder = NodeTableBuilder(model: reader.model)
      try reader.store.load(into: builder)
      let nodes = try builder.finish()
      let names = ends.map { object, slot in
        let entity = reader.model.entity(named: object.entityName)?.index ?? 0
        return nodes.handle(for: object.reference, entity: entity).map { nodes.value(slot: slot, of: $0).typedText }
      }
      if names[0] == nil || names[0] != names[1] {
        return "the owner has the name \(names[0] ?? "-"), the tag \(names[1] ?? "-")"
      }
    }
    Files.write([1], to: stop)
    if let problem = try problem(of: other, report) { return problem }
    return ""
  }
}
