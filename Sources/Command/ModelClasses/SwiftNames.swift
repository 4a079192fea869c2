import AtomicStoreSPI

/// Names of a model as Swift identifiers: unlike all others in the same scope, and unlike the kit's.
struct SwiftNames {
  private var used: Set<String>
  private let outer: Set<String>

  /// - Parameters:
  ///   - taken: Names that the scope has already.
  ///   - outer: Those of the scopes around it, which many scopes share: they are not copied.
  init(taken: Set<String> = [], within outer: Set<String> = []) {
    used = taken
    self.outer = outer
  }

  /// What `ManagedObject` declares: a subclass cannot declare it again.
  static let members: Set<String> = [
    "accessError", "changedKeys", "debugDescription", "description", "entity", "hasChanges", "hash", "hashValue",
    "hasPersistentChangedValues", "isDeleted", "isFault", "isInserted", "isUpdated", "managedObjectContext", "objectID",
    "predicateEntity", "self", "unavailableReason", "Key", "entityName",
  ]
  private static let keywords: Set<String> = [
    "Any", "Self", "any", "as", "associatedtype", "await", "break", "case", "catch", "class", "continue", "default",
    "defer", "deinit", "do", "each", "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func",
    "guard", "if", "import", "in", "init", "inout", "internal", "is", "let", "nil", "nonisolated", "operator",
    "precedencegroup", "private", "protocol", "public", "repeat", "rethrows", "return", "self", "some", "static",
    "struct", "subscript", "super", "switch", "throw", "throws", "true", "try", "typealias", "var", "where", "while",
    "Type", "Protocol",
  ]

  /// The identifier of a name of the model.
  ///
  /// - Parameters:
  ///   - suffix: What is added to a name that the scope has.
  ///   - isWrapped: Whether it is of a property with a wrapper, which the compiler stores as `_name`.
  mutating func identifier(_ name: String, suffix: String = "Value", isWrapped: Bool = false) -> String {
    func isTaken(_ name: String) -> Bool {
      used.contains(name) || outer.contains(name) || isWrapped && used.contains("_" + name)
    }
    var result = Self.plain(name)
    if ["self", "Self", "init", "Type", "Protocol", "Any"].contains(result) { result += suffix }
    if isTaken(result) { result += suffix }
    var number = 2
    let base = result
    while isTaken(result) {
      result = "\(base)\(number)"
      number += 1
    }
    used.insert(result)
    if isWrapped { used.insert("_" + result) }
    return Self.keywords.contains(result) ? "`\(result)`" : result
  }

  /// The name without characters that an identifier cannot have: what follows one begins with a capital letter.
  static func plain(_ name: String) -> String {
    var result = ""
    var isNew = false
    for scalar in name.unicodeScalars {
      guard scalar == "_" || scalar.properties.isXIDContinue else {
        isNew = true
        continue
      }
      result += isNew && !result.isEmpty ? scalar.properties.uppercaseMapping : String(Character(scalar))
      isNew = false
    }
    guard let first = result.unicodeScalars.first, result.contains(where: { $0 != "_" }) else { return "_unnamed" }
    return first == "_" || first.properties.isXIDStart ? result : "_" + result
  }

  static func capitalized(_ name: String) -> String {
    let plain = plain(name)
    return plain.prefix(1).uppercased() + plain.dropFirst()
  }

  /// The text as a Swift string literal.
  static func literal(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      default:
        if scalar.value < 32 || scalar.value == 127 || scalar.properties.generalCategory == .format {
          result += "\\u{\(String(scalar.value, radix: 16))}"
        } else {
          result.unicodeScalars.append(scalar)
        }
      }
    }
    return result + "\""
  }

  /// The text as the content of a comment of one line.
  static func comment(_ text: String) -> String {
    String(text.map { $0.isNewline ? " " : $0 })
  }
}
