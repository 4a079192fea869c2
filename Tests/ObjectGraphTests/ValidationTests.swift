import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

/// A class with its own rule for every kind of refusal.
private final class Account: ManagedObject {
  struct Foreign: Error {}

  override func validate(_ value: inout Any?, forKey key: String) throws {
    guard key == "title", let text = value as? String else { return }
    if text == "foreign" { throw Foreign() }
    value = text.trimmingCharacters(in: .whitespaces)
  }
  override func validateForInsert() throws {
    try super.validateForInsert()
    if self["note"] as? String == "no insert" { throw ManagedObjectError(.managedObjectValidation, "no insert") }
  }
  override func validateForUpdate() throws {
    try super.validateForUpdate()
    if self["note"] as? String == "no update" { throw ManagedObjectError(.managedObjectValidation, "no update") }
  }
  override func validateForDelete() throws {
    try super.validateForDelete()
    if self["note"] as? String == "no delete" { throw ManagedObjectError(.managedObjectValidation, "no delete") }
  }
}

@Suite("Validation") struct ValidationTests {
  static func decimal(_ text: String) -> DecimalNumber { DecimalNumber(text) ?? DecimalNumber(0) }

  static let description = ModelDescription(entities: [
    EntityDescription(
      name: "Account",
      properties: [
        .attribute("title", .string, isOptional: false, minimumLength: 2, maximumLength: 4),
        .attribute("note", .string),
        .attribute("count", .integer32, minimum: .integer(1), maximum: .integer(9)),
        .attribute("ratio", .double, minimum: .double(0.5), maximum: .double(1.5)),
        .attribute("amount", .decimal, minimum: .decimal(decimal("0.10")), maximum: .decimal(decimal("0.30"))),
        .attribute(
          "opened", .date, minimum: .date(Date(timeIntervalSinceReferenceDate: 100)),
          maximum: .date(Date(timeIntervalSinceReferenceDate: 200))),
        .toMany("items", "Item", inverse: "account", minimumCount: 2, maximumCount: 3),
      ]),
    EntityDescription(
      name: "Item",
      properties: [
        .attribute("name", .string),
        .toOne("account", "Account", inverse: "items"),
        .toOne("label", "Label", isOptional: false),
      ]),
    EntityDescription(name: "Label", properties: [.attribute("name", .string)]),
  ])

  func stack() throws -> Stack {
    try Stack(model: try ManagedObjectModel(Self.description), classes: ["Account": Account.self])
  }

  func failure(_ stack: Stack) -> ManagedObjectError? {
    do throws(ManagedObjectError) { try stack.context.save() } catch { return error }
    return nil
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let key: String
    let value: StoredValue
    let code: ManagedObjectError.Code?
    init(_ key: String, _ value: StoredValue, _ code: ManagedObjectError.Code?) {
      (self.key, self.value, self.code) = (key, value, code)
    }
    var testDescription: String { "\(key) \(value)" }
    var any: Any? {
      switch value {
      case .string(let text): text
      case .integer(let number): Int(number)
      case .double(let number): number
      case .decimal(let number): number
      case .date(let date): date
      default: nil
      }
    }
  }

  static func date(_ seconds: Double) -> StoredValue { .date(Date(timeIntervalSinceReferenceDate: seconds)) }

  @Test(
    "each rule of the model refuses values beyond the bound with its code, and accepts the bound",
    arguments: [
      Case("title", .null, .validationMissingMandatoryProperty),
      Case("title", .string("a"), .validationStringTooShort), Case("title", .string("ab"), nil),
      Case("title", .string("abcd"), nil), Case("title", .string("abcde"), .validationStringTooLong),
      // Lengths count scalars: a letter and its accent are two.
      Case("title", .string("e\u{301}"), nil), Case("title", .string("e\u{301}e\u{301}e"), .validationStringTooLong),
      Case("count", .integer(0), .validationNumberTooSmall), Case("count", .integer(1), nil),
      Case("count", .integer(9), nil), Case("count", .integer(10), .validationNumberTooLarge),
      Case("count", .null, nil),
      Case("ratio", .double(0.49), .validationNumberTooSmall), Case("ratio", .double(0.5), nil),
      Case("ratio", .double(1.5), nil), Case("ratio", .double(1.51), .validationNumberTooLarge),
      Case("amount", .decimal(decimal("0.09")), .validationNumberTooSmall),
      Case("amount", .decimal(decimal("0.1")), nil),
      Case("amount", .decimal(decimal("0.3")), nil),
      Case("amount", .decimal(decimal("0.31")), .validationNumberTooLarge),
      Case("opened", date(99), .validationDateTooSoon), Case("opened", date(100), nil), Case("opened", date(200), nil),
      Case("opened", date(201), .validationDateTooLate),
    ])
  func rules(_ test: Case) throws {
    let stack = try stack()
    let account = try stack.insert("Account", ["title": "abc"])
    try account.setValue(test.any, forKey: test.key)
    let error = failure(stack)
    #expect(error?.code == test.code)
    #expect(stack.context.hasChanges == (test.code != nil))
    guard let error else { return }
    #expect(error.key == test.key)
    #expect(error.entityName == "Account")
    #expect(error.objectID == account.objectID)
    #expect(error.rule?.isEmpty == false)
    #expect(error.value != nil)
  }

  @Test("not-a-number breaks both bounds")
  func notANumber() throws {
    let stack = try stack()
    _ = try stack.insert("Account", ["title": "abc", "ratio": Double.nan])
    let error = try #require(failure(stack))
    #expect(Set(error.allErrors.map(\.code)) == [.validationNumberTooSmall, .validationNumberTooLarge])
  }

  @Test(
    "the count limits of a relationship apply, except to an empty optional one",
    arguments: [
      (0, nil), (1, .validationRelationshipLacksMinimumCount), (2, nil), (3, nil),
      (4, .validationRelationshipExceedsMaximumCount),
    ] as [(Int, ManagedObjectError.Code?)])
  func counts(_ count: Int, _ code: ManagedObjectError.Code?) throws {
    let stack = try stack()
    let account = try stack.insert("Account", ["title": "abc"])
    let label = try stack.insert("Label")
    for _ in 0..<count { _ = try stack.insert("Item", ["account": account, "label": label]) }
    let error = failure(stack)
    #expect(error?.code == code)
    #expect(error?.key == (code == nil ? nil : "items"))
  }

  @Test("a relationship that is not optional requires an object")
  func mandatoryRelationship() throws {
    let stack = try stack()
    let item = try stack.insert("Item")
    let error = try #require(failure(stack))
    #expect(error.code == .validationMissingMandatoryProperty)
    #expect(error.key == "label")
    try item.setValue(try stack.insert("Label"), forKey: "label")
    #expect(failure(stack) == nil)
  }

  @Test("all failures are in one flat list, of all objects and properties")
  func flatList() throws {
    let stack = try stack()
    let one = try stack.insert("Account", ["count": 0, "ratio": 9.0])
    let two = try stack.insert("Account", ["title": "abcde"])
    let error = try #require(failure(stack))
    #expect(error.code == .validationMultipleErrors)
    #expect(error.detailedErrors.count == 4)
    #expect(error.detailedErrors.allSatisfy { $0.detailedErrors.isEmpty })
    #expect(Set(error.detailedErrors.compactMap(\.objectID)) == [one.objectID, two.objectID])
    #expect(
      Set(error.detailedErrors.map(\.code)) == [
        .validationMissingMandatoryProperty, .validationNumberTooSmall, .validationNumberTooLarge,
        .validationStringTooLong,
      ])
  }

  @Test("the value that a key's own check returns is saved", arguments: Stack.types)
  func hookChangesValue(_ type: String) throws {
    let stack = try Stack(
      type, model: try ManagedObjectModel(Self.description), classes: ["Account": Account.self])
    let account = try stack.insert("Account", ["title": " ab "])
    try stack.context.save()
    #expect(account["title"] as? String == "ab")
    #expect(try stack.reread("Account").map { $0["title"] as? String } == ["ab"])
  }

  @Test("validateValue runs the model's rules, then the object's own check, and sets nothing")
  func validateValue() throws {
    let stack = try stack()
    let account = try stack.insert("Account", ["title": "abc"])
    var value: Any? = " x "
    try account.validateValue(&value, forKey: "title")
    #expect(value as? String == "x")
    #expect(account["title"] as? String == "abc")
    // Too long for the model: the check that would have made it shorter, or thrown its own error, is not asked.
    value = "foreign"
    let error = #expect(throws: ManagedObjectError.self) { try account.validateValue(&value, forKey: "title") }
    #expect(error?.code == .validationStringTooLong)
    #expect(value as? String == "foreign")
  }

  @Test(
    "an object checks itself as a whole before insertion, update and deletion",
    arguments: ["no insert", "no update", "no delete"])
  func wholeObject(_ note: String) throws {
    let stack = try stack()
    let account = try stack.insert("Account", ["title": "abc", "note": note == "no insert" ? note : "fine"])
    if note != "no insert" {
      try stack.context.save()
      try account.setValue(note, forKey: "note")
    }
    if note == "no delete" {
      try stack.context.save()
      stack.context.delete(account)
    }
    let error = try #require(failure(stack))
    #expect(error.code == .managedObjectValidation)
    #expect(error.message == note)
    #expect(stack.context.hasChanges)
  }
}
