import AtomicStoreSPI
import Testing

/// Columns that keep a part of a file's bytes instead of a copy.
@Suite("Columns that stay in a file's bytes") struct BorrowedColumnTests {
  private static let rows = 70

  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Node",
          properties: [
            .attribute("number", .integer64), .attribute("other", .integer64), .attribute("text", .string),
            .attribute("decimal", .decimal), .attribute("flag", .boolean),
          ])
      ]))
  }

  /// A file: references, numbers, texts of two bytes, decimals of two bytes, booleans, from `offset` on.
  private static func file(at offset: Int, decimal: String = "17", nullCell: Int64? = nil) -> [UInt8] {
    var bytes = [UInt8](repeating: 0xEE, count: offset)
    for row in 0..<rows { withUnsafeBytes(of: Int64(row + 1).littleEndian) { bytes += Array($0) } }
    for row in 0..<rows {
      let value = row == 3 ? nullCell ?? 3000 : Int64(row * 1000)
      withUnsafeBytes(of: value.littleEndian) { bytes += Array($0) }
    }
    for row in 0..<rows { bytes += Array(String(row + 10).utf8) }
    for _ in 0..<rows { bytes += Array(decimal.utf8) }
    for row in 0..<rows { bytes.append(UInt8(row % 2)) }
    return bytes
  }

  private static func presence(without row: Int?) -> [UInt8] {
    var bits = [UInt8](repeating: 0xFF, count: (rows + 7) / 8)
    bits[bits.count - 1] = UInt8(1 << (rows % 8)) - 1
    if let row { bits[row / 8] &= ~(1 << UInt8(row % 8)) }
    return bits
  }

  private static func filled(_ file: StoreBytes, at offset: Int, without row: Int? = nil) throws -> NodeTableBuilder {
    let nodes = NodeTableBuilder(model: try model())
    let size = rows * 8
    try nodes.appendRows(entity: 0, references: offset..<offset + size, of: file)
    let numbers = offset + size..<offset + 2 * size
    let bits = presence(without: row)
    let lengths = [UInt32](repeating: 2, count: rows)
    let texts = offset + 2 * size..<offset + 2 * size + rows * 2
    let decimals = texts.upperBound..<texts.upperBound + rows * 2
    // One part of the file may be two columns.
    for slot in 0..<2 { try nodes.fillFixed(entity: 0, slot: slot, cells: numbers, of: file, presence: bits.span) }
    try nodes.fillBytes(entity: 0, slot: 2, lengths: lengths.span, heap: texts, of: file)
    try nodes.fillBytes(entity: 0, slot: 3, lengths: lengths.span, heap: decimals, of: file)
    try nodes.fillFixed(
      entity: 0, slot: 4, cells: decimals.upperBound..<decimals.upperBound + rows, of: file, presence: nil)
    return nodes
  }

  private static func expectUnchanged(_ table: NodeTable, except changed: [Int: [Int: StoredValue]] = [:]) {
    for row in 0..<rows {
      let node = NodeHandle(entity: 0, row: row)
      #expect(table.reference(of: node) == .integer(Int64(row + 1)))
      let values: [StoredValue] = [
        .integer(Int64(row * 1000)), .integer(Int64(row * 1000)), .string(String(row + 10)),
        .decimal(DecimalNumber(17)), .boolean(row % 2 == 1),
      ]
      for slot in 0..<5 {
        let wanted = changed[slot]?[row] ?? values[slot]
        #expect(table.value(slot: slot, of: node) == wanted, "slot \(slot), row \(row)")
      }
    }
  }

  @Test("they have the file's values, wherever they begin in it", arguments: [0, 1, 4, 7, 8, 64])
  func values(_ offset: Int) throws {
    let file = StoreBytes(Self.file(at: offset))
    Self.expectUnchanged(try Self.filled(file, at: offset).finish())
  }

  @Test("a change to one is in no other column, no other table, and not in the file")
  func changes() throws {
    let content = Self.file(at: 0)
    let file = StoreBytes(content)
    let untouched = try Self.filled(file, at: 0).finish()
    var table = try Self.filled(file, at: 0).finish()
    let node = NodeHandle(entity: 0, row: 5)
    try table.set(.integer(-1), slot: 0, of: node)
    try table.set(.string("a longer text"), slot: 2, of: node)
    try table.set(.boolean(false), slot: 4, of: node)
    for number in 0..<200 { try table.set(.decimal(DecimalNumber(Int64(number))), slot: 3, of: node) }
    let added = try table.addCacheNode(entity: 0, reference: .integer(500))
    try table.set(.integer(9), slot: 1, of: added)
    Self.expectUnchanged(
      table,
      except: [
        0: [5: .integer(-1)], 2: [5: .string("a longer text")], 3: [5: .decimal(DecimalNumber(199))],
        4: [5: .boolean(false)],
      ])
    #expect(table.value(slot: 1, of: added) == .integer(9))
    Self.expectUnchanged(untouched)
    #expect(file.withUnsafeBytes { $0.elementsEqual(content) })
  }

  @Test("what a builder changes after a fill is copied, too: one value, a second fill, rows that follow")
  func building() throws {
    let content = Self.file(at: 0)
    let file = StoreBytes(content)
    let one = try Self.filled(file, at: 0)
    try one.set(.integer(77), entity: 0, row: 2, slot: 0)
    try one.set(.string("seventy-seven"), entity: 0, row: 2, slot: 2)
    Self.expectUnchanged(try one.finish(), except: [0: [2: .integer(77)], 2: [2: .string("seventy-seven")]])

    let two = try Self.filled(file, at: 0)
    let zeros = [UInt8](repeating: 0, count: Self.rows * 8)
    try two.fillFixed(entity: 0, slot: 0, cells: zeros.span, presence: nil)
    let lengths = [UInt32](repeating: 1, count: Self.rows)
    let letters = [UInt8](repeating: 0x78, count: Self.rows)
    try two.fillBytes(entity: 0, slot: 2, lengths: lengths.span, heap: letters.span)
    let refilled = try two.finish()
    for row in 0..<Self.rows {
      #expect(refilled.value(slot: 0, of: NodeHandle(entity: 0, row: row)) == .integer(0))
      #expect(refilled.value(slot: 1, of: NodeHandle(entity: 0, row: row)) == .integer(Int64(row * 1000)))
      #expect(refilled.value(slot: 2, of: NodeHandle(entity: 0, row: row)) == .string("x"))
    }

    let three = try Self.filled(file, at: 0)
    for number in 0..<100 {
      try three.beginNode(entity: 0, reference: Int64(1000 + number))
      try three.set(integer: Int64(number), slot: 0)
    }
    let longer = try three.finish()
    Self.expectUnchanged(longer)
    #expect(longer.value(slot: 0, of: NodeHandle(entity: 0, row: Self.rows + 9)) == .integer(9))
    #expect(longer.value(slot: 1, of: NodeHandle(entity: 0, row: Self.rows + 9)) == .null)
    #expect(file.withUnsafeBytes { $0.elementsEqual(content) })
  }

  @Test("cells of rows without a value are zero, whatever the file has there", arguments: [0, 1, -1, Int64.min])
  func nulls(_ garbage: Int64) throws {
    let file = StoreBytes(Self.file(at: 0, nullCell: garbage))
    let table = try Self.filled(file, at: 0, without: 3).finish()
    let node = NodeHandle(entity: 0, row: 3)
    #expect(table.value(slot: 0, of: node) == .null)
    let cells = table.reader(of: 0).fixedCells(slot: 0)
    for byte in 24..<32 { #expect(cells[byte] == 0) }
    #expect(file.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: Self.rows * 8 + 24, as: Int64.self) } == garbage)
  }

  @Test("decimals that the file spells otherwise are written as the kit spells them")
  func decimals() throws {
    let content = Self.file(at: 0, decimal: "+7")
    let file = StoreBytes(content)
    let reader = try Self.filled(file, at: 0).finish().reader(of: 0)
    for row in 0..<Self.rows { #expect(reader.string(slot: 3, row: row) == "7") }
    #expect(file.withUnsafeBytes { $0.elementsEqual(content) })
  }

  @Test("sizes and values that do not fit are refused as in a copy")
  func refused() throws {
    let file = StoreBytes(Self.file(at: 0))
    let nodes = NodeTableBuilder(model: try Self.model())
    #expect(throws: PersistentStoreError.self) { try nodes.appendRows(entity: 0, references: 0..<12, of: file) }
    try nodes.appendRows(entity: 0, references: 0..<Self.rows * 8, of: file)
    #expect(throws: PersistentStoreError.self) {
      try nodes.fillFixed(entity: 0, slot: 0, cells: 0..<16, of: file, presence: nil)
    }
    // References are not booleans.
    #expect(throws: PersistentStoreError.self) {
      try nodes.fillFixed(entity: 0, slot: 4, cells: 0..<Self.rows, of: file, presence: nil)
    }
    let long = [UInt32](repeating: 3, count: Self.rows)
    #expect(throws: PersistentStoreError.self) {
      try nodes.fillBytes(entity: 0, slot: 2, lengths: long.span, heap: 0..<Self.rows * 2, of: file)
    }
    #expect(throws: PersistentStoreError.self) {
      try nodes.fillBytes(entity: 0, slot: 2, lengths: long.span, heap: 0..<Self.rows * 4, of: file)
    }
  }
}
