import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// LOD, continued: values that are read when they are asked for.
extension Checks {
  static let deferred: [CheckDefinition] = [
    CheckDefinition(
      "LOD-08", "Values that are read late are those of the file that was opened, or an error", from: loadDocument,
      by:
        "a store of long values is opened; its file is exchanged for another, cut, or removed; then the values are read; and one of them is changed and saved",
      causes: ["the file is opened again by its name", "an offset is used in another file"],
      catches: ["lazyReadsStaleOffsets", "dropsWhatWasNotRead"]
    ) { check in
      let graph = Graph.values(.string, (0..<20).map { .string("value \($0) " + String(repeating: "x", count: 5_000)) })
      var other = graph
      for position in other.objects.indices {
        other.objects[position].values["value"] = .string("other \(position) " + String(repeating: "y", count: 4_000))
      }
      let otherGraph = other
      for (number, what) in ["exchanged", "cut", "removed"].enumerated() {
        let path = check.path("store\(number)")
        let second = check.path("second\(number)")
        let names = try check.process("save a store of long values") { try $0.forge(graph, to: path) }
        let text = try graph.text(names)
        _ = try check.process("save another one") { try $0.forge(otherGraph, to: second) }
        let end = try check.attempt("open it; it is \(what); read its values") { session in
          let open = try session.open(path, graph.model, isReadOnly: true)
          return try withExtendedLifetime(open) {
            switch what {
            case "exchanged": Files.put(Files.content(second) ?? [:], at: path)
            case "cut": Files.put((Files.content(path) ?? [:]).mapValues { Array($0.prefix(100)) }, at: path)
            default: Files.remove(path)
            }
            return Array(text.differences(from: try GraphText(open.store)).prefix(GraphText.mostShown))
          }
        }
        switch end {
        case .value(let differences): try check.expectNone(differences, "the values, the file \(what)")
        case .refused(let error): try check.expect(error.code != nil, "a store error", error.text)
        case .crashed, .exited, .timedOut:
          throw ExpectationFailure(expected: "the file \(what): the values, or an error", actual: "\(end)")
        }
      }
      let path = check.path("saved")
      let names = try check.process("save a store of long values") { try $0.forge(graph, to: path) }
      var changed = graph
      changed.set("object 7", "value", .string("short"))
      let next = changed
      _ = try check.process("open it, change one value, and save") {
        try $0.edit(path, from: graph, to: next, names: names)
      }
      try check.expectHeld(try next.text(names), at: path, graph.model, "the values after the save")
    }
  ]
}
