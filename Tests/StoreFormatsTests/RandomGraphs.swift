import AtomicStoreKit
import Foundation

/// SplitMix64: the same numbers from the same seed, everywhere.
struct Random: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
    return z ^ z >> 31
  }
}

/// Graphs with the values that formats like to lose, in every attribute type and every kind of relationship.
enum RandomGraphs {
  static let types: [AttributeType] = [
    .undefined, .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date, .binaryData,
    .uuid, .uri, .transformable,
  ]

  static let description: ModelDescription = {
    func attribute(_ type: AttributeType) -> PropertyDescription {
      .attribute("a" + type.modelName.replacingOccurrences(of: " ", with: ""), type)
    }
    func relationship(
      _ name: String, _ destination: String, _ inverse: String?, many: Bool = false, ordered: Bool = false
    ) -> PropertyDescription {
      .relationship(
        RelationshipDescription(
          name: name, destinationEntityName: destination, inverseName: inverse, maximumCount: many ? 0 : 1,
          isOrdered: ordered))
    }
    return ModelDescription(
      versionIdentifiers: ["random"],
      entities: [
        EntityDescription(
          name: "Thing", isAbstract: true, properties: [attribute(.string)],
          subentities: [
            EntityDescription(
              name: "Alpha",
              properties: types.filter { $0 != .string }.map { attribute($0) } + [
                .attribute("place", .composite("Place")),
                relationship("boss", "Alpha", "staff"), relationship("staff", "Alpha", "boss", many: true),
                relationship("twin", "Alpha", "twin"), relationship("list", "Thing", nil, many: true, ordered: true),
                relationship("tags", "Tag", "things", many: true), relationship("any", "Thing", nil),
              ],
              subentities: [
                EntityDescription(
                  name: "Älpha2", properties: [.attribute("extra", .double)])
              ]),
            EntityDescription(name: "Beta", properties: [relationship("one", "Alpha", nil)]),
          ]),
        EntityDescription(
          name: "Tag",
          properties: [
            .attribute("title", .string),
            relationship("things", "Alpha", "tags", many: true),
          ]),
      ],
      composites: [
        CompositeDescription(
          name: "Place",
          attributes: [
            AttributeDescription(name: "x", type: .double), AttributeDescription(name: "label", type: .string),
          ])
      ])
  }()

  static let texts = [
    "", " ", "a", "é", "e\u{301}", "\u{0}", "a\u{0}b", "\r", "\n", "\r\n", "a\rb\nc\r\nd", "\t",
    "\u{1}\u{1F}\u{7F}\u{85}",
    "\u{2028}\u{2029}", "\u{FEFF}", "\u{FEFF}bom", "\u{FFFE}", "\u{FFFF}", "\u{FFFD}", "😀", "👩‍👩‍👧", "\u{10FFFF}", "\"",
    "\"\"", "a,b", "a;b|c",
    "\\", "\\u3c00", "\\\\n", "<&>'\"]]>", "&amp;", " lead", "trail ", "  ", "=1+1", "@x", "#", "%20", "nan", "NULL",
    "id:Reference", "s:x",
    "x-coredata://", "０", String(repeating: "long ", count: 500),
  ]

  static func text(_ random: inout Random) -> String {
    if Bool.random(using: &random) { return texts.randomElement(using: &random) ?? "" }
    return (0..<Int.random(in: 0...6, using: &random)).map { _ in texts.randomElement(using: &random) ?? "" }.joined()
  }

  static func double(_ random: inout Random) -> Double {
    let special: [UInt64] = [
      0, 1 << 63, 1, 0x000F_FFFF_FFFF_FFFF, 0x7FF0_0000_0000_0000, 0xFFF0_0000_0000_0000, 0x7FF8_0000_0000_0000,
      0x7FF8_0000_0000_0001, 0xFFF8_0000_0000_00FF, 0x7FEF_FFFF_FFFF_FFFF, 0x3FB9_9999_9999_999A,
    ]
    switch Int.random(in: 0...3, using: &random) {
    case 0: return Double(bitPattern: special.randomElement(using: &random) ?? 0)
    // A signalling not-a-number may be quieted by the processor on its way; every other pattern must stay.
    case 1:
      let value = Double(bitPattern: random.next())
      return value.isSignalingNaN ? 0.1 : value
    case 2: return Double.random(in: -1e9...1e9, using: &random)
    default: return Double(Int64.random(in: -1_000_000...1_000_000, using: &random)) / 1000
    }
  }

  static func value(_ type: AttributeType, _ random: inout Random) -> StoredValue {
    if Int.random(in: 0...3, using: &random) == 0 { return .null }
    switch type {
    case .undefined: return value(types.dropFirst().randomElement(using: &random) ?? .string, &random)
    case .integer16:
      return .integer(
        Int64([Int16.min, .max, 0, -1, .random(in: .min ... .max, using: &random)].randomElement(using: &random) ?? 0))
    case .integer32:
      return .integer(
        Int64([Int32.min, .max, 0, -1, .random(in: .min ... .max, using: &random)].randomElement(using: &random) ?? 0))
    case .integer64:
      return .integer(
        [Int64.min, .max, 0, -1, .random(in: .min ... .max, using: &random)].randomElement(using: &random) ?? 0)
    case .decimal:
      if Int.random(in: 0...9, using: &random) == 0 { return .decimal(.nan) }
      let mantissa = UInt128(random.next()) << UInt128(Int.random(in: 0...63, using: &random))
      return .decimal(
        DecimalNumber(
          mantissa: [0, 1, 150, 100, .max, mantissa].randomElement(using: &random) ?? 0,
          exponent: [0, -2, 3, -128, 127, .random(in: -40...40, using: &random)].randomElement(using: &random) ?? 0,
          isNegative: Bool.random(using: &random)))
    case .double: return .double(double(&random))
    case .float:
      let value = Float(bitPattern: UInt32(truncatingIfNeeded: random.next()))
      let special: [Float] = [0, -0.0, .infinity, .nan, Float(bitPattern: 0x7FC0_0001), .leastNonzeroMagnitude, 0.1]
      return .float(
        Bool.random(using: &random) ? special.randomElement(using: &random) ?? 0 : value.isSignalingNaN ? 1.5 : value)
    case .string: return .string(text(&random))
    case .boolean: return .boolean(Bool.random(using: &random))
    case .date: return .date(Date(timeIntervalSinceReferenceDate: double(&random)))
    case .binaryData, .transformable:
      let count = [0, 1, 2, 3, 56, 57, 58, 200].randomElement(using: &random) ?? 0
      return .data(Data((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }))
    case .uuid:
      return .uuid(
        UUID(
          uuid: (UInt8(random.next() & 255), 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8(random.next() & 255))
        ))
    case .uri: return .uri(text(&random))
    default: return .null
    }
  }

  static func reference(_ number: Int, _ random: inout Random) -> ReferenceObject {
    switch Int.random(in: 0...7, using: &random) {
    case 0: .string("key \(number) \(text(&random))")
    case 1: .integer(Int64.min + Int64(number))
    case 2: .integer(Int64.max - Int64(number) - 1)
    default: .integer(Int64(number))
    }
  }

  /// A graph; `shuffled` adds the same objects in another order.
  static func make(seed: UInt64, shuffled: Bool = false) throws -> StoreSnapshot {
    var random = Random(seed: seed)
    let model = try ManagedObjectModel(description)
    let withText = seed % 3 != 0
    var objects: [(entity: Entity, reference: ReferenceObject, values: [(Int, StoredValue)])] = []
    for name in ["Alpha", "Älpha2", "Beta", "Tag"] {
      let entity = try model.entity(named: name).orThrow(name)
      for number in 0..<Int.random(in: 0...8, using: &random) {
        // Numbers may meet those of another hierarchy: Tag is alone.
        let base = name == "Tag" ? 0 : objects.count
        let reference = withText ? reference(base + number * 3, &random) : .integer(Int64(base + number * 3))
        guard !objects.contains(where: { $0.entity.root == entity.root && $0.reference == reference }) else { continue }
        objects.append((entity, reference, []))
      }
    }
    func some(_ kind: String, _ random: inout Random) -> ObjectReference? {
      guard let entity = model.entity(named: kind) else { return nil }
      return objects.filter { $0.entity.isKindOf(entity: entity) }.randomElement(using: &random)
        .map { ObjectReference(entityName: $0.entity.name, reference: $0.reference) }
    }
    // A twin's twin is the twin.
    var twins: [Int: Int] = [:]
    let alphas = objects.indices.filter { objects[$0].entity.slot(named: "twin") != nil }
    for index in alphas where twins[index] == nil && Bool.random(using: &random) {
      guard let other = alphas.filter({ twins[$0] == nil }).randomElement(using: &random) else { continue }
      twins[index] = other
      twins[other] = index
    }
    for index in objects.indices {
      // The other ends are derived.
      for slot in objects[index].entity.slots where !["staff", "things"].contains(slot.name) {
        let value: StoredValue
        switch slot.kind {
        case .toOne where slot.name == "twin":
          value =
            twins[index].map {
              .toOne(ObjectReference(entityName: objects[$0].entity.name, reference: objects[$0].reference))
            } ?? .null
        case .attribute(let type): value = self.value(type, &random)
        case .toOne:
          value =
            Bool.random(using: &random)
            ? some(slot.relationship?.destinationEntityName ?? "", &random).map { .toOne($0) } ?? .null : .null
        case .toMany:
          var list: [ObjectReference] = []
          for _ in 0..<Int.random(in: 0...4, using: &random) {
            if let one = some(slot.relationship?.destinationEntityName ?? "", &random), !list.contains(one) {
              list.append(one)
            }
          }
          value = .toMany(list)
        }
        objects[index].values.append((slot.index, value))
      }
    }
    let builder = NodeTableBuilder(model: model)
    builder.inverseHandling = .enforce
    for entity in model.entities {
      for slot in entity.slots where ["staff", "things"].contains(slot.name) {
        builder.markAbsent(slot: slot.index, entity: entity.index)
      }
    }
    var order = Array(objects.indices)
    if shuffled {
      var other = Random(seed: seed &+ 1)
      order.shuffle(using: &other)
    }
    for index in order {
      try builder.beginNode(entity: objects[index].entity.index, reference: objects[index].reference)
      for (slot, value) in objects[index].values where !value.isNull { try builder.set(value, slot: slot) }
    }
    var entries = PropertyListDictionary()
    entries["text é"] = .string(text(&random))
    entries["text e\u{301}"] = .string("another key")
    entries["whole"] = .integer(Int128(Int64.min))
    entries["large"] = .integer(Int128(UInt64.max))
    entries["real"] = .real(0.1)
    entries["flag"] = false
    entries["date"] = .date(Date(timeIntervalSinceReferenceDate: 1234.5678))
    entries["data"] = .data(Data([0, 1, 2, 255]))
    entries["list"] = [1, "two", [3.5, true], []]
    entries["nested"] = ["a": ["b": ["c": "d"]], "empty": [:]]
    let metadata = StoreMetadata(
      storeType: "", uuid: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8(seed & 255))),
      entries: entries, lastReference: .max, model: description)
    return StoreSnapshot(nodes: try builder.finish(), metadata: metadata)
  }
}
