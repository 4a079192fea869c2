import AtomicStoreSPI

/// The type of an expression, as far as the model determines it.
indirect enum PredicateKind: Sendable {
  case unknown
  case null
  case attribute(AttributeType)
  case object(Entity)
  case list(PredicateKind)
  /// A composite attribute as a whole: it can only be compared with nil, or followed by the key of a part.
  case composite(PredicateCompositeType)
  /// The result types of functions.
  case text, number, boolean, date, data, uuid, uri
  /// The name of an entity, the value of the key `entity`.
  case entityName

  /// Whether it is a single value: neither an object nor a list.
  var isValue: Bool {
    switch self {
    case .object, .list: false
    default: true
    }
  }
}

/// The types of values, expressions and properties, as far as the model determines them.
extension PredicateKind {
  enum Group { case unknown, text, number, boolean, date, data, uuid, object, list }

  init(_ value: StoredValue) {
    switch value {
    case .null: self = .null
    case .boolean: self = .boolean
    case .integer, .float, .double, .decimal: self = .number
    case .string: self = .text
    case .data: self = .data
    case .date: self = .date
    case .uuid: self = .uuid
    case .uri: self = .uri
    case .toOne, .toMany: self = .unknown
    }
  }

  init(cast type: String) {
    switch (type.hasPrefix("NS") ? String(type.dropFirst(2)) : type).lowercased() {
    case "date": self = .date
    case "number", "double", "float", "decimalnumber", "decimal": self = .number
    case "string": self = .text
    case "uuid": self = .uuid
    case "url": self = .uri
    case "data": self = .data
    default: self = .unknown
    }
  }

  var group: Group {
    switch self {
    case .unknown, .null, .composite: .unknown
    case .text, .uri, .entityName: .text
    case .number: .number
    case .boolean: .boolean
    case .date: .date
    case .data: .data
    case .uuid: .uuid
    case .object: .object
    case .list: .list
    case .attribute(let type):
      switch type.valueKind {
      case .string, .uri: .text
      case .integer, .double, .float, .decimal: .number
      case .boolean: .boolean
      case .date: .date
      case .data: type == .transformable ? .unknown : .data
      case .uuid: .uuid
      case .undefined, .toOne, .toMany: .unknown
      }
    }
  }

  /// The type of the elements of a list; the type itself if it is not a list.
  var element: PredicateKind { if case .list(let inner) = self { inner } else { self } }

  var isUnknownOrNull: Bool { group == .unknown }

  /// Whether it is nil, or may be nil as far as the model determines it.
  var isNilOrNotKnown: Bool {
    switch self {
    case .null, .unknown: true
    default: false
    }
  }

  var title: String {
    switch group {
    case .unknown: "something"
    case .text: "a string"
    case .number: "a number"
    case .boolean: "a Boolean"
    case .date: "a date"
    case .data: "binary data"
    case .uuid: "a UUID"
    case .object: if case .object(let entity) = self { "an object of \(entity.name)" } else { "an object" }
    case .list: "a list"
    }
  }

  /// What a key is that several entities of a hierarchy declare separately; nil if one expression cannot treat their
  /// values alike.
  func common(with other: Self) -> Self? {
    switch (self, other) {
    case (.unknown, _), (_, .unknown): return .unknown
    case (.list(let one), .list(let two)): return one.common(with: two).map { .list($0) }
    case (.object(let one), .object(let two)):
      var ancestor = Optional(one)
      while let found = ancestor, !two.isKindOf(entity: found) { ancestor = found.superentity }
      return ancestor.map { .object($0) }
    case (.composite(let one), .composite(let two)): return one.allPartNames == two.allPartNames ? self : nil
    case (.list, _), (_, .list), (.object, _), (_, .object), (.composite, _), (_, .composite): return nil
    default:
      let areNumbers = [group, other.group].allSatisfy { $0 == .number || $0 == .boolean }
      if group == other.group || areNumbers { return self }
      return group == .unknown ? self : other.group == .unknown ? other : nil
    }
  }

  func isComparable(with other: Self) -> Bool {
    switch (group, other.group) {
    case (.unknown, _), (_, .unknown): true
    case (.number, .boolean), (.boolean, .number): true
    case (.uuid, .text), (.text, .uuid): true
    case (.object, .object):
      if case .object(let one) = self, case .object(let two) = other { one.root.index == two.root.index } else { true }
    default: group == other.group
    }
  }
}

extension PredicateKind {
  /// The type of a property of an entity; nil if the entity does not have it. The name of a part of a composite
  /// contains a dot.
  init?(ofProperty name: String, of entity: Entity) {
    if let slot = entity.slot(named: name).map({ entity.slots[$0] }) {
      if let type = slot.attributeType {
        self = .attribute(type)
      } else if let destination = slot.destination {
        let object = PredicateKind.object(entity.model.entity(at: destination))
        self = slot.isToMany ? .list(object) : object
      } else {
        return nil
      }
      return
    }
    // Transient and fetched properties and whole composites have no slot.
    switch entity.property(named: name) {
    case .attribute(let attribute): self.init(attribute.type, name: name, of: entity)
    case .relationship(let relationship):
      let object =
        entity.model.entity(named: relationship.destinationEntityName).map { PredicateKind.object($0) } ?? .unknown
      self = relationship.isToMany ? .list(object) : object
    case .fetchedProperty: self = .list(.unknown)
    case nil:
      guard let kind = Self.kind(ofPart: name, of: entity) else { return nil }
      self = kind
    }
  }

  /// The type of a part of a composite that has no slot: a transient part, or a nested composite.
  private static func kind(ofPart name: String, of entity: Entity) -> PredicateKind? {
    let keys = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard keys.count > 1, var kind = PredicateKind(ofProperty: keys[0], of: entity) else { return nil }
    for key in keys.dropFirst() {
      guard case .composite(let composite) = kind, let part = composite.part(named: key) else { return nil }
      kind = part
    }
    return kind
  }

  fileprivate init(_ type: AttributeType, name: String, of entity: Entity) {
    guard case .composite(let composite) = type else {
      self = .attribute(type)
      return
    }
    let attributes = entity.model.composite(named: composite)?.attributes ?? []
    self = .composite(PredicateCompositeType(entity: entity, name: name, attributes: attributes))
  }

  /// The names of an entity's properties, including the parts of composites.
  static func propertyNames(of entity: Entity) -> [String] {
    entity.properties.flatMap { property -> [String] in
      guard case .attribute(let attribute) = property,
        case .composite(let composite) = PredicateKind(attribute.type, name: attribute.name, of: entity)
      else { return [property.name] }
      return [property.name] + composite.allPartNames
    }
  }
}

/// A composite attribute, or a composite within one.
struct PredicateCompositeType: Sendable {
  let entity: Entity
  /// The name of its value in the entity, such as `address` or `address.place`.
  let name: String
  let attributes: [AttributeDescription]

  func part(named key: String) -> PredicateKind? {
    attributes.first { $0.name.utf8.elementsEqual(key.utf8) }.map {
      PredicateKind($0.type, name: "\(name).\($0.name)", of: entity)
    }
  }

  /// The names of the parts that are not composites themselves, at any depth.
  var partNames: [String] {
    attributes.flatMap { attribute -> [String] in
      if case .composite(let inner) = PredicateKind(attribute.type, name: "\(name).\(attribute.name)", of: entity) {
        return inner.partNames
      }
      return ["\(name).\(attribute.name)"]
    }
  }

  /// The names of all parts, at any depth.
  var allPartNames: [String] {
    attributes.flatMap { attribute -> [String] in
      let name = "\(name).\(attribute.name)"
      if case .composite(let inner) = PredicateKind(attribute.type, name: name, of: entity) {
        return [name] + inner.allPartNames
      }
      return [name]
    }
  }
}
