import AtomicStoreSPI
import Foundation
import ModelFiles
import Testing

@Suite("Values in model files") struct ModelValueTests {
  static let defaults: [(String, String, StoredValue)] = [
    ("Boolean", "YES", .boolean(true)), ("Boolean", "NO", .boolean(false)), ("Boolean", "0", .boolean(false)),
    ("Boolean", "0.0", .boolean(false)), ("Boolean", "1", .boolean(true)), ("Integer 16", "-32768", .integer(-32768)),
    ("Integer 32", "0.0", .integer(0)), ("Integer 64", "NO", .integer(0)), ("Integer 64", "YES", .integer(1)),
    ("Integer 64", "9223372036854775807", .integer(.max)), ("Double", "0", .double(0)), ("Double", "-0.0", .double(-0.0)),
    ("Float", "0.1", .float(0.1)), ("Decimal", "1.50", .decimal(DecimalNumber(mantissa: 150, exponent: -2))),
    ("Decimal", "0.0", .decimal(DecimalNumber(mantissa: 0, exponent: -1))), ("String", "", .string("")),
    ("String", "NO", .string("NO")), ("String", "a&#10;b &gt; &quot;", .string("a\nb > \"")),
    ("URI", "http://a b", .uri("http://a b")),
    ("Date", "2013-04-23 12:00:00 +0000", .date(Date(timeIntervalSinceReferenceDate: 388_411_200))),
  ]

  @Test("a default is read as its type says, in all spellings that real files have", arguments: defaults.indices)
  func defaultValue(_ index: Int) throws {
    let (type, text, value) = Self.defaults[index]
    let (read, warnings) = try readAttribute("attributeType=\"\(type)\" defaultValueString=\"\(text)\"")
    let attribute = try #require(read)
    #expect(attribute.defaultValue == value)
    #expect(attribute.extras == [])
    #expect(warnings == [])
  }

  @Test("a UUID is read")
  func uuid() throws {
    let text = "A70E1C5D-3B42-4F10-9C66-000000000001"
    #expect(try readAttribute("attributeType=\"UUID\" defaultValueString=\"\(text)\"").0?.defaultValue == UUID(uuidString: text).map { .uuid($0) })
  }

  @Test(
    "a default that its type cannot have stays as it stands, with a warning on its line",
    arguments: [
      ("UUID", "empy"), ("Integer 16", "32768"), ("Integer 32", "0.5"), ("Integer 64", "abc"), ("Boolean", "maybe"),
      ("Date", "NO"), ("Date", "2010-01-01 01:00:00"), ("Double", ""), ("Binary", "AA=="), ("Transformable", "x"),
    ])
  func keptDefault(_ type: String, _ text: String) throws {
    let (read, warnings) = try readAttribute("attributeType=\"\(type)\" defaultValueString=\"\(text)\"")
    let attribute = try #require(read)
    #expect(attribute.defaultValue == nil)
    #expect(attribute.extras == [.attribute(name: "defaultValueString", value: text)])
    #expect(warnings.count == 1 && warnings.first?.line == 4, "\(warnings)")
    #expect(warnings.first?.text.contains("E.a") == true)
  }

  @Test("a date's interval counts, and the older text beside it is kept without a word")
  func dates() throws {
    let (read, warnings) = try readAttribute(
      "attributeType=\"Date\" minDateTimeInterval=\"0\" minValueString=\"12/4/2013\" maxDateTimeInterval=\"602395200.5\" "
        + "defaultDateTimeInterval=\"-1\"")
    let attribute = try #require(read)
    #expect(attribute.minimum == .date(Date(timeIntervalSinceReferenceDate: 0)))
    #expect(attribute.maximum == .date(Date(timeIntervalSinceReferenceDate: 602395200.5)))
    #expect(attribute.defaultValue == .date(Date(timeIntervalSinceReferenceDate: -1)))
    #expect(attribute.extras == [.attribute(name: "minValueString", value: "12/4/2013")])
    #expect(warnings == [])
  }

  @Test("bounds are values for numbers, lengths for strings")
  func bounds() throws {
    let number = try #require(try readAttribute("attributeType=\"Double\" minValueString=\"-4.5\" maxValueString=\"20\"").0)
    #expect(number.minimum == .double(-4.5) && number.maximum == .double(20) && number.minimumLength == nil)
    let string = try #require(try readAttribute("attributeType=\"String\" minValueString=\"3\" maxValueString=\"20\"").0)
    #expect(string.minimumLength == 3 && string.maximumLength == 20 && string.minimum == nil)
    let (odd, warnings) = try readAttribute("attributeType=\"String\" maxValueString=\"long\"")
    #expect(odd?.maximumLength == nil && odd?.extras == [.attribute(name: "maxValueString", value: "long")])
    #expect(warnings.count == 1)
  }

  @Test("an attribute without a type is undefined, one of an unknown type is an error with its place")
  func types() throws {
    #expect(try readAttribute("transient=\"YES\"").0?.type == .undefined)
    let error = try #require(throws: PersistentStoreError.self) { try readAttribute("attributeType=\"Vector\"") }
    #expect(error.code == .invalidModel)
    #expect(error.location.line == 4 && error.location.entity == "E" && error.location.property == "a")
    #expect(error.message.contains("Vector"))
  }

  @Test("a flag is YES or NO, in any dress that files have, and nothing else")
  func flags() throws {
    for text in ["YES", "true", "1"] { #expect(try readAttribute("optional=\"\(text)\"").0?.isOptional == true) }
    for text in ["NO", "false", "0"] { #expect(try readAttribute("optional=\"\(text)\"").0?.isOptional == false) }
    #expect(try readAttribute("").0?.isOptional == false)
    #expect(throws: PersistentStoreError.self) { try readAttribute("optional=\"perhaps\"") }
  }

  static let cardinalities: [(String, Int, Int, Int)] = [
    ("maxCount=\"1\"", 0, 1, 0), ("minCount=\"1\" maxCount=\"1\"", 1, 1, 0), ("", 0, 1, 0),
    ("toMany=\"YES\"", 0, 0, 0), ("toMany=\"YES\" maxCount=\"-1\"", 0, 0, 0),
    ("toMany=\"YES\" minCount=\"3\" maxCount=\"20\"", 3, 20, 0), ("toMany=\"YES\" maxCount=\"1\"", 0, 1, 1),
    ("maxCount=\"0\"", 0, 0, 1), ("toMany=\"YES\" minCount=\"-5\"", 0, 0, 0),
  ]

  @Test("counts make a to-one or a to-many; where the mark says otherwise there is a warning", arguments: cardinalities.indices)
  func counts(_ index: Int) throws {
    let (text, least, most, warningCount) = Self.cardinalities[index]
    let (read, warnings) = try readRelationship(text)
    let relationship = try #require(read)
    #expect(relationship.minimumCount == least && relationship.maximumCount == most)
    #expect(warnings.count == warningCount)
  }

  @Test("a delete rule is read, misspelt too; an unknown one is an error")
  func deleteRules() throws {
    for rule in DeleteRule.allCases {
      #expect(try readRelationship("deletionRule=\"\(rule.rawValue)\"").0?.deleteRule == rule)
    }
    let (misspelt, warnings) = try readRelationship("deleteRule=\"Cascade\"")
    #expect(misspelt?.deleteRule == .cascade && misspelt?.extras == [] && warnings.count == 1)
    #expect(try readRelationship("").0?.deleteRule == .nullify)
    #expect(throws: PersistentStoreError.self) { try readRelationship("deletionRule=\"Explode\"") }
    #expect(throws: PersistentStoreError.self) { try readRelationship("maxCount=\"many\"") }
  }

  @Test("the inverse's entity is kept only where it is not the destination")
  func inverseEntity() throws {
    #expect(try readRelationship("inverseName=\"r\" inverseEntity=\"E\"").0?.extras == [])
    let (odd, warnings) = try readRelationship("inverseName=\"r\" inverseEntity=\"F\"")
    #expect(odd?.extras == [.attribute(name: "inverseEntity", value: "F")] && warnings.count == 1)
  }
}
