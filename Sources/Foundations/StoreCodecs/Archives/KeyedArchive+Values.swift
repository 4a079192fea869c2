public import FoundationEssentials
public import StorePrimitives
import Synchronization

// MARK: - By key

extension KeyedArchive.Value {
  /// The object's keys except that of its class, in the order of their bytes.
  package var keys: [String] { (value.dictionaryValue ?? PropertyListDictionary()).keys.filter { $0 != "$class" } }

  /// Returns the value under a key, with references resolved; nil if there is none, or it is nil.
  ///
  /// - Throws: `.malformed` if this is a plain value, which has no keys, or a reference is invalid.
  public subscript(key: String) -> KeyedArchive.Value? {
    get throws(PersistentStoreError) {
      guard case .dictionary(let fields) = value else {
        throw malformed("a plain value does not have the key '\(key)'")
      }
      guard let found = fields[key] else { return nil }
      let result = try child(found, .key(key))
      return result.isNull ? nil : result
    }
  }

  private func child(_ found: PropertyListValue, _ step: KeyedArchive.Path.Step) throws(PersistentStoreError)
    -> KeyedArchive.Value
  {
    let path = KeyedArchive.Path(parent: path, step: step)
    let result = KeyedArchive.Value(storage: storage, value: found, index: nil, path: path).resolved
    if case .uid(let number) = result.value {
      throw malformed("a reference to object \(number), but there are \(storage.objects.count)")
    }
    return result
  }

  /// Returns the string under a key; nil if there is none.
  package func string(_ key: String) throws(PersistentStoreError) -> String? {
    guard let found = try self[key] else { return nil }
    guard let text = found.stringValue else { throw found.malformed("a string is expected") }
    return text
  }

  /// Returns this value if it is a string, or else the string under a key: for what some archives store by name and
  /// others as an object.
  package func stringOrName(_ key: String) throws(PersistentStoreError) -> String? {
    if let text = stringValue { return text }
    return try string(key)
  }

  /// Returns the value under the first of the keys that has one.
  package func first(of keys: String...) throws(PersistentStoreError) -> KeyedArchive.Value? {
    for key in keys {
      if let found = try self[key] { return found }
    }
    return nil
  }

  /// Returns a string that must exist.
  public func requiredString(_ key: String) throws(PersistentStoreError) -> String {
    guard let text = try string(key) else { throw malformed("the key '\(key)' is missing") }
    return text
  }

  /// Returns the integer under a key, a Boolean as 0 or 1; nil if there is none.
  public func integer(_ key: String) throws(PersistentStoreError) -> Int? {
    guard let found = try self[key] else { return nil }
    guard let number = found.integerValue else { throw found.malformed("an integer is expected") }
    return number
  }

  /// Returns the Boolean under a key, a number as whether it is not 0; false if there is none.
  package func boolean(_ key: String) throws(PersistentStoreError) -> Bool {
    guard let found = try self[key] else { return false }
    guard let number = found.integerValue else { throw found.malformed("a Boolean is expected") }
    return number != 0
  }

  /// Returns the elements of an array or a set under a key; nil if there is none.
  public func list(_ key: String) throws(PersistentStoreError) -> [KeyedArchive.Value]? {
    guard let found = try self[key] else { return nil }
    return try found.elements()
  }

  /// Returns the entries of a dictionary under a key, whose keys are strings, in the order of the archive; nil if there
  /// is none.
  public func dictionary(_ key: String) throws(PersistentStoreError) -> [(key: String, value: KeyedArchive.Value)]? {
    guard let found = try self[key] else { return nil }
    return try found.entries()
  }
}

// MARK: - Containers

extension KeyedArchive.Value {
  func spend(_ count: Int) throws(PersistentStoreError) {
    let isLeft = storage.budget.withLock { budget in
      guard budget >= count else { return false }
      budget -= count
      return true
    }
    guard isLeft else {
      throw malformed("shared lists expand to more elements than the file can contain", code: .limitExceeded)
    }
  }

  private func values(_ key: String) throws(PersistentStoreError) -> [PropertyListValue] {
    guard case .dictionary(let fields) = value, case .array(let list)? = fields[key] else {
      throw malformed("the list '\(key)' is missing")
    }
    try spend(list.count)
    return list
  }

  /// Returns the elements of an array or a set.
  ///
  /// - Throws: `.malformed` for another object, `.limitExceeded` if shared lists expand to too many elements.
  public func elements() throws(PersistentStoreError) -> [KeyedArchive.Value] {
    let list: [PropertyListValue]
    if case .array(let plain) = value {
      try spend(plain.count)
      list = plain
    } else {
      guard classNames.contains(where: { ["NSArray", "NSSet", "NSOrderedSet"].contains($0) }) else {
        throw malformed("an array or a set is expected")
      }
      list = try values("NS.objects")
    }
    var result: [KeyedArchive.Value] = []
    result.reserveCapacity(list.count)
    for (index, element) in list.enumerated() { result.append(try child(element, .index(index))) }
    return result
  }

  /// Returns the keys and values of a dictionary, in the order of the archive. A numeric key is converted to text.
  ///
  /// - Throws: as ``elements()``, and `.malformed` for other keys.
  public func entries() throws(PersistentStoreError) -> [(key: String, value: KeyedArchive.Value)] {
    let (keys, values) = try keysAndValues()
    var result: [(key: String, value: KeyedArchive.Value)] = []
    result.reserveCapacity(keys.count)
    for (index, (key, value)) in zip(keys, values).enumerated() {
      let keyValue = try child(key, .index(index))
      guard let name = keyValue.stringValue ?? keyValue.integerValue.map(String.init) else {
        throw keyValue.malformed("a key must be a string")
      }
      result.append((name, try child(value, .key(name))))
    }
    return result
  }

  private func keysAndValues() throws(PersistentStoreError) -> ([PropertyListValue], [PropertyListValue]) {
    let classes = classNames
    if classes.contains("NSKnownKeysDictionary1") { return try knownKeysAndValues() }
    guard classes.contains("NSDictionary") else { throw malformed("a dictionary is expected") }
    let keys = try values("NS.keys")
    let values = try values("NS.objects")
    guard keys.count == values.count else { throw malformed("\(keys.count) keys for \(values.count) values") }
    return (keys, values)
  }

  /// Reads a dictionary of Core Data's own class: its keys are those of a mapping strategy, and a token stands for a
  /// missing value.
  private func knownKeysAndValues() throws(PersistentStoreError) -> ([PropertyListValue], [PropertyListValue]) {
    guard let mapping = try self["searchMapping"], let keyList = try mapping["keys"], let valueList = try self["values"]
    else {
      throw malformed("a dictionary with known keys has no keys or no values")
    }
    let keys = try keyList.plainElements()
    let values = try valueList.plainElements()
    guard keys.count == values.count else { throw malformed("\(keys.count) keys for \(values.count) values") }
    let token = try self["emptyToken"]
    let isEmpty = { (value: PropertyListValue) in
      if case .uid(let number) = value, let index = token?.index { return Int(exactly: number) == index }
      return token.map { $0.value == value } ?? false
    }
    let kept = values.indices.filter { !isEmpty(values[$0]) }
    return (kept.map { keys[$0] }, kept.map { values[$0] })
  }

  /// Unresolved elements.
  private func plainElements() throws(PersistentStoreError) -> [PropertyListValue] {
    if case .array(let plain) = value {
      try spend(plain.count)
      return plain
    }
    return try values("NS.objects")
  }
}

// MARK: - Plain values

extension KeyedArchive.Value {
  private func field(_ key: String) -> PropertyListValue? {
    guard let found = value.dictionaryValue?[key] else { return nil }
    guard case .uid(let number) = found, let index = Int(exactly: number), storage.objects.indices.contains(index)
    else { return found }
    return storage.objects[index]
  }

  /// A string, mutable or not; nil for everything else, nil itself included.
  public var stringValue: String? {
    if isNull { return nil }
    if case .string(let text) = value { return text }
    guard classNames.contains("NSString") else { return nil }
    if let text = field("NS.string")?.stringValue { return text }
    return field("NS.bytes")?.dataValue.flatMap { String(validating: $0, as: UTF8.self) }
  }

  /// An integer: an integer, a Boolean, a real without a fraction, or a decimal without a fraction.
  public var integerValue: Int? {
    switch value {
    case .integer(let number): Int(exactly: number)
    case .boolean(let flag): flag ? 1 : 0
    case .real(let number): Int(exactly: number)
    default: decimalValue.flatMap { Int($0.description) }
    }
  }

  /// What was archived as an integer, whatever its width; nil for reals, decimals and Booleans.
  public var plainIntegerValue: Int128? {
    if case .integer(let number) = value { return number }
    return nil
  }

  /// A number, with or without a fraction.
  public var realValue: Double? {
    switch value {
    case .real(let number): number
    case .integer(let number): Double(number)
    case .boolean(let flag): flag ? 1 : 0
    default: decimalValue.flatMap { Double($0.description) }
    }
  }

  /// Whether the value was archived as a Boolean.
  public var booleanValue: Bool? { value.booleanValue }

  /// Bytes, directly or in an NSData.
  public var dataValue: Data? {
    if case .data(let data) = value { return data }
    return classNames.contains("NSData") ? field("NS.data")?.dataValue : nil
  }

  /// An NSDate.
  public var dateValue: Date? {
    if case .date(let date) = value { return date }
    guard classNames.contains("NSDate") else { return nil }
    switch field("NS.time") {
    case .real(let seconds)?: return Date(timeIntervalSinceReferenceDate: seconds)
    case .integer(let seconds)?: return Date(timeIntervalSinceReferenceDate: Double(seconds))
    default: return nil
    }
  }

  /// An NSUUID.
  public var uuidValue: UUID? {
    guard classNames.contains("NSUUID"), let bytes = field("NS.uuidbytes")?.dataValue, bytes.count == 16 else {
      return nil
    }
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  /// The text of an NSURL; if it is relative, only its own part.
  public var urlText: String? { classNames.contains("NSURL") ? field("NS.relative")?.stringValue : nil }

  /// An NSDecimalNumber: 16-bit words, the least significant first, times a power of ten.
  public var decimalValue: DecimalNumber? {
    guard classNames.contains(where: { $0 == "NSDecimalNumber" || $0 == "NSDecimalNumberPlaceholder" }) else {
      return nil
    }
    guard let words = field("NS.mantissa")?.dataValue, let length = field("NS.length")?.integerValue,
      let exponent = field("NS.exponent")?.integerValue, let power = Int8(exactly: exponent)
    else { return nil }
    let isNegative =
      switch field("NS.negative") {
      case .boolean(let flag)?: flag
      case .integer(let number)?: number != 0
      default: false
      }
    // A negative number without words is not-a-number.
    if length == 0 { return isNegative ? .nan : DecimalNumber(0) }
    let byteOrder = field("NS.mantissa.bo")?.integerValue ?? 1
    let isLittleEndian = byteOrder == 1
    guard length > 0, length <= 8, words.count >= length * 2 else { return nil }
    let bytes = Array(words)
    var mantissa: UInt128 = 0
    for word in (0..<length).reversed() {
      let (one, other) = (UInt128(bytes[word * 2]), UInt128(bytes[word * 2 + 1]))
      let value: UInt128 = isLittleEndian ? (other << 8 | one) : (one << 8 | other)
      mantissa = mantissa << 16 | value
    }
    return DecimalNumber(mantissa: mantissa, exponent: power, isNegative: isNegative)
  }
}
