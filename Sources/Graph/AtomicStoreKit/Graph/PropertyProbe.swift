import AtomicStoreSPI
import FoundationEssentials

/// Records which properties of placeholder objects are read. Placeholders have no store and no model, so that
/// recording never reaches data.
///
/// A placeholder returns nothing in one round, and in two others a value that few calculations leave unchanged. This
/// distinguishes a key path that returns a property from one that computes something from it.
final class PropertyProbe {
  enum Round {
    case nothing, one, two
  }
  struct Read {
    let owner: ManagedObject
    /// The name of the property, as ``Managed`` stores it; nil for a read of ``expression``.
    let name: UnsafeBufferPointer<UInt8>?
    var expression: FetchExpression?
    /// The type that was read, without its optional; nil for a list of objects.
    var type: Any.Type?

    var text: String { name.map { String(decoding: $0, as: UTF8.self) } ?? "" }
  }
  private let round: Round
  /// Which read returns nothing in the round for it: those before lead there.
  private let lastRead: Int
  private(set) var reads: [Read] = []
  /// False to read again what was read last.
  var isRecording = true
  /// Whether the property that was read last leads to several objects.
  private(set) var isList = false
  private var related: [String: [ManagedObject]] = [:]

  init(_ round: Round, lastRead: Int) {
    self.round = round
    self.lastRead = lastRead
  }

  /// Creates a placeholder of a class.
  func placeholder(_ type: ManagedObject.Type) -> ManagedObject {
    let object = type.init(entity: ManagedObject.standInModel.entity(at: 0), insertInto: nil)
    object.needExtras().recorder = self
    return object
  }

  func note(_ read: Read) { if isRecording { reads.append(read) } }

  /// Notes the type of what was just read.
  func note(_ type: Any.Type) {
    if isRecording, !reads.isEmpty { reads[reads.count - 1].type = type }
  }

  /// The values that attributes of all types can have now.
  var values: [StoredValue] {
    switch round {
    case .nothing where reads.count > lastRead: []
    case .one: Self.ones
    case .nothing, .two: Self.twos
    }
  }

  /// The placeholders at the other end of the relationship that was just read.
  func objects<Object: ManagedObject>(of owner: ManagedObject, _ name: String, isList: Bool) -> [Object] {
    if isRecording { self.isList = isList }
    if !isList { note(Object.self) }
    if round == .nothing, reads.count > lastRead { return [] }
    let key = Self.key(owner, name, isList: isList)
    let known = related[key] ?? (0..<(isList && round == .two ? 2 : 1)).map { _ in placeholder(Object.self) }
    related[key] = known
    return known.compactMap { $0 as? Object }
  }

  /// Whether each read but the first is one of the object that the one before returned.
  func isPath(from root: ManagedObject) -> Bool {
    var owner: ManagedObject? = root
    for read in reads {
      guard read.owner === owner else { return false }
      owner = related[Self.key(read.owner, read.text, isList: false)]?.first
    }
    return !reads.isEmpty
  }

  private static func key(_ owner: ManagedObject, _ name: String, isList: Bool) -> String {
    "\(ObjectIdentifier(owner)) \(isList) \(name)"
  }

  // A space at an end, both cases, a long text, a fraction and a negative number, since calculations that keep one of
  // them are common. The numbers are small: a computed property may multiply them, or make shorter integers of them.
  private static let ones: [StoredValue] = [
    .string(" aB" + String(repeating: "é\n", count: 1000)), .integer(113), .double(113.328125), .float(113.328125),
    .boolean(true), .decimal(DecimalNumber(mantissa: 113)),
    .date(Date(timeIntervalSinceReferenceDate: 113.5)), .data(Data([113])),
    .uuid(UUID(uuid: (1, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))),
  ]
  private static let twos: [StoredValue] = [
    .string("Yz "), .integer(-7), .double(-7.25), .float(-7.25), .boolean(false),
    .decimal(DecimalNumber(mantissa: 7, isNegative: true)),
    .date(Date(timeIntervalSinceReferenceDate: -7.25)), .data(Data([7, 0])),
    .uuid(UUID(uuid: (7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))),
  ]
}

extension ObjectExtras {
  /// Records the accesses to the object; nil unless the object is a placeholder.
  var probe: PropertyProbe? { recorder as? PropertyProbe }
}
