import StoreJSON

/// A field of a record: where its bytes are, and what kind of text they are.
struct ImportField {
  enum Kind: UInt8 {
    /// No value.
    case missing
    /// The JSON object does not have this member, which others of the table have.
    case absent
    /// Plain text, of which a number or a date may be read.
    case text
    /// Text that was in quotes in CSV: empty, it is an empty text, and no value of any other type.
    case quoted
    /// A JSON string.
    case string
    /// A JSON number, which has a decimal point whatever the conventions say.
    case number
    case yes
    case no
    /// A JSON array, brackets included.
    case list
    /// A JSON object in a form of ``ObjectForms``, braces included: a value whose type it names.
    case object
  }
  var kind = Kind.missing
  /// Whether the bytes are in the record's buffer rather than in the source.
  var isDecoded = false
  var start = 0
  var end = 0
  var line = 0
  var column = 0
}

extension ImportField.Kind {
  init(_ kind: JSONScanner.Field.Kind) {
    self =
      switch kind {
      case .null: .missing
      case .yes: .yes
      case .no: .no
      case .number: .number
      case .string: .string
      case .list: .list
      case .object: .object
      }
  }
}

/// One record with a field for each column of its table.
struct ImportRecord {
  private var fields: [ImportField] = []
  /// Whether fields may be absent.
  private var isSparse = false
  private var presentColumns: [Int] = []
  /// The columns whose fields are not ``ImportField/Kind/absent``, in no particular order; nil if no field is.
  var present: [Int]? { isSparse ? presentColumns : nil }
  /// Texts that are not in the source as they are meant.
  var decoded: [UInt8] = []
  /// The range of the record in the source, without the line end.
  var start = 0
  var end = 0
  var line = 0
  var column = 1

  /// The field of a column. One that is absent is where the record begins.
  subscript(column: Int) -> ImportField {
    let field = fields[column]
    return field.kind == .absent ? ImportField(kind: .absent, line: line, column: self.column) : field
  }

  mutating func removeAll() {
    fields.removeAll(keepingCapacity: true)
    decoded.removeAll(keepingCapacity: true)
  }

  mutating func append(_ field: ImportField) { fields.append(field) }

  /// Makes all fields absent. It takes time for those that are not: records with few of very many columns are common.
  mutating func makeAbsent(columns: Int) {
    decoded.removeAll(keepingCapacity: true)
    if isSparse, fields.count == columns {
      for column in presentColumns { fields[column].kind = .absent }
    } else {
      fields = Array(repeating: ImportField(kind: .absent), count: columns)
    }
    isSparse = true
    presentColumns.removeAll(keepingCapacity: true)
  }

  /// Sets a field of a record that lacks others.
  mutating func set(_ field: ImportField, column: Int) {
    let isNew = fields[column].kind == .absent
    fields[column] = field
    if isNew { presentColumns.append(column) }
  }
}

extension ImportRecord {
  /// Calls a body with the text of a field.
  @inline(__always)
  func withText<Value, Failure: Error>(
    of index: Int, _ bytes: UnsafeBufferPointer<UInt8>, _ body: (Span<UInt8>) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let field = self[index]
    if field.isDecoded { return try body(decoded.span.extracting(field.start..<field.end)) }
    return try body(Span(_unsafeElements: UnsafeBufferPointer(rebasing: bytes[field.start..<field.end])))
  }
}
