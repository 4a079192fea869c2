import AtomicStoreSPI
import StoreJSON

/// The records of a JSON table, which one pass over its bytes finds: where each is, and where its members' values are.
///
/// Whatever reads the table afterwards, to find out types, keys or problems, or to make objects, takes the fields from
/// here: see ``JSONRecordReader``.
struct JSONRecords {
  /// A value of a member.
  struct Field {
    /// Where the value begins, counted from the beginning of the record: for a string, the byte behind the quote.
    let start: UInt32
    let count: UInt32
    let column: UInt16
    let kind: ImportField.Kind
    let hasEscapes: Bool
  }
  /// An object with its members.
  struct Record {
    let start: Int
    let line: Int
    let column: Int
    /// The end; of a bad record, where the reading goes on.
    var end = 0
    var fieldCount: UInt32 = 0
    /// Whether it has an error, and therefore no fields. Errors are not kept: those of a table that is nothing but
    /// errors need more memory than the table.
    var isBad = false
    var isOnOneLine = true
  }
  fileprivate(set) var columns: [String] = []
  private(set) var records = PagedList<Record>()
  /// The fields of the records, one record after the other.
  private(set) var fields = PagedList<Field>()
  /// Whether there was not enough memory for all records and fields.
  fileprivate var isIncomplete = false
  /// The columns of the members of a column that is an object in some records.
  private(set) var innerColumns: [Int: [Int]] = [:]
  /// The columns that are objects in some records, and null in all others: only their members have values.
  private(set) var outerColumns: Set<Int> = []
  /// The column that has the references of the records' objects, in the form of `fetch --json`; nil if there is none.
  fileprivate(set) var objectColumn: Int?
  /// What is wrong with an array behind its last record.
  fileprivate(set) var failure: PersistentStoreError?
  var isEmpty: Bool { records.isEmpty && failure == nil }
  fileprivate var numbers: [ScalarString: Int] = [:]
  /// The length of all names of columns. Each has those of the objects around it, so that they may be far longer than
  /// the table.
  fileprivate var nameBytes = 0
  /// How many bytes it takes: 40 for a record, 12 for a field.
  var memory: Int {
    records.count * MemoryLayout<Record>.stride + fields.count * MemoryLayout<Field>.stride + nameBytes
  }

  /// Reads all records.
  ///
  /// - Parameters:
  ///   - bytes: UTF-8.
  ///   - forms: What may be an object in the form of `fetch --json`; nil for nothing.
  ///   - maximumMemory: The limit for ``memory``.
  /// - Throws: `.limitExceeded`.
  init(
    _ bytes: UnsafeBufferPointer<UInt8>, _ forms: ObjectForms? = nil, maximumMemory: Int = .max
  ) throws(PersistentStoreError) {
    var reading = JSONTableScanner(bytes, forms)
    try reading.readAll(maximumMemory)
    self = reading.found
    // A composite attribute that is null has no part, also those that no record has.
    for name in forms?.missingParts(of: columns) ?? [] where columns.count < ModelDescription.maximumPropertyCount {
      numbers[ScalarString(name)] = columns.count
      columns.append(name)
      nameBytes += name.utf8.count
    }
    findInnerColumns()
  }

  fileprivate init() {}

  /// The greatest number of dots in the name of a column that is looked for in others: each makes a name to look for.
  private static let greatestDepth = 64

  private mutating func findInnerColumns() {
    for (index, name) in columns.enumerated()
    where name.utf8.count(where: { $0 == UInt8(ascii: ".") }) <= Self.greatestDepth {
      var outer = name[...]
      while let dot = outer.lastIndex(of: ".") {
        outer = outer[..<dot]
        if let number = numbers[ScalarString(String(outer))] { innerColumns[number, default: []].append(index) }
      }
    }
    outerColumns = Set(innerColumns.keys)
    if !outerColumns.isEmpty {
      for field in fields.elements where field.kind != .missing { outerColumns.remove(Int(field.column)) }
    }
  }
}

/// Finds the records of a JSON table: an array of objects, or objects one after the other, as a file has them with one
/// on each line.
///
/// A member is a column. Members of an object within it are columns `outer.inner`, unless ``ObjectForms`` has it.
struct JSONTableScanner {
  fileprivate var found = JSONRecords()
  private var scanner: JSONScanner
  private let forms: ObjectForms?
  private var isArray = false
  /// The members that the last records had, in their order: most records have the same ones in the same order, and
  /// their names are then not read again.
  private var members: [Member] = []
  /// The index in ``members`` after the member that was read last.
  private var nextMember = 0
  /// The number of the last object that is a member.
  private var lastObject = 0
  /// The index in ``JSONRecords/fields`` of the last field of each column.
  private var lastFields: [Int] = []
  /// The index of the first field of the current record.
  private var firstField = 0
  private var recordStart = 0
  /// The error of the current record, which is read to its end.
  private var failure: PersistentStoreError?
  /// Those of ``forms`` by the names that the members have.
  private var knownForms: [ScalarString: ObjectForms.Member?] = [:]

  /// A member, as it is in the source.
  private struct Member {
    /// The bytes of the name, without quotes.
    let range: Range<Int>
    /// The number of the object that it is in; 0 for the record.
    let object: Int
    /// The whole name.
    let name: String
    /// The number of its column; nil if it is not known.
    var column: Int?
    /// Its own number, if it was an object.
    var number: Int?
  }
  /// How many members may follow the last one before one that is looked for.
  private static let greatestDistance = 8
  /// How many members are kept.
  private static let greatestCount = 1024
  private static let mostNameBytes = 1 << 22

  fileprivate init(_ bytes: UnsafeBufferPointer<UInt8>, _ forms: ObjectForms?) {
    self.forms = forms
    scanner = JSONScanner(bytes)
  }

  /// Creates a scanner for ``failure(of:)``.
  init(_ bytes: UnsafeBufferPointer<UInt8>, _ forms: ObjectForms?, bad table: JSONRecords) {
    self.init(bytes, forms)
    found.columns = table.columns
    found.numbers = table.numbers
    found.nameBytes = table.nameBytes
    lastFields = Array(repeating: 0, count: table.columns.count)
  }

  fileprivate mutating func readAll(_ maximumMemory: Int) throws(PersistentStoreError) {
    scanner.skipMark()
    scanner.skipSpace()
    isArray = scanner.take(UInt8(ascii: "["))
    while true {
      do throws(PersistentStoreError) {
        guard try isArray ? isBeforeElement() : isBeforeLine() else { return }
      } catch {
        found.failure = error
        return
      }
      let isWhole = readRecord()
      guard found.memory <= maximumMemory, !found.isIncomplete else {
        throw PersistentStoreError(
          .limitExceeded,
          "the positions of JSON records and their values need more memory than "
            + (found.isIncomplete ? "there is" : "the limit 'maximumMemory'"),
          at: scanner.place.location)
      }
      // What follows an error in an array has no meaning.
      if !isWhole, isArray { return }
    }
  }

  private mutating func isBeforeLine() -> Bool {
    scanner.skipSpace()
    return scanner.peek != nil
  }

  /// Whether an element of the array follows.
  private mutating func isBeforeElement() throws(PersistentStoreError) -> Bool {
    scanner.skipSpace()
    if scanner.take(UInt8(ascii: "]")) {
      scanner.skipSpace()
      if scanner.peek != nil { throw scanner.failure("text follows the end of the array") }
      return false
    }
    if !found.records.isEmpty {
      guard scanner.take(UInt8(ascii: ",")) else { throw scanner.failure("',' or ']' is missing") }
      scanner.skipSpace()
    }
    guard scanner.peek != nil else { throw scanner.failure("the array is never closed") }
    return true
  }

  /// Reads a record. After an error it goes on behind the record if this was read whole, otherwise on the next line.
  ///
  /// - Returns: Whether it was read whole.
  private mutating func readRecord() -> Bool {
    var record = JSONRecords.Record(start: scanner.position, line: scanner.line, column: scanner.column)
    var isWhole = true
    do throws(PersistentStoreError) {
      try readMembers(of: record)
      record.fieldCount = UInt32(found.fields.count - firstField)
    } catch {
      record.isBad = true
      found.fields.truncate(firstField)
      isWhole = error.code == .invalidValue
      if !isWhole, !isArray { scanner.skipLine() }
    }
    record.end = scanner.position
    record.isOnOneLine = record.line == scanner.line
    if found.records.count == Self.sampleSize { reserve() }
    if !found.records.append(record) { found.isIncomplete = true }
    return isWhole
  }

  /// Makes room for all records and fields, if the others are like the first ones: copying what was found each time
  /// that its memory is full takes longer than finding it. Memory that is not used is never touched, but may not be
  /// there: no more than the table has bytes.
  private mutating func reserve() {
    let bytes = scanner.bytes.count
    let share = Double(bytes) / Double(max(scanner.position, 1)) * 1.05
    func room(_ count: Int, _ stride: Int) -> Int { Int(min(Double(count) * share, Double(bytes / stride))) }
    found.records.reserve(room(found.records.count, MemoryLayout<JSONRecords.Record>.stride))
    found.fields.reserve(room(found.fields.count, MemoryLayout<JSONRecords.Field>.stride))
  }
  private static let sampleSize = 1000

  /// What is wrong with a bad record, which is read again.
  mutating func failure(of record: JSONRecords.Record) -> PersistentStoreError {
    found.fields.truncate(0)
    scanner.restart(at: record.start, line: record.line, column: record.column)
    do throws(PersistentStoreError) { try readMembers(of: record) } catch { return error }
    return PersistentStoreError(.internalInconsistency, "a record has an error only when it is read first")
  }

  private mutating func readMembers(of record: JSONRecords.Record) throws(PersistentStoreError) {
    firstField = found.fields.count
    recordStart = record.start
    nextMember = 0
    failure = nil
    guard scanner.peek == UInt8(ascii: "{") else { throw scanner.failure("a record is a JSON object") }
    try readObject(0, prefix: "", depth: 0)
    if let failure { throw failure }
  }

  /// - Parameter prefix: The names of the objects, each with a dot behind it.
  private mutating func readObject(
    _ object: Int, prefix: String, depth: Int
  ) throws(PersistentStoreError) {
    guard depth < 32 else { throw scanner.failure("objects are nested more than 32 deep") }
    _ = scanner.take(UInt8(ascii: "{"))
    scanner.skipSpace()
    if scanner.take(UInt8(ascii: "}")) { return }
    while true {
      scanner.skipSpace()
      let place = scanner.place
      let member = try readMember(of: object, prefix)
      scanner.skipSpace()
      guard scanner.take(UInt8(ascii: ":")) else { throw scanner.failure("':' is missing") }
      scanner.skipSpace()
      switch scanner.peek {
      case UInt8(ascii: "{"):
        let isForm = depth == 0 ? try readForm(member, at: place) : false
        if !isForm { try readInner(member, depth: depth + 1) }
      case UInt8(ascii: "["):
        let field = try scanner.readList(allowsReferences: forms != nil)
        if depth == 0, case .objects(let entities, _)? = form(of: members[member].name) {
          for element in JSONScanner.elements(scanner.bytes[field.start..<field.end]) {
            if let entity = element.entity { check(entity, entities, at: place) }
          }
        }
        try put(field, member, at: place)
      default: try put(try scanner.readScalar(), member, at: place)
      }
      scanner.skipSpace()
      if scanner.take(UInt8(ascii: "}")) { return }
      guard scanner.take(UInt8(ascii: ",")) else { throw scanner.failure("',' or '}' is missing") }
    }
  }

  /// Reads the name of a member.
  ///
  /// - Returns: Its index in ``members``.
  private mutating func readMember(of object: Int, _ prefix: String) throws(PersistentStoreError) -> Int {
    let end = min(nextMember + Self.greatestDistance, members.count)
    for index in nextMember..<max(end, nextMember)
    where members[index].object == object && scanner.isAtName(members[index].range) {
      scanner.skipName(members[index].range)
      nextMember = index + 1
      return index
    }
    let start = scanner.position + 1
    let name = prefix + (try scanner.readName())
    let member = Member(range: start..<scanner.position - 1, object: object, name: name)
    let index = min(nextMember, Self.greatestCount - 1)
    if members.count < Self.greatestCount { members.insert(member, at: index) } else { members[index] = member }
    nextMember = index + 1
    return index
  }

  /// Reads the members of a member that is an object.
  private mutating func readInner(_ member: Int, depth: Int) throws(PersistentStoreError) {
    let number = members[member].number ?? lastObject + 1
    lastObject = max(lastObject, number)
    members[member].number = number
    try readObject(number, prefix: members[member].name + ".", depth: depth)
  }

  /// Puts a value into its column.
  private mutating func put(
    _ field: JSONScanner.Field, _ member: Int, at place: JSONScanner.Place
  ) throws(PersistentStoreError) {
    let column: Int
    if let known = members[member].column { column = known } else { column = try newColumn(of: member) }
    // Which of two values a member has is unknown.
    let last = lastFields[column]
    if last >= firstField, last < found.fields.count, found.fields[last].column == column, failure == nil {
      failure = PersistentStoreError(
        .invalidValue, "the member '\(found.columns[column])' occurs twice in the object", at: place.location)
    }
    lastFields[column] = found.fields.count
    guard let start = UInt32(exactly: field.start - recordStart), let count = UInt32(exactly: field.end - field.start)
    else { throw scanner.failure("the record has more than 4 GB") }
    let isAdded = found.fields.append(
      JSONRecords.Field(
        start: start, count: count, column: UInt16(column), kind: ImportField.Kind(field.kind),
        hasEscapes: field.hasEscapes))
    if !isAdded { found.isIncomplete = true }
  }

  /// The column of a member that was not known.
  private mutating func newColumn(of member: Int) throws(PersistentStoreError) -> Int {
    let name = members[member].name
    let column = found.numbers[ScalarString(name)] ?? found.columns.count
    if column == found.columns.count {
      guard column < ModelDescription.maximumPropertyCount else {
        throw scanner.failure("there are more than \(ModelDescription.maximumPropertyCount) members")
      }
      found.nameBytes += name.utf8.count
      guard found.nameBytes <= Self.mostNameBytes else {
        throw scanner.failure("the names of the members have more than \(Self.mostNameBytes) bytes")
      }
      found.numbers[ScalarString(name)] = column
      found.columns.append(name)
      lastFields.append(0)
    }
    members[member].column = column
    return column
  }

  // MARK: Forms

  /// The form of a member. A name is folded once.
  private mutating func form(of name: String) -> ObjectForms.Member? {
    guard let forms else { return nil }
    if let known = knownForms[ScalarString(name)] { return known }
    let form = forms[name]
    knownForms[ScalarString(name)] = .some(form)
    return form
  }

  /// Reads a member that is in its form: the text of its data, or the reference of its object.
  ///
  /// - Returns: False, with nothing read, if it is not.
  private mutating func readForm(_ member: Int, at place: JSONScanner.Place) throws(PersistentStoreError) -> Bool {
    let name = members[member].name
    guard let form = form(of: name) else { return false }
    let before = scanner
    let field: JSONScanner.Field
    switch (form, scanner.readForm()) {
    case (.bytes, .value(let data, type: "base64", _)?): field = data
    case (.undeclared, .value(_, _, let whole)?): field = whole
    case (.objects(let entities, let isToMany), .object(let entity, let reference, let whole)?):
      check(entity, entities, at: place)
      field = isToMany ? whole : reference
    default:
      scanner = before
      return false
    }
    try put(field, member, at: place)
    if name == forms?.objectName { found.objectColumn = members[member].column }
    return true
  }

  /// Refuses an object of another entity.
  private mutating func check(_ entity: String, _ entities: Set<ScalarString>, at place: JSONScanner.Place) {
    guard failure == nil, !entities.contains(ScalarString(entity)) else { return }
    let names = entities.map(\.string).sorted().joined(separator: " or ")
    failure = PersistentStoreError(
      .invalidValue, "this is an object of \(entity), and not of \(names)", at: place.location)
  }
}
