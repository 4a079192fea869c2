import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Property lists and keyed archives.
extension InnerValue {
  /// Reads a binary or XML property list.
  static func propertyList(
    _ bytes: [UInt8], _ limits: inout InnerLimits
  ) throws(PersistentStoreError) -> InnerValue {
    let isBinary = bytes.withUnsafeBytes { PropertyList.isBinary($0) }
    let list =
      isBinary
      ? try PropertyList.decodeBinary(bytes, maximumDepth: maximumDepth)
      : try PropertyList.decodeXML(bytes.span, maximumDepth: maximumDepth)
    return try value(list, &limits)
  }

  private static func value(
    _ value: PropertyListValue, _ limits: inout InnerLimits
  ) throws(PersistentStoreError) -> InnerValue {
    try limits.within { limits throws(PersistentStoreError) in
      switch value {
      case .string(let text): return .text(text)
      case .integer(let number): return .integer(number)
      case .real(let number): return .real(number)
      case .boolean(let flag): return .boolean(flag)
      case .date(let date): return .date(date)
      case .data(let data): return .data(data)
      case .uid(let number): return .table([("uid", .integer(Int128(number)))])
      case .array(let list):
        var values: [InnerValue] = []
        for element in list { values.append(try Self.value(element, &limits)) }
        return .list(values)
      case .dictionary(let entries):
        var members: [(key: String, value: InnerValue)] = []
        for entry in entries { members.append((entry.key, try Self.value(entry.value, &limits))) }
        return .table(members)
      }
    }
  }

  /// Reads a keyed archive. Classes are names, under the key `$class`; an object within itself is `{"$ref": number}`.
  static func archive(_ bytes: [UInt8], _ limits: inout InnerLimits) throws(PersistentStoreError) -> InnerValue {
    let archive = try KeyedArchive(bytes)
    var reader = ArchiveValues(limits: limits)
    defer { limits = reader.limits }
    guard !archive.top.contains(where: { $0.key == "root" }), archive.top.count != 1 else {
      return try reader.value(try archive.root)
    }
    var members: [(key: String, value: InnerValue)] = []
    for entry in archive.top { members.append((entry.key, try reader.value(entry.value))) }
    return .table(members)
  }
}

/// The objects of an archive as values.
private struct ArchiveValues {
  private(set) var limits: InnerLimits
  /// The numbers of the objects around the next value.
  private var around: [Int] = []

  init(limits: InnerLimits) { self.limits = limits }

  mutating func value(_ object: KeyedArchive.Value) throws(PersistentStoreError) -> InnerValue {
    var limits = limits
    defer { self.limits = limits }
    return try limits.within { inner throws(PersistentStoreError) in
      self.limits = inner
      defer { inner = self.limits }
      if let plain = Self.plain(object) { return plain }
      if let index = object.index {
        if around.contains(index) { return .table([("$ref", .integer(Int128(index)))]) }
        around.append(index)
      }
      defer { if object.index != nil { around.removeLast() } }
      return try container(object)
    }
  }

  private static func plain(_ object: KeyedArchive.Value) -> InnerValue? {
    if object.isNull { return .null }
    if let text = object.stringValue ?? object.urlText ?? object.uuidValue?.uuidString { return .text(text) }
    if let flag = object.booleanValue { return .boolean(flag) }
    if let number = object.plainIntegerValue { return .integer(number) }
    if let data = object.dataValue { return .data(data) }
    if let date = object.dateValue { return .date(date) }
    if let number = object.decimalValue { return .decimal(number) }
    return object.realValue.map { .real($0) }
  }

  private mutating func container(_ object: KeyedArchive.Value) throws(PersistentStoreError) -> InnerValue {
    let classes = object.classNames
    if classes.contains("NSDictionary") || classes.contains("NSKnownKeysDictionary1") {
      var members: [(key: String, value: InnerValue)] = []
      for entry in try object.entries() { members.append((entry.key, try value(entry.value))) }
      return .table(members)
    }
    let isList = classes.contains { ["NSArray", "NSSet", "NSOrderedSet"].contains($0) }
    if isList || classes.isEmpty && object.keys.isEmpty {
      var values: [InnerValue] = []
      for element in try object.elements() { values.append(try value(element)) }
      return .list(values)
    }
    var members: [(key: String, value: InnerValue)] = []
    if let name = object.className { members.append(("$class", .text(name))) }
    for key in object.keys {
      if let found = try object[key] { members.append((key, try value(found))) }
    }
    return .table(members)
  }
}
