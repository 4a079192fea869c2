import AtomicStoreSPI

/// Collecting from the parts of a document at the same time.
extension FactCollector {
  enum Outcome {
    case collected(FactCollector)
    /// The document has one part only.
    case undivided
    /// Something is unusual, or an error: libxml2 must read the document.
    case unexpected
  }

  /// Collects from a document that has the form of a ``CanonicalScanner`` on several threads.
  ///
  /// - Parameter count: The maximum number of parts.
  /// - Throws: Only the errors of reading the file, never because of its content.
  static func collectParts(_ count: Int, of source: StoreSource) throws(PersistentStoreError) -> Outcome {
    guard count > 1 else { return .undivided }
    return try source.withReader { (file) throws(PersistentStoreError) in
      guard let parts = try DocumentParts(file, count: count) else { return .undivided }
      let readers = ParallelResults<FactCollector>(parts.ranges.count)
      let name = source.name
      let isRead = ParallelWork.allSatisfy(parts.ranges.count, jobs: count) { part in
        let collector = FactCollector(file: name)
        guard collector.readCanonical(part: part, of: parts, file) != nil else { return false }
        readers[part] = collector
        return true
      }
      guard isRead, let first = readers.all.first else { return .unexpected }
      for part in readers.all.dropFirst() { guard first.append(part) else { return .unexpected } }
      return .collected(first)
    }
  }

  /// Adds what the next part of the document reveals. False if libxml2 must read the document: after a contradiction,
  /// or if two objects have the same identifier.
  private func append(_ part: FactCollector) -> Bool {
    var entities: [Int] = []
    do throws(PersistentStoreError) {
      for entity in part.known {
        let name = entity.name
        try name.withUnsafeBufferPointer { (bytes) throws(PersistentStoreError) in try enter(bytes) }
        entities.append(current)
        for property in entity.properties { try note(property) }
      }
    } catch {
      return false
    }
    numbers.add(part.numbers, entities: entities)
    if numbers.hasDuplicates { return false }
    // Each was noted above, so it has a number.
    let numbersOfTargets = part.targets.map { targets.firstIndex(of: $0) ?? -1 }
    guard !numbersOfTargets.contains(-1) else { return false }
    for pair in part.met { met.insert(Pair(target: numbersOfTargets[pair.target], entity: entities[pair.entity])) }
    for (target, number) in part.pending {
      if let entity = numbers[number] {
        met.insert(Pair(target: numbersOfTargets[target], entity: entity))
      } else {
        pending.append((numbersOfTargets[target], number))
      }
    }
    for (target, text) in part.pendingTexts { pendingTexts.append((numbersOfTargets[target], text)) }
    return true
  }

  private func note(_ property: Known) throws(PersistentStoreError) {
    try property.name.withUnsafeBufferPointer { (name) throws(PersistentStoreError) in
      try property.type.withUnsafeBufferPointer { (type) throws(PersistentStoreError) in
        try property.destination.withUnsafeBufferPointer { (destination) throws(PersistentStoreError) in
          _ = try note(name: name, type: type, destination: destination, isAttribute: property.isAttribute)
        }
      }
    }
  }
}
