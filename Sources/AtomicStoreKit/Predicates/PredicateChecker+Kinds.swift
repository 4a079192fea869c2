import AtomicStoreSPI

/// What values, expressions and properties are, as far as a model tells.
extension PredicateChecker.Kind {
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
      switch type {
      case .string, .uri: .text
      case .integer16, .integer32, .integer64, .double, .float, .decimal: .number
      case .boolean: .boolean
      case .date: .date
      case .binaryData: .data
      case .uuid: .uuid
      case .transformable, .undefined, .composite: .unknown
      }
    }
  }

  var isUnknownOrNull: Bool { group == .unknown }

  /// Nil itself, or what may be nil for all that a model tells.
  var isNilOrNotKnown: Bool {
    switch self {
    case .null, .unknown: true
    default: false
    }
  }

  var title: String {
    switch group {
    case .unknown: "something"
    case .text: "a text"
    case .number: "a number"
    case .boolean: "a truth value"
    case .date: "a date"
    case .data: "binary data"
    case .uuid: "a UUID"
    case .object: if case .object(let plan) = self { "an object of \(plan.name)" } else { "an object" }
    case .list: "a list"
    }
  }

  func isComparable(with other: Self) -> Bool {
    switch (group, other.group) {
    case (.unknown, _), (_, .unknown): true
    case (.number, .boolean), (.boolean, .number): true
    case (.uuid, .text), (.text, .uuid): true
    case (.object, .object):
      if case .object(let one) = self, case .object(let two) = other { one.root == two.root } else { true }
    default: group == other.group
    }
  }
}
