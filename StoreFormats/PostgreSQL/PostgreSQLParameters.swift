import AtomicStoreSPI
import CPostgreSQL
import FoundationEssentials
import StoreSQL

/// Texts of statements and messages.
enum PostgreSQLText {
  static func quoted(_ name: String) -> String {
    "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
  }

  static func oneLine(_ text: String) -> String {
    text.split(whereSeparator: \.isNewline).map { $0.drop { $0.isWhitespace } }
      .filter { !$0.isEmpty && $0 != "^" }.joined(separator: "; ")
  }

  /// `?1` becomes `$1`, except within quotes.
  static func statement(_ sql: String) -> String {
    var result: [UInt8] = []
    result.reserveCapacity(sql.utf8.count)
    var quote: UInt8?
    for byte in sql.utf8 {
      if let open = quote {
        if byte == open { quote = nil }
        result.append(byte)
      } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
        quote = byte
        result.append(byte)
      } else {
        result.append(byte == UInt8(ascii: "?") ? UInt8(ascii: "$") : byte)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}

/// The object identifiers of types.
enum PostgreSQLType {
  /// Whether a column of a type holds the values of another.
  static func `is`(_ found: Oid, _ type: SQLType) -> Bool {
    switch type {
    case .boolean: found == 16
    case .integer16: found == 21
    case .integer32: found == 23
    case .integer64: found == 20
    case .float: found == 700
    case .double: found == 701
    // Some servers call a text with a collation a character string.
    case .text: found == 25 || found == 1043
    case .blob: found == 17
    case .uuid: found == 2950
    }
  }
}

/// The parameters of a statement, in the server's binary form.
struct PostgreSQLParameters {
  /// The object identifiers of the types; 0 has the server find out.
  var types: [Oid] = []
  private var bytes: [[UInt8]?] = []

  /// - Throws: `.limitExceeded` for values of more than 1 GiB together: the protocol counts in 31 bits.
  init(_ values: [SQLValue]) throws(PersistentStoreError) {
    for value in values {
      switch value {
      case .null: add(0, nil)
      case .integer(let number): add(20, Self.bytes(number))
      case .boolean(let flag): add(16, [flag ? 1 : 0])
      case .double(let number): add(701, Self.bytes(number.bitPattern))
      case .float(let number): add(700, Self.bytes(number.bitPattern))
      case .text(let text): add(25, Self.bytes(text))
      case .blob(let data): add(17, [UInt8](data))
      case .uuid(let uuid): add(2950, withUnsafeBytes(of: uuid.uuid) { Array($0) })
      }
    }
    guard bytes.reduce(0, { $0 + ($1?.count ?? 0) }) < 1 << 30 else {
      throw PersistentStoreError(.limitExceeded, "the values of a row have more than 1 GiB")
    }
  }

  private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }
  private static func bytes(_ text: String) -> [UInt8] {
    let utf8 = Array(text.utf8)
    return utf8.withUnsafeBufferPointer { SQLEscapes.escaped($0) } ?? utf8
  }

  private mutating func add(_ type: Oid, _ value: [UInt8]?) {
    types.append(type)
    bytes.append(value)
  }

  func withPointers<Result>(
    _ body: (Int32, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> Result
  ) -> Result {
    // One block for all values; an empty one needs an address too.
    var all: [CChar] = [0]
    var places: [Int?] = []
    for value in bytes {
      guard let value else {
        places.append(nil)
        continue
      }
      places.append(all.count)
      all += value.map { CChar(bitPattern: $0) }
      all.append(0)
    }
    return all.withUnsafeBufferPointer { block in
      let pointers = places.map { place in place.flatMap { place in block.baseAddress.map { $0 + place } } }
      let lengths = bytes.map { Int32($0?.count ?? 0) }
      let formats = [Int32](repeating: 1, count: bytes.count)
      return body(Int32(bytes.count), pointers, lengths, formats)
    }
  }
}
