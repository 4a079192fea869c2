import AtomicStoreSPI
import StoreJSON

/// The members of a table's JSON records that may be in the forms in which `fetch --json` prints objects, binary data
/// and values of undefined type: `{"entity": "Book", "reference": 3}`, `{"base64": "…"}` and, for the latter,
/// `{"uuid": "…"}` and the like. All other objects are members with members.
struct ObjectForms {
  /// What a member is.
  enum Member {
    /// Binary data.
    case bytes
    /// A value whose type its form says.
    case undeclared
    /// Objects of these entities, which are called by these names; several if it is a to-many.
    case objects(Set<ScalarString>, isToMany: Bool)
  }
  /// What `fetch` calls the member that it prints first, the object itself: the second if a property has the first
  /// name.
  static let objectNames = ["objectID", "SELF"]
  /// The name of that member.
  let objectName: String
  /// By folded name.
  private var members: [String: Member] = [:]
  private let object: Member
  /// What is behind the names of composite attributes in those of their parts, by the folded names of the former.
  private var parts: [String: [String]] = [:]

  /// - Parameter importer: Knows which columns were named for relationships.
  init(_ entity: Entity, _ importer: StoreImporter) {
    objectName = Self.objectNames.first { entity.slot(named: $0) == nil } ?? Self.objectNames[0]
    var formerNames: [(String, Member)] = []
    for slot in entity.slots {
      let member: Member
      if let destination = slot.destination {
        member = .objects(
          Self.names(in: entity.model.entity(at: destination).hierarchy), isToMany: slot.isToMany)
      } else {
        switch slot.valueKind {
        case .data: member = .bytes
        case .undefined: member = .undeclared
        default: continue
        }
      }
      if let old = slot.attribute?.renamingIdentifier ?? slot.relationship?.renamingIdentifier {
        formerNames.append((old, member))
      }
      let columns = importer.relationshipColumns.filter {
        ScalarString($0.entityName) == ScalarString(entity.name)
          && ScalarString($0.relationshipName) == ScalarString(slot.name) && $0.columns.count == 1
      }
      for name in [slot.name] + columns.flatMap(\.columns) { members[NameMatching.folded(name)] = member }
    }
    // What has the name now is meant, and not what had it before.
    let names = Set(entity.slots.map { NameMatching.folded($0.name) })
    for (name, member) in formerNames.map({ (NameMatching.folded($0), $1) }) where !names.contains(name) {
      if members[name] == nil { members[name] = member }
    }
    for slot in entity.slots where slot.attribute != nil {
      for dot in slot.name.indices where slot.name[dot] == "." {
        parts[NameMatching.folded(String(slot.name[..<dot])), default: []].append(String(slot.name[dot...]))
      }
    }
    for slot in entity.slots { parts[NameMatching.folded(slot.name)] = nil }
    // A table holds objects of one entity: those of a sub-entity would lose what only they have.
    object = .objects(Self.names(in: [entity]), isToMany: false)
  }

  subscript(name: String) -> Member? { name == objectName ? object : members[NameMatching.folded(name)] }

  /// The columns that composite attributes among others would have if each record had all their parts.
  func missingParts(of columns: [String]) -> [String] {
    guard !parts.isEmpty else { return [] }
    var known = Set(columns.map { NameMatching.folded($0) })
    return columns.flatMap { name in (parts[NameMatching.folded(name)] ?? []).map { name + $0 } }
      .filter { known.insert(NameMatching.folded($0)).inserted }
  }

  /// The names of entities, and those that they had in an earlier version of the model.
  private static func names(in entities: some Sequence<Entity>) -> Set<ScalarString> {
    var names: Set<ScalarString> = []
    for entity in entities {
      names.insert(ScalarString(entity.name))
      if let old = entity.declaration.renamingIdentifier { names.insert(ScalarString(old)) }
    }
    return names
  }
}

extension JSONScanner {
  /// An object in one of the forms of ``ObjectForms``.
  enum ObjectForm {
    /// A value, the name of its type, and all of it.
    case value(Field, type: String, whole: Field)
    /// An object's reference, the name of its entity, and all of it as a list of one object.
    case object(entity: String, reference: Field, whole: Field)
  }
  private static let types: Set<String> = ["base64", "float", "double", "decimal", "date", "uuid", "uri"]

  /// Reads an object that is in one of the forms. Nil, with nothing read, for all others.
  mutating func readForm() -> ObjectForm? {
    let start = self
    if let form = try? form() { return form }
    self = start
    return nil
  }

  private mutating func form() throws(PersistentStoreError) -> ObjectForm? {
    var whole = Field(.object, position)
    var fields: [String: Field] = [:]
    guard take(UInt8(ascii: "{")) else { return nil }
    repeat {
      skipSpace()
      let name = try readName()
      guard fields[name] == nil, fields.count < 2 else { return nil }
      skipSpace()
      guard take(UInt8(ascii: ":")) else { return nil }
      skipSpace()
      let field = try readScalar()
      guard field.kind == .string || field.kind == .number else { return nil }
      fields[name] = field
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else { return nil }
    whole.end = position
    if fields.count == 1, let (type, field) = fields.first, Self.types.contains(type) {
      return .value(field, type: type, whole: whole)
    }
    guard fields.count == 2, let entity = fields["entity"], entity.kind == .string, let reference = fields["reference"]
    else { return nil }
    whole.kind = .list
    return .object(entity: text(of: entity), reference: reference, whole: whole)
  }

  /// An array. What is in it is read when it is used.
  ///
  /// - Parameter allowsReferences: Whether it may have objects in the form of ``ObjectForms``.
  mutating func readList(allowsReferences: Bool) throws(PersistentStoreError) -> Field {
    var field = Field(.list, position)
    try skipList(depth: 0, allowsReferences)
    field.end = position
    return field
  }

  private mutating func skipList(depth: Int, _ allowsReferences: Bool) throws(PersistentStoreError) {
    guard depth < 32 else { throw failure("arrays are nested more than 32 deep") }
    _ = take(UInt8(ascii: "["))
    skipSpace()
    if take(UInt8(ascii: "]")) { return }
    while true {
      skipSpace()
      if peek == UInt8(ascii: "[") {
        try skipList(depth: depth + 1, allowsReferences)
      } else if peek == UInt8(ascii: "{") {
        let start = self
        guard case .object? = readForm() else {
          throw start.failure("an object within an array is not a value that can be imported")
        }
        guard allowsReferences else { throw start.failure("references to objects are read only with a model") }
      } else {
        _ = try readScalar()
      }
      skipSpace()
      if take(UInt8(ascii: "]")) { return }
      guard take(UInt8(ascii: ",")) else { throw failure("',' or ']' is missing") }
    }
  }

  /// What is in a list.
  struct Element {
    /// The name of the entity of an object that is named by its form.
    var entity: String?
    /// The text of a string, number or Boolean, or of an object's reference.
    var text: String
    var kind: ImportField.Kind
  }

  /// What is in a list that was read before. What is in an array within it is in it, too.
  static func elements(_ array: Slice<UnsafeBufferPointer<UInt8>>) -> [Element] {
    var scanner = JSONScanner(UnsafeBufferPointer(rebasing: array))
    var elements: [Element] = []
    while let byte = scanner.peek {
      switch byte {
      case UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ","): _ = scanner.take(byte)
      case UInt8(ascii: "{"):
        guard case .object(let entity, let reference, _)? = scanner.readForm() else { return elements }
        let text = scanner.text(of: reference)
        elements.append(Element(entity: entity, text: text, kind: ImportField.Kind(reference.kind)))
      default:
        guard let field = try? scanner.readScalar() else { return elements }
        switch field.kind {
        case .null: break
        case .yes: elements.append(Element(text: "true", kind: .string))
        case .no: elements.append(Element(text: "false", kind: .string))
        default: elements.append(Element(text: scanner.text(of: field), kind: ImportField.Kind(field.kind)))
        }
      }
      scanner.skipSpace()
    }
    return elements
  }
}
