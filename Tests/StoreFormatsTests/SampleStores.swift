import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import ModelFiles

/// The sample stores, as values: what the committed files must hold.
enum SampleStores {
  static let folder: String = {
    var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    parts.removeLast(3)
    return parts.joined(separator: "/") + "/SampleStores"
  }()

  static func model(_ name: String) throws -> ManagedObjectModel {
    try ManagedObjectModel(ModelFile.read(at: "\(folder)/\(name)/\(name).xcdatamodeld").description)
  }

  private static func uuid(_ number: UInt8) -> UUID {
    UUID(uuid: (0xA7, 0x0E, 0x1C, 0x5D, 0x3B, 0x42, 0x4F, 0x10, 0x9C, 0x66, 0, 0, 0, 0, 0, number))
  }

  /// Fills a table through names: slow, and easy to read.
  private struct Filler {
    let builder: NodeTableBuilder
    func add(_ entityName: String, _ reference: Int64, _ values: [String: StoredValue]) throws {
      let entity = try builder.model.entity(named: entityName).orThrow("no entity \(entityName)")
      try builder.beginNode(entity: entity.index, reference: reference)
      for (name, value) in values.sorted(by: { $0.key < $1.key }) {
        try builder.set(value, slot: try entity.slot(named: name).orThrow("no property \(entityName).\(name)"))
      }
    }
  }

  private static func to(_ entity: String, _ reference: Int64) -> ObjectReference {
    ObjectReference(entityName: entity, reference: .integer(reference))
  }
  private static func day(_ text: String) throws -> StoredValue {
    .date(try Date(text, strategy: .iso8601))
  }

  /// Every attribute type, every kind of relationship, text from several scripts, empty against missing, and the values
  /// that formats like to lose.
  static func company() throws -> StoreSnapshot {
    let model = try model("Company")
    let filler = Filler(builder: NodeTableBuilder(model: model))
    try filler.add(
      "Department", 1,
      [
        "name": .string("Entwicklung"), "budget": .decimal(DecimalNumber(mantissa: 125_000_050, exponent: -2)),
        "floor": .integer(3), "headcount": .integer(4), "site": .uri("https://example.com/dept/entwicklung?a=1&b=2"),
        "createdAt": try day("2001-01-01T00:00:00Z"), "uuid": .uuid(uuid(1)), "head": .toOne(to("Manager", 8)),
        "employees": .toMany([to("Employee", 3), to("Employee", 4), to("Employee", 5), to("Manager", 8)]),
      ])
    try filler.add(
      "Department", 2,
      [
        "name": .string("営業部"),
        "budget": .decimal(try DecimalNumber("99999999999999999999999999999999999999").orThrow("decimal")),
        "floor": .integer(-2), "headcount": .integer(2), "createdAt": .date(Date(timeIntervalSinceReferenceDate: 0.1)),
        "uuid": .uuid(uuid(2)), "employees": .toMany([to("Employee", 6), to("Manager", 7)]),
      ])
    try filler.add(
      "Employee", 3,
      [
        "name": .string("Zoë \"Zo\" O’Hara, Jr."), "badge": .integer(1001), "active": .boolean(true),
        "address.street": .string("12, rue de l'Été\nBâtiment C"), "address.city": .string("Genève"),
        "address.postcode": .string("01200"), "email": .string("zoe@example.com"),
        "extra": .decimal(DecimalNumber(mantissa: 150, exponent: -2)), "hired": try day("2015-06-15T08:30:00Z"),
        "height": .float(1.68), "nickname": .string(""),
        "photo": .data(Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])),
        "preferences": .data(Data("bplist00\u{1}\u{2}".utf8)), "rating": .double(4.75),
        "salary": .decimal(DecimalNumber(mantissa: 650_000, exponent: -1)), "serial": .integer(.max),
        "token": .uuid(uuid(3)), "department": .toOne(to("Department", 1)), "manager": .toOne(to("Manager", 8)),
        "buddy": .toOne(to("Employee", 4)), "projects": .toMany([to("Project", 9), to("Project", 10)]),
        "favourite": .toOne(to("Project", 10)),
      ])
    try filler.add(
      "Employee", 4,
      [
        "name": .string("李小龍"), "badge": .integer(1002), "active": .boolean(false), "email": .string("li@example.com"),
        "hired": .date(Date(timeIntervalSinceReferenceDate: -63_114_076.5)), "height": .float(-0.0),
        "photo": .data(Data()), "rating": .double(.nan), "salary": .decimal(DecimalNumber(mantissa: 1, exponent: 20)),
        "serial": .integer(.min), "extra": .string("free text & <markup> \\ backslash"),
        "department": .toOne(to("Department", 1)), "manager": .toOne(to("Manager", 8)),
        "buddy": .toOne(to("Employee", 3)), "projects": .toMany([to("Project", 10)]),
        "favourite": .toOne(to("Department", 2)),
      ])
    try filler.add(
      "Employee", 5,
      [
        "name": .string("e\u{301} and é"), "badge": .integer(2_147_483_647),
        "nickname": .string("tab\tCR\rLF\nCRLF\r\nNUL\0end"),
        "rating": .double(Double(bitPattern: 10121)), "extra": .boolean(true), "height": .float(.infinity),
        "preferences": .data(Data()), "department": .toOne(to("Department", 1)),
      ])
    try filler.add(
      "Employee", 6,
      [
        "name": .string("😀👩‍👩‍👧 \u{FEFF}\u{FFFE}"), "badge": .integer(1), "active": .boolean(true),
        "email": .string("a\u{1}b@example.com"), "rating": .double(-0.0), "hired": try day("2020-02-29T23:59:59Z"),
        "extra": .date(Date(timeIntervalSinceReferenceDate: 1.5)), "department": .toOne(to("Department", 2)),
        "manager": .toOne(to("Manager", 7)), "projects": .toMany([to("Project", 9)]),
      ])
    try filler.add(
      "Manager", 7,
      [
        "name": .string("Müller"), "badge": .integer(500), "active": .boolean(true), "parking": .integer(-1),
        "department": .toOne(to("Department", 2)), "reports": .toMany([to("Employee", 6)]),
        "manager": .toOne(to("Manager", 8)), "extra": .uuid(uuid(7)),
      ])
    try filler.add(
      "Manager", 8,
      [
        "name": .string("Ἀριστοτέλης"), "badge": .integer(100), "active": .boolean(true),
        "department": .toOne(to("Department", 1)), "leads": .toMany([to("Department", 1)]),
        "reports": .toMany([to("Employee", 3), to("Employee", 4), to("Manager", 7)]),
        "buddy": .toOne(to("Manager", 8)), "parking": .integer(32767), "extra": .integer(-7),
      ])
    try filler.add(
      "Project", 9,
      [
        "title": .string("Apollo"), "notes": .string("line one\nline two"),
        "createdAt": try day("1969-07-16T13:32:00Z"),
        "uuid": .uuid(uuid(9)), "members": .toMany([to("Employee", 3), to("Employee", 6)]),
        // Not in the order of their references.
        "milestones": .toMany([to("Project", 12), to("Project", 11)]), "related": .toMany([to("Project", 10)]),
      ])
    try filler.add(
      "Project", 10,
      [
        "title": .string(" Blank at both ends "), "notes": .string(""),
        "members": .toMany([to("Employee", 3), to("Employee", 4)]),
        "related": .toMany([to("Project", 9), to("Project", 10)]),
      ])
    try filler.add("Project", 11, ["title": .string("Landing"), "partOf": .toOne(to("Project", 9))])
    try filler.add("Project", 12, ["title": .string("Orbit"), "partOf": .toOne(to("Project", 9))])
    let metadata = StoreMetadata(
      storeType: "", uuid: try UUID(uuidString: "5B1D9F0C-58F3-4C5A-9E0B-0C0FFEE0C0DE").orThrow("uuid"),
      entries: [
        "Company": "Übersee & Söhne", "BuildNumber": 42, "Ratio": 0.1, "IsSample": true,
        "Tags": ["one", "two"], "Seal": .data(Data([1, 2, 3])),
      ],
      // One more than is in use: a reference that was given and whose object is gone.
      lastReference: 13, model: model.description)
    return StoreSnapshot(nodes: try filler.builder.finish(), metadata: metadata)
  }

  /// People joined through an intermediate entity, as the guide's chapter on relationships has it.
  static func friendInfo() throws -> StoreSnapshot {
    let model = try model("FriendInfo")
    let filler = Filler(builder: NodeTableBuilder(model: model))
    try filler.add(
      "Person", 1, ["name": .string("Shelly"), "friends": .toMany([to("FriendInfo", 4), to("FriendInfo", 5)])])
    try filler.add(
      "Person", 2,
      [
        "name": .string("Jane"), "friends": .toMany([to("FriendInfo", 6)]),
        "befriendedBy": .toMany([to("FriendInfo", 4)]),
      ])
    try filler.add(
      "Person", 3,
      ["name": .string("José"), "befriendedBy": .toMany([to("FriendInfo", 5), to("FriendInfo", 6)])])
    try filler.add(
      "FriendInfo", 4,
      [
        "ranking": .integer(1), "comment": .string("since school"), "source": .toOne(to("Person", 1)),
        "friend": .toOne(to("Person", 2)),
      ])
    try filler.add(
      "FriendInfo", 5, ["ranking": .integer(2), "source": .toOne(to("Person", 1)), "friend": .toOne(to("Person", 3))])
    try filler.add(
      "FriendInfo", 6,
      [
        "ranking": .integer(1), "comment": .string(""), "source": .toOne(to("Person", 2)),
        "friend": .toOne(to("Person", 3)),
      ])
    let metadata = StoreMetadata(
      storeType: "", uuid: try UUID(uuidString: "0F7D2C1A-6A31-4D0B-8E57-F21E2D1F0A11").orThrow("uuid"),
      lastReference: 6,
      model: model.description)
    return StoreSnapshot(nodes: try filler.builder.finish(), metadata: metadata)
  }

  struct Missing: Error { var what: String }
}

extension Optional {
  func orThrow(_ what: String) throws -> Wrapped {
    guard let self else { throw SampleStores.Missing(what: what) }
    return self
  }
}
