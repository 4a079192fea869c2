import AtomicStoreSPI
import Testing

@Suite("A model as a property list") struct ModelPropertyListTests {
  @Test("every field is preserved, values to the bit")
  func roundTrip() throws {
    let model = fullDescription()
    let again = try ModelDescription(propertyList: model.propertyList)
    #expect(again == model)
    #expect(again.propertyList == model.propertyList)
  }

  @Test("defaults are not written")
  func compact() throws {
    let model = ModelDescription(entities: [
      EntityDescription(name: "E", properties: [.attribute("a", .string)])
    ])
    let expected: PropertyListValue = [
      "formatVersion": 1, "entities": [["name": "E", "properties": [["name": "a", "type": "String"]]]],
    ]
    #expect(model.propertyList == expected)
  }

  private static func error(_ list: PropertyListValue) -> PersistentStoreError? {
    do {
      _ = try ModelDescription(propertyList: list)
      return nil
    } catch {
      return error
    }
  }

  static let wrong: [(PropertyListValue, PersistentStoreError.Code, String)] = [
    ("text", .malformed, "model is not a dictionary"),
    ([:], .malformed, "model.formatVersion is missing"),
    (["formatVersion": 2], .unsupportedVersion, "format version 2"),
    (["formatVersion": 1, "news": 1], .unsupportedVersion, "news"),
    (["formatVersion": 1, "entities": 5], .malformed, "model.entities is not an array"),
    (["formatVersion": 1, "entities": [[:]]], .malformed, "model.entities[0].name is missing"),
    (
      ["formatVersion": 1, "entities": [["name": "E", "properties": [["name": "a", "type": "Int"]]]]],
      .unsupportedVersion, "model.entities[0].properties[0].type"
    ),
    (
      [
        "formatVersion": 1,
        "entities": [["name": "E", "properties": [["name": "a", "type": "Double", "default": 1]]]],
      ],
      .malformed, "properties[0].default"
    ),
    (
      [
        "formatVersion": 1,
        "entities": [["name": "E", "properties": [["name": "r", "destination": "E", "deleteRule": "Explode"]]]],
      ], .unsupportedVersion, "Explode"
    ),
    (
      ["formatVersion": 1, "entities": [["name": "E", "subentities": [["name": "F", "abstract": "yes"]]]]],
      .malformed, "model.entities[0].subentities[0].abstract"
    ),
  ]

  @Test("an error has the key path", arguments: wrong.indices)
  func refuses(_ index: Int) throws {
    let (list, code, text) = Self.wrong[index]
    let error = try #require(Self.error(list))
    #expect(error.code == code)
    #expect(error.message.contains(text), "\(error)")
  }

  @Test("sub-entities are read up to the maximum depth, deeper ones are refused", arguments: [100, 101])
  func depth(_ depth: Int) throws {
    var entity = EntityDescription(name: "E\(depth)")
    for level in (0..<depth).reversed() { entity = EntityDescription(name: "E\(level)", subentities: [entity]) }
    let model = ModelDescription(entities: [entity])
    if depth < 101 {
      #expect(try ModelDescription(propertyList: model.propertyList) == model)
      #expect(try ManagedObjectModel(model).entityCount == depth + 1)
    } else {
      #expect(Self.error(model.propertyList)?.code == .limitExceeded)
      #expect(throws: InvalidModelError.self) { try ManagedObjectModel(model) }
    }
  }

  @Test("the first key that is not read is named, however many keys there are", arguments: [1, 63, 64, 65, 130])
  func unknownKeys(_ count: Int) throws {
    var entity: PropertyListDictionary = ["name": "E", "properties": [["name": "a", "type": "String"]]]
    for number in 0..<count { entity["unknown\(1000 + number)"] = true }
    let error = try #require(Self.error(["formatVersion": 1, "entities": [.dictionary(entity)]]))
    #expect(error.code == .unsupportedVersion)
    #expect(error.message == "model.entities[0] has a key that is unknown to this version: unknown1000")
  }

  @Test("an error deep in a model has the path of each level")
  func deepPath() throws {
    let property: PropertyListValue = ["name": "a", "type": "String", "required": 1]
    let list: PropertyListValue = [
      "formatVersion": 1,
      "entities": [
        ["name": "E"],
        ["name": "F", "subentities": [["name": "G", "properties": [["name": "b", "type": "Date"], property]]]],
      ],
    ]
    let error = try #require(Self.error(list))
    #expect(error.message == "model.entities[1].subentities[0].properties[1].required is not a boolean")
  }
}
