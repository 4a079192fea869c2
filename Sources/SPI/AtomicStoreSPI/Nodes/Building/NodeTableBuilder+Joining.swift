/// Appending the nodes of parts that were loaded at the same time.
extension NodeTableBuilder {
  /// A loaded part of a file.
  struct Part {
    let nodes: NodeTableBuilder
    /// The number of lines that it contains.
    let lines: Int
  }

  /// Appends the nodes of all parts. Returns false, and appends nothing, if a limit may be exceeded.
  func append(_ parts: [Part], numberingRowsOf entity: Int?) -> Bool {
    guard fits(parts) else { return false }
    var joins: [ColumnJoin] = []
    var lines = [Int](repeating: 0, count: parts.count)
    for index in parts.indices.dropFirst() { lines[index] = lines[index - 1] + parts[index - 1].lines }
    let numbers = parts.map { appendNumbers($0.nodes) }
    for index in tables.indices where parts.contains(where: { $0.nodes.building[index].count > 0 }) {
      let counts = parts.map { $0.nodes.building[index].count }
      let total = counts.reduce(building[index].count, +)
      appendLines(index, parts, lines, total: total)
      appendTexts(index, parts, numbers)
      appendPayloads(index, parts)
      for slot in 0...building[index].slotCount {
        let root = slot < building[index].slotCount ? Int(building[index].roots[slot]) : 0
        guard var join = join(index, slot, parts, counts, total: total) else { continue }
        join.numbers = numbers.map { $0.numbers(root: root) }
        join.isNumbered = index == entity && slot == building[index].slotCount
        joins.append(join)
      }
      roomForRows += total - building[index].capacity
      building[index].count = total
      building[index].capacity = max(total, building[index].capacity)
    }
    for part in parts { absent.formUnion(part.nodes.absent) }
    let all = joins
    let areJoined = ParallelWork.allSatisfy(all.count, jobs: jobs) { all[$0].run() }
    for join in all { room -= join.target.pointee.byteCount - join.bytesBefore }
    if !areJoined { noteLackOfRows() }
    state.pointee.entity = -1
    state.pointee.row = -1
    return true
  }

  /// Without memory for a column of the whole, the parts cannot be loaded again: some of their columns were moved. The
  /// load fails at the next column that grows, or in ``finish()``: each row after these grows them first.
  private func noteLackOfRows() {
    isOutOfMemory = true
    room = -1
    for index in tables.indices { building[index].capacity = 0 }
  }

  // MARK: Limits

  /// Whether all parts fit with certainty. How memory is counted depends on how columns grow: close to a limit, a load
  /// on one thread decides.
  private func fits(_ parts: [Part]) -> Bool {
    // The numbers of rows, and filled columns of references, would have to be translated.
    guard !parts.contains(where: \.nodes.hasRowReferences) else { return false }
    var objects = tables.indices.reduce(0) { $0 + building[$1].count }
    var bytes = 0
    for index in tables.indices {
      let rows = parts.reduce(building[index].count) { $0 + $1.nodes.building[index].count }
      objects += rows - building[index].count
      guard rows > building[index].count else { continue }
      guard rows < Int(Int32.max) / 2, !building[index].isAbstract else { return false }
      for slot in 0...building[index].slotCount {
        let own = building[index].headers[slot]
        let others = parts.map { $0.nodes.building[index].headers[slot] }.filter { $0.pointee.hasCells }
        guard !others.isEmpty else { continue }
        let units = others.reduce(own.pointee.heapCount) { $0 + $1.pointee.heapCount }
        guard units < Extent.greatestHeap / 2 else { return false }
        let cells =
          ColumnJoin.isSparse(others + [own], of: rows)
          ? rows / ColumnHeader.rowsPerCell * 12 : ColumnHeader.size(own.pointee.layout, rows: rows)
        bytes += cells + units * own.pointee.layout.heapUnit
      }
    }
    return objects <= limits.objects && bytes <= room / 2 && PagedMemory.hasRoom(for: bytes)
  }

  // MARK: References

  /// What is added to the numbers of the listed references and mentioned texts of a part.
  struct PartNumbers: Sendable {
    var listed: UInt64
    /// By root.
    var texts: [UInt64]

    func numbers(root: Int) -> ColumnJoin.Numbers { .init(listed: listed, texts: texts[root]) }
  }

  private func appendNumbers(_ part: NodeTableBuilder) -> PartNumbers {
    let result = PartNumbers(
      listed: UInt64(listed.count), texts: tables.indices.map { UInt64(texts[$0].count) })
    listed.append(contentsOf: part.listed)
    for root in tables.indices where part.texts[root].count > 0 {
      room -= part.texts[root].byteCount
      if !texts[root].append(&part.texts[root]) { isOutOfMemory = true }
    }
    return result
  }

  private func appendTexts(_ index: Int, _ parts: [Part], _ numbers: [PartNumbers]) {
    var base = building[index].count
    let root = model.records[index].root
    textRows[index].reserveCapacity(textRows[index].count + parts.reduce(0) { $0 + $1.nodes.textRows[index].count })
    for (part, numbers) in zip(parts, numbers) {
      if part.nodes.unsortedTexts.contains(index) { unsortedTexts.insert(index) }
      for entry in part.nodes.textRows[index] {
        let number = entry.number + UInt32(truncatingIfNeeded: numbers.texts[root])
        textRows[index].append(TextRow(row: entry.row + UInt32(truncatingIfNeeded: base), number: number))
      }
      base += part.nodes.building[index].count
    }
  }

  // MARK: Lines and payloads

  private func appendPayloads(_ index: Int, _ parts: [Part]) {
    var base = building[index].count
    for part in parts {
      for (row, payload) in part.nodes.payloads[index] { payloads[index][row + base] = payload }
      // The row is in the lower half of the key.
      for key in part.nodes.deferred[index] { deferred[index].insert(key + UInt64(truncatingIfNeeded: base)) }
      base += part.nodes.building[index].count
    }
  }

  private func appendLines(_ index: Int, _ parts: [Part], _ offsets: [Int], total: Int) {
    let entry = building + index
    guard entry.pointee.lines != nil || parts.contains(where: { $0.nodes.building[index].lines != nil }) else { return }
    let capacity = max(total, entry.pointee.capacity)
    let lines = UnsafeMutablePointer<UInt32>.allocate(capacity: capacity)
    lines.initialize(repeating: 0, count: capacity)
    if let old = entry.pointee.lines {
      lines.update(from: old, count: entry.pointee.count)
      old.deallocate()
    }
    var row = entry.pointee.count
    for (part, offset) in zip(parts, offsets) {
      let other = part.nodes.building[index]
      for place in 0..<other.count {
        let line = other.lines.map { Int($0[place]) } ?? 0
        if line > 0 { lines[row] = UInt32(clamping: line + offset) }
        row += 1
      }
    }
    entry.pointee.lines = lines
  }

  // MARK: Columns

  /// What appending a column of all parts takes; nil if no part has values in it. Takes over the column of a part if
  /// there is none yet.
  private func join(_ index: Int, _ slot: Int, _ parts: [Part], _ counts: [Int], total: Int) -> ColumnJoin? {
    let entry = building + index
    var pieces: [ColumnJoin.Piece] = []
    var row = entry.pointee.count
    for (number, part) in parts.enumerated() {
      let header = part.nodes.building[index].headers[slot]
      if header.pointee.hasCells, counts[number] > 0 {
        let rows = header.pointee.sparse == nil ? min(counts[number], header.pointee.capacity) : counts[number]
        pieces.append(.init(header: header, start: row, count: rows, part: number))
      }
      row += counts[number]
    }
    guard let first = pieces.first else { return nil }
    var join = ColumnJoin(target: entry.pointee.headers[slot], total: total, pieces: pieces)
    join.isSparse =
      slot < entry.pointee.slotCount && ColumnJoin.isSparse(pieces.map(\.header) + [join.target], of: total)
    join.bytesBefore = join.target.pointee.byteCount
    guard !join.target.pointee.hasCells else { return join }
    let isReferences = slot == entry.pointee.slotCount
    let layout = join.target.pointee.layout
    let column: Column
    if first.start == 0 {
      let owner = parts[first.part].nodes
      column = isReferences ? owner.tables[index].referenceNumbers : owner.tables[index].columns[slot]
      owner.use(isReferences ? EntityTable.noNumbers : Column.none(layout), index, slot)
      join.adopted = first
      join.pieces.removeFirst()
    } else {
      column = isReferences ? Column(layout) : Column(sparse: layout)
    }
    use(column, index, slot)
    join.target = column.header
    return join
  }
}
