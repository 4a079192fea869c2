import AtomicStoreSPI
import FoundationEssentials

/// Trees whose root nothing names, since the schema or a page above them is damaged.
extension StoreSalvage {
  /// A tree, and the table that its rows seem to be of.
  private struct Tree {
    let page: Int
    let content: TreeContent
    let sample: [RowReader.Value]
    /// The text in the second of three columns, where metadata have the UUID.
    let text: String?
  }

  /// The tables that such trees can be of.
  private struct Known {
    let text: StoreSchemaText?
    /// The layout's tables by the numbers of their entities.
    var tables: [Int64: Int] = [:]
    /// Join tables that lack rows, and those that the schema lacks, by their number of columns.
    var damagedJoins: [Int: [String]] = [:]
    var missingJoins: [Int: [Int]] = [:]

    init(_ layout: DatabaseLayout?, _ copy: SalvageCopy, _ report: SalvageReport) {
      text = layout.map { StoreSchemaText($0) }
      for target in copy.joinTables where report.tables[DatabaseSchema.key(target.name)]?.gaps.isEmpty == false {
        damagedJoins[target.columns.count, default: []].append(target.name)
      }
      guard let layout, let text else { return }
      for (index, table) in layout.tables.enumerated() {
        for number in table.entities.compactMap({ layout.numbers[$0] }) { tables[number] = index }
      }
      for (index, join) in layout.joinTables.enumerated() where !copy.hasTable(of: join) {
        let columns = text.joins[index]
        let count = 2 + (columns.firstOrder == nil ? 0 : 1) + (columns.secondOrder == nil ? 0 : 1)
        missingJoins[count, default: []].append(index)
      }
    }
  }

  /// Adds the rows of such trees to the tables that they can only belong to, and reports the others.
  mutating func adoptRootless() throws(PersistentStoreError) {
    var trees: [Tree] = []
    // One reader for all trees, so that a long value to which many rows lead is read once.
    var samples = RowReader(pages)
    for page in rootlessPages() where walk.isRootless(page) {
      let content = walk.content(below: page)
      walk.claim(content.pages)
      guard let (sample, text) = try self.sample(content, &samples) else { continue }
      trees.append(Tree(page: page, content: content, sample: sample, text: text))
    }
    // What says what the others are comes first.
    var others: [Tree] = []
    for tree in trees {
      if let (name, sql) = ownTable(tree) { try adopt(tree, as: name, sql) } else { others.append(tree) }
    }
    guard !others.isEmpty else { return }
    let known = Known(copy.layout(model), copy, report)
    var fitting = RowReader(pages)
    for tree in others {
      if let (name, sql) = try place(tree, known, &fitting) {
        try adopt(tree, as: name, sql)
      } else {
        report.needsModel = true
        report.add(
          "page \(tree.page): rows of \(tree.sample.count) columns that no table of the schema has, so that their table is not known"
        )
      }
    }
  }

  /// Pages that begin such trees. Without a pointer map a page is one if no other names it.
  private func rootlessPages() -> [Int] {
    guard pages.count > 0 else { return [] }
    let found = (1...pages.count).filter { walk.isRootless($0) }
    var below: Set<Int> = []
    for page in found {
      guard let header = pages.header(page), header.kind == .interiorTable else { continue }
      below.insert(pages.lastChild(header))
      for index in 0..<header.cellCount {
        guard let offset = pages.cellOffset(index, of: header) else { continue }
        below.insert(Int(pages.bytes.bigEndian32(header.start + offset)))
      }
    }
    return found.filter { !below.contains($0) }
  }

  /// The values of the first row that can be read; what is lost of it is beyond its page.
  private func sample(
    _ content: TreeContent, _ reader: inout RowReader
  ) throws(PersistentStoreError) -> (values: [RowReader.Value], text: String?)? {
    var sample: (values: [RowReader.Value], text: String?)?
    for leaf in content.leaves where sample == nil {
      try reader.read(leaf) { (reader, row, _) throws(PersistentStoreError) in
        guard let values = row?.values else { return }
        var text: String?
        if values.count == 3, case .text(let range) = values[1] { text = reader.text(range) }
        sample = (values, text)
        reader.stop()
      }
    }
    return sample
  }

  /// The table of each Core Data store that a tree can only be.
  private func ownTable(_ tree: Tree) -> (name: String, sql: String)? {
    switch tree.sample.count {
    case 3:
      guard case .null = tree.sample[0], let text = tree.text, UUID(uuidString: text) != nil else { return nil }
      return ("Z_METADATA", StoreSchemaText.createMetadata)
    case 4:
      guard case .null = tree.sample[0], case .text = tree.sample[1], case .integer = tree.sample[2],
        case .integer = tree.sample[3]
      else { return nil }
      return ("Z_PRIMARYKEY", StoreSchemaText.createPrimaryKey)
    case 1:
      switch tree.sample[0] {
      case .blob, .lost: return ("Z_MODELCACHE", "CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)")
      default: return nil
      }
    default: return nil
    }
  }

  /// The table of the graph that a tree can only be: by the entity number of its rows, or as the only join table with
  /// its columns.
  private func place(
    _ tree: Tree, _ known: Known, _ reader: inout RowReader
  ) throws(PersistentStoreError) -> (name: String, sql: String)? {
    if tree.sample.count >= 3, case .null = tree.sample[0], case .integer(let number) = tree.sample[1] {
      var row = copy.entity(number)
      for _ in 0..<256 {
        guard let parent = row?.parent, parent != 0 else { break }
        row = copy.entity(parent)
      }
      let name = row.map { DatabaseLayout.tableName($0.name) }
      if let name, let target = copy.target(name) { return (target.name, "") }
      guard let text = known.text, let index = known.tables[number] else { return nil }
      let sql = text.createTable(index)
      let types = ["INTEGER", "INTEGER", "INTEGER"] + text.columns[index].map(\.type)
      return try fits(tree, types, &reader) ? (text.layout.tables[index].name, sql) : nil
    }
    guard try fits(tree, Array(repeating: "INTEGER", count: tree.sample.count), &reader) else { return nil }
    let damaged = known.damagedJoins[tree.sample.count] ?? []
    if damaged.count == 1 { return (damaged[0], "") }
    guard damaged.isEmpty, let text = known.text, let missing = known.missingJoins[tree.sample.count],
      missing.count == 1, let index = missing.first, !copy.hasTable(of: text.layout.joinTables[index])
    else { return nil }
    return (text.joins[index].table, text.createJoinTable(index))
  }

  /// Whether all values of a tree are what columns of these types have, in this order.
  private func fits(
    _ tree: Tree, _ types: [String], _ reader: inout RowReader
  ) throws(PersistentStoreError) -> Bool {
    var isFitting = true
    var isWhole = false
    for leaf in tree.content.leaves where isFitting {
      try reader.read(leaf) { (reader, row, _) throws(PersistentStoreError) in
        guard let values = row?.values else { return }
        isWhole = isWhole || values.count == types.count
        isFitting =
          values.count <= types.count
          && zip(values, types).allSatisfy { value, type in
            switch value {
            case .null, .lost: true
            case .integer: type != "VARCHAR" && type != "BLOB"
            case .real: type != "VARCHAR" && type != "BLOB" && type != "INTEGER"
            case .text: type == "VARCHAR" || type == "DECIMAL"
            case .blob: type == "BLOB"
            }
          }
        if !isFitting { reader.stop() }
      }
    }
    return isFitting && isWhole
  }

  /// Adds the rows of a tree to a table. To one that the schema has, only rows that it lacks are added.
  private mutating func adopt(_ tree: Tree, as name: String, _ sql: String) throws(PersistentStoreError) {
    let key = DatabaseSchema.key(name)
    let known = copy.target(name)
    guard known == nil || report.tables[key] != nil else {
      return report.add("page \(tree.page): rows of \(name) that it has no room for: the table is whole without them")
    }
    var target = known
    if target == nil { target = try copy.create(name, sql) }
    guard let target else { return }
    var table = report.tables[key] ?? SalvageReport.Table(name)
    let before = table.readCount
    table.add(tree.content.gaps)
    try copy.add(tree.content.leaves, to: target, &table, &reader, onlyInGaps: known != nil)
    if known == nil {
      table.add("the schema does not have it: its rows are from page \(tree.page) on, in the columns of the model")
    } else {
      table.add("page \(tree.page), which no page of the table names, has \(table.readCount - before) of its rows")
    }
    report.tables[key] = table
  }
}
