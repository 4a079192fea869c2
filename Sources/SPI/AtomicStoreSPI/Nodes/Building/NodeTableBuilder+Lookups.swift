/// The nodes by their references.
extension NodeTableBuilder {
  /// The lookup of a hierarchy; it also finds the nodes of all string references that are mentioned.
  func lookup(root: Int) throws(PersistentStoreError) -> ReferenceLookup {
    let members = model.hierarchy(of: root)
    if let known = knownLookup(members, root) { return known }
    if let runs = runs(members, root) { return ReferenceLookup(runs) }
    var least = Int64.max
    var greatest = Int64.min
    var total = 0
    for index in members where tables[index].referenceTexts == nil {
      let numbers = tables[index].referenceNumbers.header
      for row in 0..<tables[index].count {
        let number = numbers.pointee.cell(row, as: Int64.self)
        least = min(least, number)
        greatest = max(greatest, number)
      }
      total += tables[index].count
    }
    if members.contains(where: { textRows[$0].isEmpty && tables[$0].referenceTexts != nil }) {
      let room = ReferenceLookup(expecting: total, least: least, greatest: greatest)
      if let lookup = lookup(ofFilled: members, root, room) { return lookup }
      noteFilledTexts(members, root)
    }
    return try lookup(members, root, ReferenceLookup(expecting: total, least: least, greatest: greatest))
  }

  /// The references of a hierarchy if they are unique, and nearly all consecutive; nil otherwise.
  private func runs(_ members: [Int], _ root: Int) -> ReferenceRuns? {
    guard skipped.isEmpty, texts[root].count == 0 else { return nil }
    var all: [ReferenceRuns.Run] = []
    for index in members where tables[index].count > 0 {
      guard textRows[index].isEmpty, tables[index].referenceTexts == nil else { return nil }
      let numbers = tables[index].referenceNumbers.header.pointee
      guard let runs = ReferenceRuns.Run.all(in: numbers, count: tables[index].count, entity: index) else { return nil }
      all += runs
    }
    return ReferenceRuns(all)
  }

  /// - Parameter room: A lookup with room for the integer references.
  private func lookup(
    _ members: [Int], _ root: Int, _ room: ReferenceLookup
  ) throws(PersistentStoreError) -> ReferenceLookup {
    var lookup = room
    let mentions = texts[root]
    let areUnique = try resolveTexts(members, mentions)
    // What is deleted, or refused, must not be found in the columns.
    let usesColumns = areUnique && skipped.isEmpty
    for index in members {
      let numbers = tables[index].referenceNumbers.header
      let textRows = textRows[index]
      var next = 0
      var first = 0
      if textRows.isEmpty, skipped.isEmpty {
        let cells = numbers.pointee.cells.assumingMemoryBound(to: Int64.self)
        first = lookup.insert(cells, rows: tables[index].count, entity: index)
      }
      for row in first..<tables[index].count {
        var mention: Int?
        while next < textRows.count, Int(textRows[next].row) <= row {
          if Int(textRows[next].row) == row { mention = Int(textRows[next].number) }
          next += 1
        }
        if !skipped.isEmpty, tables[index].isDeleted(row) { continue }
        let node = NodeHandle(entity: index, row: row)
        let taken: NodeHandle? =
          if let mention {
            usesColumns ? nil : mentions.withBytes(of: mention) { lookup.insert($0, node) }
          } else {
            lookup.insert(numbers.pointee.cell(row, as: Int64.self), node)
          }
        guard let taken else { continue }
        try refuseDuplicate(index, row, taken)
      }
    }
    if usesColumns {
      lookup.findTexts(
        in: members.compactMap { index in tables[index].referenceTexts.map { (index, $0, tables[index].count) } })
    }
    // Without the objects that were refused.
    if !areUnique { _ = try resolveTexts(members, mentions) }
    return lookup
  }

  /// Finds the nodes of all string references that are mentioned. Returns false if two nodes have the same.
  ///
  /// - Throws: `.limitExceeded` if that needs more memory than the limit allows.
  private func resolveTexts(_ members: [Int], _ mentions: TextMentions) throws(PersistentStoreError) -> Bool {
    guard mentions.count > 0 else { return true }
    guard roomAtFirst == .max || roomAtFirst - valueBytes >= mentions.count * MentionJoin.bytesPerMention else {
      throw limits.memoryExceeded(at: StoreLocation(file: file))
    }
    try requireMemory(mentions.count * MentionJoin.bytesPerMention, at: StoreLocation(file: file))
    mentions.removeNodes()
    // Another thread may have taken the memory since.
    guard mentions.reserveNodes() else { throw Self.outOfMemory("references", at: StoreLocation(file: file)) }
    for index in members {
      let textRows = textRows[index]
      for (place, entry) in textRows.enumerated() {
        // The last one for a row counts.
        if place + 1 < textRows.count, textRows[place + 1].row == entry.row { continue }
        if !skipped.isEmpty, tables[index].isDeleted(Int(entry.row)) { continue }
        let node = NodeHandle(entity: index, row: Int(entry.row))
        guard mentions.define(Int(entry.number), as: node) else { return false }
      }
    }
    guard let areUnique = mentions.resolve(jobs: jobs) else {
      throw Self.outOfMemory("references", at: StoreLocation(file: file))
    }
    return areUnique
  }

  /// Leaves out an object whose reference another one has, if damaged objects are left out.
  private func refuseDuplicate(_ index: Int, _ row: Int, _ taken: NodeHandle) throws(PersistentStoreError) {
    let other = location(entity: taken.entity, row: taken.row, slot: nil)
    let error = PersistentStoreError(
      .duplicateReference,
      "the reference is already used by \(other)", at: location(entity: index, row: row, slot: nil))
    guard skipsDamagedObjects else { throw error }
    try skip(entity: index, row: row, because: error)
    delete(index, row)
  }
}
