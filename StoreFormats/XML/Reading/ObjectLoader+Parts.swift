import AtomicStoreSPI

/// Loading the parts of a document at the same time.
extension ObjectLoader {
  convenience init(_ nodes: NodeTableBuilder, file: String) throws(PersistentStoreError) {
    self.init(nodes, file: file, try EntityNames(nodes.model, file: file))
  }

  enum Outcome {
    case loaded
    /// The document has one part only.
    case undivided
    /// Something is unusual, or an error: libxml2 must read the document. Nodes may have been added.
    case unexpected
  }

  /// Loads a document that has the form of a ``CanonicalScanner`` on several threads, if it is large enough.
  ///
  /// - Parameters:
  ///   - count: The maximum number of parts.
  ///   - head: The head of the file when its metadata was read.
  /// - Throws: Only the errors of reading the file, never because of its content.
  static func loadParts(
    _ count: Int, of source: StoreSource, head: KnownHead? = nil, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) -> Outcome {
    guard count > 1 else { return .undivided }
    return try source.withReader { (file) throws(PersistentStoreError) in
      guard let parts = try DocumentParts(file, count: count) else { return .undivided }
      let readers = ParallelResults<ObjectLoader>(parts.ranges.count)
      let name = source.name
      guard let names = try? EntityNames(nodes.model, file: name) else { return .unexpected }
      let isLoaded = nodes.loadParts(parts.ranges.count) { part, nodes in
        let loader = ObjectLoader(nodes, file: name, names)
        loader.knownHead = head
        guard let lines = loader.readCanonical(part: part, of: parts, file) else { return nil }
        readers[part] = loader
        return lines
      }
      guard isLoaded else { return .unexpected }
      do throws(PersistentStoreError) {
        let whole = ObjectLoader(nodes, file: name, names)
        for reader in readers.all { guard try whole.append(reader) else { return .unexpected } }
        try whole.endDocument()
        return .loaded
      } catch {
        return .unexpected
      }
    }
  }

  /// Adds what the loader of the next part found besides nodes. False if it contradicts the earlier parts.
  private func append(_ part: ObjectLoader) throws(PersistentStoreError) -> Bool {
    for root in plans.indices where part.forms[root] != .unknown {
      guard forms[root] == .unknown || forms[root] == part.forms[root] else { return false }
      forms[root] = part.forms[root]
    }
    numbers.append(part.numbers)
    for index in plans.indices {
      guard let other = part.plans[index] else { continue }
      if plans[index] == nil, other.isOwner {
        plans[index] = other
        part.plans[index]?.isOwner = false
        continue
      }
      let own = try plan(of: index)
      for slot in model.entity(at: index).slots where other.slots[slot.index].lastSeen > 0 {
        own.slots[slot.index].lastSeen = 1
      }
    }
    return true
  }
}
