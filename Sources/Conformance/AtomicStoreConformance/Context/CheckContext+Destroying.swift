import AtomicStoreKit
import AtomicStoreSPI

extension CheckContext {
  /// Destroys stores among files that are not theirs.
  func expectOnlyTheStoreDestroyed() throws {
    let unrelated: [String: [UInt8]] = [
      ".hidden": Array("1".utf8), ".control/file": Array("2".utf8), "notes/note": Array("3".utf8),
    ]
    for isVisible in [false, true] {
      let (path, graph, _) = try golden("store\(isVisible)")
      let own = Files.names(in: path)
      for folder in [".control", "notes"] { Files.makeFolder(path + "/" + folder) }
      var planted = unrelated
      if isVisible { planted["unrelated.text"] = Array("This is not a file of the store.\n".utf8) }
      for (name, bytes) in planted { Files.write(bytes, to: path + "/" + name) }
      let options = handmade
      let end = try attempt("destroy the store\(isVisible ? ", with a file beside its own" : "")") { session in
        try session.coordinator(graph.model).destroyPersistentStore(
          at: path, type: session.subject.type.storeType, options: options)
        return true
      }
      let left = Files.content(path) ?? [:]
      switch end {
      case .value: try expectEqual(left.keys.sorted(), planted.keys.sorted(), "what is in the directory afterwards")
      case .refused(let error) where isVisible && error.code != nil:
        note("a file that is not the format's is refused: \(error.text)")
        try expect(
          own.allSatisfy { Files.exists(path + "/" + $0) }, "after a refusal the store is there", "files of it are gone"
        )
      default: throw ExpectationFailure(expected: "the store is destroyed", actual: "\(end)")
      }
      for (name, bytes) in planted { try expectEqual(left[name], bytes, "\(name), which is not the store's") }
    }
  }
}
