import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Observation
import TestSupport
import Testing

private enum Level: Int16, AttributeValue {
  case low = 1
  case high = 2
  static var atomicStoreValueForNull: Level { .low }
}

private class Sample: ManagedObject {
  @Managed("text") var text: String
  @Managed("text") var optionalText: String?
  @Managed("number") var number: Int
  @Managed("number") var narrowNumber: Int16?
  @Managed("small") var small: Int16
  @Managed("small") var level: Level
  @Managed("small") var optionalLevel: Level?
  @Managed("ratio") var ratio: Double
  @Managed("ratio") var ratioAsDate: Date?
  @Managed("part") var part: Float
  @Managed("part") var wholePart: Double?
  @Managed("day") var day: Date?
  @Managed("day") var dayAsNumber: Double?
  @Managed("flag") var flag: Bool?
  @Managed("link") var link: URL?
  @Managed("link") var linkText: String?
  @Managed("other") var other: Sample?
}

private final class SpecialSample: Sample {
  @Managed("extra") var extra: Int32
}

private let sampleModel = ModelDescription(entities: [
  EntityDescription(
    name: "Sample",
    properties: [
      .attribute("text", .string), .attribute("number", .integer64), .attribute("small", .integer16),
      .attribute("ratio", .double), .attribute("part", .float), .attribute("day", .date), .attribute("flag", .boolean),
      .attribute("link", .uri), .toOne("other", "Sample"),
    ],
    subentities: [EntityDescription(name: "SpecialSample", properties: [.attribute("extra", .integer32)])])
])

/// What an object should have, besides the object.
private struct Expected: Equatable {
  var text: String?
  var number: Int?
  var small: Int16?
  var ratio: Double?
  var part: Float?
  var day: Date?
  var flag: Bool?
  var link: String?

  static func random(_ generator: inout some RandomNumberGenerator) -> Expected {
    func maybe<Value>(_ value: Value) -> Value? { Bool.random(using: &generator) ? value : nil }
    return Expected(
      text: maybe(String(repeating: "é", count: Int.random(in: 0...20, using: &generator))),
      number: maybe([Int.min, -1, 0, 7, 40_000, .max].randomElement(using: &generator) ?? 0),
      small: maybe(Int16.random(in: 1...2, using: &generator)),
      ratio: maybe([-0.5, 0, 1e300].randomElement(using: &generator) ?? 0),
      part: maybe([-0.5, 0, 2.25].randomElement(using: &generator) ?? 0),
      day: maybe(Date(timeIntervalSinceReferenceDate: Double(Int.random(in: -9...9, using: &generator)))),
      flag: maybe(Bool.random(using: &generator)), link: maybe("https://example.org/a"))
  }

  func set(_ sample: Sample) throws {
    try sample.setValue(text, forKey: "text")
    try sample.setValue(number, forKey: "number")
    try sample.setValue(small.map { Int($0) }, forKey: "small")
    try sample.setValue(ratio, forKey: "ratio")
    try sample.setValue(part, forKey: "part")
    try sample.setValue(day, forKey: "day")
    try sample.setValue(flag, forKey: "flag")
    try sample.setValue(link, forKey: "link")
  }

  func check(_ sample: Sample, _ when: String) {
    #expect(sample.text == text ?? "", "\(when)")
    #expect(sample.optionalText == text, "\(when)")
    #expect(sample.number == number ?? 0, "\(when)")
    #expect(sample.narrowNumber == number.flatMap { Int16(exactly: $0) }, "\(when)")
    #expect(sample.small == small ?? 0, "\(when)")
    #expect(sample.level == small.flatMap { Level(rawValue: $0) } ?? .low, "\(when)")
    #expect(sample.optionalLevel == small.flatMap { Level(rawValue: $0) }, "\(when)")
    #expect(sample.ratio == ratio ?? 0, "\(when)")
    #expect(sample.ratioAsDate == nil, "\(when)")
    #expect(sample.part == part ?? 0, "\(when)")
    #expect(sample.wholePart == part.map { Double($0) }, "\(when)")
    #expect(sample.day == day, "\(when)")
    #expect(sample.dayAsNumber == nil, "\(when)")
    #expect(sample.flag == flag, "\(when)")
    #expect(sample.link == link.flatMap { URL(string: $0) }, "\(when)")
    #expect(sample.linkText == link, "\(when)")
    #expect(sample["text"] as? String == text, "\(when)")
    #expect(sample["number"] as? Int == number, "\(when)")
    #expect(sample["ratio"] as? Double == ratio, "\(when)")
    #expect(sample["flag"] as? Bool == flag, "\(when)")
    #expect(sample["day"] as? Date == day, "\(when)")
  }
}

@Suite("Reads of typed properties") struct TypedReadTests {
  private func stack(_ type: String, _ folder: TestFolder? = nil) throws -> Stack {
    try Stack(
      type, model: try ManagedObjectModel(sampleModel), folder: folder,
      classes: ["Sample": Sample.self, "SpecialSample": SpecialSample.self])
  }

  @Test(
    "an attribute reads as what was set, in whichever state its object is",
    arguments: ["InMemory"] + Stack.types, [1, 2, 3] as [UInt64])
  func states(_ type: String, _ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let stack = try stack(type)
    var pairs: [(sample: Sample, expected: Expected)] = []
    for index in 0..<20 {
      let sample = index % 3 == 0 ? SpecialSample(context: stack.context) : Sample(context: stack.context)
      let expected = Expected.random(&generator)
      try expected.set(sample)
      (sample as? SpecialSample)?.extra = Int32(index)
      pairs.append((sample, expected))
    }
    func check(_ when: String) {
      for (sample, expected) in pairs { expected.check(sample, when) }
      for (index, pair) in pairs.enumerated() {
        if let special = pair.sample as? SpecialSample { #expect(special.extra == Int32(index), "\(when)") }
      }
    }
    check("new")
    try stack.context.save()
    check("saved")
    for pair in pairs { stack.context.refresh(pair.sample, mergeChanges: false) }
    check("a fault that fires")
    for index in pairs.indices where index % 2 == 0 {
      pairs[index].expected = .random(&generator)
      try pairs[index].expected.set(pairs[index].sample)
    }
    check("changed")
    let child = ManagedObjectContext(parent: stack.context)
    for (sample, expected) in pairs {
      let mine = try #require(try child.existingObject(with: sample.objectID) as? Sample)
      expected.check(mine, "in a child context")
    }
    try stack.context.save()
    check("saved again")
    let other = ManagedObjectContext(stack.coordinator)
    for (sample, expected) in pairs {
      expected.check(try #require(other.object(with: sample.objectID) as? Sample), "in another context")
    }
  }

  @Test("values that another context saved are read after they are merged, and not before")
  func versions() throws {
    let stack = try stack("InMemory")
    let sample = Sample(context: stack.context)
    sample.number = 1
    try stack.context.save()
    #expect(sample.number == 1)
    let other = ManagedObjectContext(stack.coordinator)
    let same = try #require(try other.existingObject(with: sample.objectID) as? Sample)
    same.number = 2
    try other.save()
    #expect(sample.number == 1)
    stack.context.refresh(sample, mergeChanges: true)
    #expect(sample.number == 2)
  }

  @Test("a property that the entity does not have reads as null and is an error, again at each read")
  func unknownProperty() throws {
    final class Wrong: ManagedObject { @Managed("numbr") var number: Int }
    let stack = try Stack(
      model: try ManagedObjectModel(sampleModel), classes: ["Sample": Wrong.self])
    let wrong = Wrong(context: stack.context)
    for _ in 0..<2 {
      stack.context.discardAccessErrors()
      #expect(wrong.number == 0)
      #expect(wrong.accessError?.code == .undefinedKey)
    }
  }

  @Test("one literal names different properties of different entities")
  func sameLiteral() throws {
    class Shared: ManagedObject { @Managed("value") var value: Int }
    final class First: Shared {}
    final class Second: Shared {}
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "First", properties: [.attribute("value", .integer64), .attribute("a", .integer64)]),
        EntityDescription(name: "Second", properties: [.attribute("a", .integer64), .attribute("value", .integer64)]),
      ]))
    let stack = try Stack(model: model, classes: ["First": First.self, "Second": Second.self])
    let (first, second) = (First(context: stack.context), Second(context: stack.context))
    (first.value, second.value) = (1, 2)
    try first.setValue(3, forKey: "a")
    try second.setValue(4, forKey: "a")
    try stack.context.save()
    for _ in 0..<3 {
      #expect(first.value == 1)
      #expect(second.value == 2)
    }
  }

  @Test("a direct read is observed as any other")
  func observed() throws {
    let stack = try stack("InMemory")
    let sample = Sample(context: stack.context)
    sample.number = 1
    try stack.context.save()
    final class Calls: @unchecked Sendable { var count = 0 }
    // Read and written on this thread only: Observation calls back where the change is made.
    let calls = Calls()
    withObservationTracking {
      #expect(sample.number == 1)
    } onChange: {
      calls.count += 1
    }
    sample.number = 1
    #expect(calls.count == 0)
    sample.number = 2
    #expect(calls.count == 1)
    #expect(sample.number == 2)
  }

  @Test("a path over to-one relationships reads as one step after the other")
  func paths() throws {
    let stack = try stack("InMemory")
    let (one, two) = (Sample(context: stack.context), Sample(context: stack.context))
    (two.text, two.number) = ("two", 2)
    one.other = two
    for when in ["new", "saved"] {
      #expect(try one.value(forKeyPath: "other.text") as? String == "two", "\(when)")
      #expect(try one.value(forKeyPath: "other") as? Sample === two, "\(when)")
      #expect(try one.value(forKeyPath: "other.other.text") == nil, "\(when)")
      #expect(try one.value(forKeyPath: "other.other.nothing") == nil, "\(when)")
      #expect(throws: ManagedObjectError.self) { try one.value(forKeyPath: "other.nothing") }
      #expect(throws: ManagedObjectError.self) { try one.value(forKeyPath: "other.number.text") }
      try stack.context.save()
    }
  }
}
