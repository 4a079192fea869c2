package import AtomicStoreSPI

/// A value in a JSON file that a user wrote, with the keys that lead to it. What is refused is named by them, with what
/// is expected there and what was found.
package struct JSONMember: Sendable {
  package let value: JSONValue
  /// The keys, such as `entities.Person.drop[0]`; empty for the whole file.
  private let path: String
  private let file: String

  /// Reads the file.
  ///
  /// - Parameter name: The file's name for errors.
  /// - Throws: `.malformed` with line and column for what is not JSON.
  package init(file bytes: [UInt8], name: String) throws(PersistentStoreError) {
    self.init(value: try JSONReader.read(bytes, name: name), path: "", file: name)
  }

  private init(value: JSONValue, path: String, file: String) {
    (self.value, self.path, self.file) = (value, path, file)
  }

  /// The error that names the value.
  package func refusal(_ message: String) -> PersistentStoreError {
    PersistentStoreError(
      .malformed, path.isEmpty ? message : "\(path): \(message)", at: StoreLocation(file: file))
  }

  private func unexpected(_ form: String) -> PersistentStoreError {
    refusal("\(form) is expected, not \(value.formName)")
  }

  // MARK: Forms

  /// The member, if it is not null: in many places null is as if it were not there.
  package var unlessNull: JSONMember? { if case .null = value { nil } else { self } }

  package func text() throws(PersistentStoreError) -> String {
    guard case .string(let text) = value else { throw unexpected("a text") }
    return text
  }

  package func integer() throws(PersistentStoreError) -> Int {
    guard case .integer(let number) = value else { throw unexpected("a whole number") }
    return number
  }

  package func reference() throws(PersistentStoreError) -> ReferenceObject {
    guard let reference = ReferenceObject(json: value) else { throw unexpected("a whole number or a text") }
    return reference
  }

  package func list() throws(PersistentStoreError) -> [JSONMember] {
    guard case .array(let values) = value else { throw unexpected("a list") }
    return values.enumerated().map { JSONMember(value: $1, path: "\(path)[\($0)]", file: file) }
  }

  package func texts() throws(PersistentStoreError) -> [String] {
    try list().map { member throws(PersistentStoreError) in try member.text() }
  }

  /// The members of an object, by any names.
  package func members() throws(PersistentStoreError) -> [(name: String, member: JSONMember)] {
    guard case .object(let members) = value else { throw unexpected("an object") }
    return members.map { ($0, JSONMember(value: $1, path: path.isEmpty ? $0 : "\(path).\($0)", file: file)) }
  }

  /// The members of an object that may have these names alone: a misspelled one must not go unnoticed.
  package func members(named names: [String]) throws(PersistentStoreError) -> [String: JSONMember] {
    var result: [String: JSONMember] = [:]
    for (name, member) in try members() {
      guard names.contains(where: { $0.hasSameScalars(as: name) }) else {
        throw refusal("'\(name)' is not one of \(names.joined(separator: ", "))")
      }
      result[name] = member
    }
    return result
  }

  /// The member of an object that has others, too.
  package func member(_ name: String) throws(PersistentStoreError) -> JSONMember {
    guard let found = try members().first(where: { $0.name.hasSameScalars(as: name) }) else {
      throw refusal("'\(name)' is missing")
    }
    return found.member
  }
}

extension JSONValue {
  /// What kind of value it is, for a message.
  package var formName: String {
    switch self {
    case .null: "null"
    case .boolean(let flag): "\(flag)"
    case .integer, .number, .exactNumber: "the number \(numberText ?? "")"
    case .string: "a text"
    case .array: "a list"
    case .object: "an object"
    }
  }
}
