import AtomicStoreSPI
import StorePrimitives

/// Who has each value of a uniqueness constraint.
///
/// Most constraints are of one integer or one string: these are kept in tables that take 16 to 40 bytes a value, where
/// a dictionary of keys takes 100 and three times as long.
struct UniqueOwners {
  /// A row of the batch, or an object of the store.
  enum Owner: Hashable {
    case row(Int)
    case node(NodeHandle)

    fileprivate var bits: UInt64 {
      switch self {
      case .row(let index): Self.rowBit | UInt64(truncatingIfNeeded: index)
      case .node(let node): UInt64(truncatingIfNeeded: node.entity) << 32 | UInt64(truncatingIfNeeded: node.row)
      }
    }

    fileprivate init(bits: UInt64) {
      if bits & Self.rowBit != 0 {
        self = .row(Int(truncatingIfNeeded: bits & ~Self.rowBit))
      } else {
        self = .node(NodeHandle(entity: Int(bits >> 32), row: Int(bits & 0xFFFF_FFFF)))
      }
    }

    /// The numbers of entities have 30 bits.
    private static let rowBit: UInt64 = 1 << 63
  }

  private enum Form {
    case integers, texts, keys
  }
  private let form: Form
  private var integers: SparseNodes
  private var texts = TextNumbers()
  /// By the number of the text; nil where it has no owner any more.
  private var textOwners: [UInt64?] = []
  private var keys: [UniqueKey: Owner] = [:]

  /// - Parameters:
  ///   - type: The type of the constraint's attribute; nil if it has several properties, or a relationship.
  ///   - count: The number of values to come.
  init(type: AttributeType?, count: Int) {
    switch type?.valueKind {
    case .integer: form = .integers
    case .string: form = .texts
    default: form = .keys
    }
    integers = form == .integers ? SparseNodes(expecting: count) : SparseNodes()
    if form == .texts { textOwners.reserveCapacity(count) }
    if form == .keys { keys.reserveCapacity(count) }
  }

  /// The owner of a key; nil for none.
  subscript(key: UniqueKey) -> Owner? {
    get {
      switch (form, key.single) {
      case (.integers, .integer(let number)?): return integers[number].map { Owner(bits: $0) }
      case (.texts, .string(var text)?):
        let number = text.withUTF8 { texts.number(of: $0) }
        return number.flatMap { textOwners[$0] }.map { Owner(bits: $0) }
      default: return keys[key]
      }
    }
    set {
      switch (form, key.single) {
      case (.integers, .integer(let number)?): integers[number] = newValue?.bits
      case (.texts, .string(let text)?): textOwners[self.number(of: text)] = newValue?.bits
      default: keys[key] = newValue
      }
    }
  }

  /// Gives a value of a constraint of one attribute to an owner, unless it has another one, which is returned.
  mutating func claim(_ value: StoredValue, for owner: Owner) -> Owner? {
    switch (form, value) {
    case (.integers, .integer(let number)):
      if let other = integers[number] { return Owner(bits: other) }
      integers[number] = owner.bits
    case (.texts, .string(let text)):
      let number = number(of: text)
      if let other = textOwners[number] { return Owner(bits: other) }
      textOwners[number] = owner.bits
    default:
      let key = UniqueKey(value)
      if let other = keys.updateValue(owner, forKey: key) {
        keys[key] = other
        return other
      }
    }
    return nil
  }

  private mutating func number(of text: String) -> Int {
    var text = text
    let number = text.withUTF8 { texts.add($0) }
    if number == textOwners.count { textOwners.append(nil) }
    return number
  }
}
