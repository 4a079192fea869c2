import AtomicStoreSPI

/// Records of JSON: an array of objects, or objects one after the other, as a file has them with one on each line.
///
/// A member is a column. Members of an object within it are columns `outer.inner`, unless ``ObjectForms`` has it. A
/// member that is `null` has no value, and neither have the columns of its members; one that an object lacks is absent.
struct JSONRecordReader: RecordReader {
  private var scanner: JSONScanner
  private let isArray: Bool
  private var isFirst = true
  /// Whether an error was found in an array: what follows has no meaning.
  private var isBroken = false
  private(set) var columns: [String] = []
  private var numbers: [ScalarString: Int] = [:]
  /// The columns of the members of a column that is an object in some records.
  private var innerColumns: [Int: [Int]] = [:]
  /// The number of the last record that has each column.
  private var lastRecords: [Int] = []
  private var recordNumber = 0
  /// How many columns of members of `null` were marked.
  private var missingCount = 0
  /// The error of the current record, which is read to its end.
  private var failure: PersistentStoreError?
  /// Whether columns are still being collected.
  private var isCollecting = true
  private let forms: ObjectForms?
  /// The members that the last records had, in their order: most records have the same ones in the same order, and
  /// their names are then not read again.
  private var members: [Member] = []
  /// The index in ``members`` after the member that was read last.
  private var nextMember = 0
  /// Those of ``forms`` by the names that the members have.
  private var knownForms: [ScalarString: ObjectForms.Member?] = [:]
  private(set) var objectColumn: Int?
  private(set) var isEmpty = true
  var headerRange: Range<Int> { 0..<0 }
  var mayLackFields: Bool { true }
  let bytes: UnsafeBufferPointer<UInt8>

  /// A member, as it is in the source.
  private struct Member {
    /// The bytes of the name, without quotes.
    let range: Range<Int>
    /// The names of the objects that it is in, each with a dot behind it.
    let prefix: String
    /// The whole name.
    let name: String
    /// The number of its column; nil if it was not known.
    var column: Int?
  }
  /// How many members may follow the last one before one that is looked for.
  private static let greatestDistance = 8
  /// How many members are kept.
  private static let greatestCount = 1024
  /// Where something is.
  private struct Place {
    let line: Int
    let column: Int
    var location: StoreLocation { StoreLocation(line: line, column: column) }
  }

  /// - Parameters:
  ///   - bytes: UTF-8.
  ///   - forms: What may be an object in the form of `fetch --json`; nil for nothing.
  ///   - columns: The names of the columns, which another reader of the same bytes has found; nil to read them first.
  init(
    _ bytes: UnsafeBufferPointer<UInt8>, _ forms: ObjectForms? = nil, columns: [String]? = nil
  ) throws(PersistentStoreError) {
    self.bytes = bytes
    self.forms = forms
    scanner = JSONScanner(bytes)
    scanner.skipMark()
    scanner.skipSpace()
    isArray = scanner.take(UInt8(ascii: "["))
    if let columns {
      self.columns = columns
      numbers = Dictionary(columns.enumerated().map { (ScalarString($1), $0) }) { first, _ in first }
    } else {
      let start = scanner.position
      try collectColumns()
      scanner.restart(at: start)
    }
    isCollecting = false
    lastRecords = Array(repeating: 0, count: self.columns.count)
    findInnerColumns()
  }

  private mutating func collectColumns() throws(PersistentStoreError) {
    var record = ImportRecord()
    while true {
      do throws(PersistentStoreError) {
        guard try next(&record) else { break }
      } catch {
        // It will be found again.
        _ = recover(from: error)
      }
      isEmpty = false
    }
    isFirst = true
    isBroken = false
  }

  /// Whether a text is JSON, and no CSV.
  static func isJSON(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    var scanner = JSONScanner(bytes)
    scanner.skipMark()
    scanner.skipSpace()
    guard let first = scanner.peek else { return false }
    return first == UInt8(ascii: "[") || first == UInt8(ascii: "{")
  }

  /// Whether a text has nothing but spaces: JSON with one object on each line, of no objects.
  static func isBlank(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    var scanner = JSONScanner(bytes)
    scanner.skipMark()
    scanner.skipSpace()
    return scanner.peek == nil
  }

  mutating func next(_ record: inout ImportRecord) throws(PersistentStoreError) -> Bool {
    // Fields are put into columns once all columns are known.
    record.makeAbsent(columns: isCollecting ? 0 : columns.count)
    if isBroken { return false }
    scanner.skipSpace()
    if isArray {
      if scanner.take(UInt8(ascii: "]")) {
        scanner.skipSpace()
        if scanner.peek != nil { throw scanner.failure("text follows the end of the array") }
        return false
      }
      if !isFirst {
        guard scanner.take(UInt8(ascii: ",")) else { throw scanner.failure("',' or ']' is missing") }
        scanner.skipSpace()
      }
    }
    guard scanner.peek != nil else {
      if isArray { throw scanner.failure("the array is never closed") }
      return false
    }
    isFirst = false
    record.line = scanner.line
    record.column = scanner.column
    record.start = scanner.position
    guard scanner.peek == UInt8(ascii: "{") else { throw scanner.failure("a record is a JSON object") }
    recordNumber += 1
    nextMember = 0
    failure = nil
    try readObject(&record, prefix: "", depth: 0)
    record.end = scanner.position
    if let failure { throw failure }
    return true
  }

  private mutating func readObject(
    _ record: inout ImportRecord, prefix: String, depth: Int
  ) throws(PersistentStoreError) {
    guard depth < 32 else { throw scanner.failure("objects are nested more than 32 deep") }
    _ = scanner.take(UInt8(ascii: "{"))
    scanner.skipSpace()
    if scanner.take(UInt8(ascii: "}")) { return }
    while true {
      scanner.skipSpace()
      let place = Place(line: scanner.line, column: scanner.column)
      let member = try readMember(prefix)
      scanner.skipSpace()
      guard scanner.take(UInt8(ascii: ":")) else { throw scanner.failure("':' is missing") }
      scanner.skipSpace()
      let isObject = scanner.peek == UInt8(ascii: "{")
      guard isObject || scanner.peek == UInt8(ascii: "[") else {
        try put(try scanner.readValue(&record.decoded), member, at: place, &record)
        if try endMember() { return }
        continue
      }
      let name = members[member].name
      let form = depth == 0 ? form(of: name) : nil
      if isObject {
        if let form, let field = readForm(form, &record, at: place) {
          try put(field, member, at: place, &record)
          if name == ObjectForms.objectName { objectColumn = numbers[ScalarString(name)] }
        } else {
          try readObject(&record, prefix: name + ".", depth: depth + 1)
        }
      } else {
        let field = try scanner.readValue(&record.decoded, allowsReferences: forms != nil)
        if case .objects(let entities, _)? = form, field.kind == .list {
          for element in JSONScanner.elements(bytes[field.start..<field.end]) {
            if let entity = element.entity { check(entity, entities, at: place) }
          }
        }
        try put(field, member, at: place, &record)
      }
      if try endMember() { return }
    }
  }

  /// Whether the object ends behind a member.
  private mutating func endMember() throws(PersistentStoreError) -> Bool {
    scanner.skipSpace()
    if scanner.take(UInt8(ascii: "}")) { return true }
    guard scanner.take(UInt8(ascii: ",")) else { throw scanner.failure("',' or '}' is missing") }
    return false
  }

  /// Reads the name of a member.
  ///
  /// - Returns: Its index in ``members``.
  private mutating func readMember(_ prefix: String) throws(PersistentStoreError) -> Int {
    let end = min(nextMember + Self.greatestDistance, members.count)
    for index in nextMember..<max(end, nextMember)
    where scanner.isAtName(members[index].range) && members[index].prefix.hasSameScalars(as: prefix) {
      scanner.skipName(members[index].range)
      nextMember = index + 1
      return index
    }
    let start = scanner.position + 1
    let name = prefix + (try scanner.readName())
    let member = Member(
      range: start..<scanner.position - 1, prefix: prefix, name: name, column: numbers[ScalarString(name)])
    let index = min(nextMember, Self.greatestCount - 1)
    if members.count < Self.greatestCount { members.insert(member, at: index) } else { members[index] = member }
    nextMember = index + 1
    return index
  }

  /// Puts a field into its column, which is a new one while columns are collected.
  private mutating func put(
    _ field: ImportField, _ member: Int, at place: Place, _ record: inout ImportRecord
  ) throws(PersistentStoreError) {
    if let number = members[member].column ?? numbers[ScalarString(members[member].name)] {
      members[member].column = number
      if isCollecting { return }
      record.set(field, column: number)
      noteUse(of: number, at: place)
      if field.kind == .missing, let inner = innerColumns[number] { try markMissing(inner, &record) }
    } else if isCollecting {
      let name = members[member].name
      members[member].column = columns.count
      numbers[ScalarString(name)] = columns.count
      columns.append(name)
      guard columns.count <= ModelDescription.maximumPropertyCount else {
        throw scanner.failure("there are more than \(ModelDescription.maximumPropertyCount) members")
      }
    }
  }

  /// The columns of the members of an object that is `null` have no value either.
  ///
  /// - Throws: `.limitExceeded` where such columns are many more than the input could have spelled out.
  private mutating func markMissing(_ columns: [Int], _ record: inout ImportRecord) throws(PersistentStoreError) {
    missingCount += columns.count
    guard missingCount <= StoreLimits().memory(forInput: bytes.count) else {
      throw PersistentStoreError(
        .limitExceeded,
        "members that are null are objects in other records, with more members than 32 million plus 48 times the file's size"
      )
    }
    for column in columns where record[column].kind == .absent {
      record.set(ImportField(kind: .missing, line: record.line, column: record.column), column: column)
    }
  }

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
  }

  /// The form of a member. A name is folded once.
  private mutating func form(of name: String) -> ObjectForms.Member? {
    guard let forms else { return nil }
    if let known = knownForms[ScalarString(name)] { return known }
    let form = forms[name]
    knownForms[ScalarString(name)] = .some(form)
    return form
  }

  /// Reads a member that is in its form: the text of its data, or the reference of its object. Nil, with nothing read,
  /// if it is not.
  private mutating func readForm(
    _ form: ObjectForms.Member, _ record: inout ImportRecord, at place: Place
  ) -> ImportField? {
    let before = scanner
    switch (form, scanner.readForm(&record.decoded)) {
    case (.bytes, .value(let data, type: "base64", _)?): return data
    case (.undeclared, .value(_, _, let whole)?): return whole
    case (.objects(let entities, let isToMany), .object(let entity, let reference, let whole)?):
      check(entity, entities, at: place)
      return isToMany ? whole : reference
    default:
      scanner = before
      return nil
    }
  }

  /// Refuses an object of another entity.
  private mutating func check(_ entity: String, _ entities: Set<ScalarString>, at place: Place) {
    guard failure == nil, !entities.contains(ScalarString(entity)) else { return }
    let names = entities.map(\.string).sorted().joined(separator: " or ")
    failure = PersistentStoreError(
      .invalidValue, "this is an object of \(entity), and not of \(names)", at: place.location)
  }

  /// Which of two values a member has is unknown.
  private mutating func noteUse(of column: Int, at place: Place) {
    if lastRecords[column] == recordNumber, failure == nil {
      failure = PersistentStoreError(
        .invalidValue, "the member '\(columns[column])' occurs twice in the object", at: place.location)
    }
    lastRecords[column] = recordNumber
  }

  /// Goes on with the next record if this one was read whole, otherwise with the next line; in an array what follows an
  /// error has no meaning.
  mutating func recover(from error: PersistentStoreError) -> Int {
    if error.code == .invalidValue { return scanner.position }
    if isArray { isBroken = true } else { scanner.skipLine() }
    return scanner.position
  }
}
