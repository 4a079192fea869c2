import AtomicStoreSPI

extension KeyPath {
  /// The expression that reads the same; nil if the key path leads to anything but a property in the model: it is read
  /// from objects that record that, in three rounds with different values.
  var fetchExpression: FetchExpression? {
    // What a key path unwraps with an exclamation mark would end the program where it is nothing.
    guard let type = Root.self as? ManagedObject.Type, !String(reflecting: self).contains("!") else { return nil }
    var found: FetchExpression?
    var count = 0
    for round in [PropertyProbe.Round.one, .two, .nothing] {
      let probe = PropertyProbe(round, lastRead: count - 1)
      let object = probe.placeholder(type)
      guard let root = object as? Root else { return nil }
      let value = root[keyPath: self]
      guard probe.isPath(from: object), let expression = probe.expression(of: value), found ?? expression == expression
      else { return nil }
      found = expression
      count = probe.reads.count
    }
    return found
  }
}

extension PropertyProbe {
  /// The expression that was read, if it has a value: reading it again results in the same.
  fileprivate func expression<Value>(of value: Value) -> FetchExpression? {
    guard let last = reads.last else { return nil }
    let path = reads.map(\.text)
    isRecording = false
    guard let name = last.name, let address = name.baseAddress else {
      let number = value as? Int
      return number == values.lazy.compactMap { Int(atomicStoreValue: $0) }.first ?? 0 ? last.expression : nil
    }
    if isList, let count = StoredValue.unwrapped(value) as? Int {
      let list: [ManagedObject] = objects(of: last.owner, last.text, isList: true)
      return count == list.count ? .keyPath(path + ["@count"]) : nil
    }
    let key = ManagedKey(key: address, count: name.count)
    let wrapped = (Value.self as? any OptionalType.Type)?.wrappedType
    // Of another type, it was computed.
    guard isList || last.type.map({ Self.isRead(wrapped ?? Value.self, as: $0) }) ?? false else { return nil }
    for type in [Value.self, wrapped] {
      guard let type = type as? any ManagedPropertyValue.Type else { continue }
      if Self.areEqual(type.atomicStoreRead(last.owner, key), value) { return .keyPath(path) }
    }
    return nil
  }

  /// Whether a property of one type is read as another one: integers of all widths as one, enumerations as raw values.
  private static func isRead(_ type: Any.Type, as read: Any.Type) -> Bool {
    func isRawRead<Raw: RawRepresentable>(_: Raw.Type) -> Bool { isRead(Raw.RawValue.self, as: read) }
    if type == read || read == Int64.self && type is any FixedWidthInteger.Type { return true }
    return (type as? any RawRepresentable.Type).map { isRawRead($0) } ?? false
  }

  private static func areEqual(_ one: Any, _ other: Any) -> Bool {
    guard let one = StoredValue.unwrapped(one), let other = StoredValue.unwrapped(other) else {
      return StoredValue.unwrapped(one) == nil && StoredValue.unwrapped(other) == nil
    }
    return AnyValue.areEqual(one, other) ?? (type(of: one) == type(of: other))
  }
}

private protocol OptionalType {
  static var wrappedType: Any.Type { get }
}
extension Optional: OptionalType {
  static var wrappedType: Any.Type { Wrapped.self }
}

extension ManagedObject {
  /// A number that an expression computes of the object, for key paths.
  final subscript(computing expression: FetchExpression) -> Int {
    if let probe = extras?.probe {
      probe.note(PropertyProbe.Read(owner: self, name: nil, expression: expression))
      return probe.values.lazy.compactMap { Int(atomicStoreValue: $0) }.first ?? 0
    }
    return (try? expression.value(with: self)) as? Int ?? 0
  }
}
