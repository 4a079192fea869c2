import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Inverses within an entity hierarchy") struct FamilyInverseTests {
  static let description = ModelDescription(entities: [
    EntityDescription(
      name: "Department",
      properties: [
        // It does not name an inverse, though a relationship names it.
        .toOne("guide", "Person"),
        // It leads to an entity below the one that takes it for its inverse.
        .toOne("boss", "Manager", inverse: "heads"),
      ]),
    EntityDescription(
      name: "Person", properties: [.attribute("name", .string)],
      subentities: [
        EntityDescription(
          name: "Employee",
          properties: [
            .toOne("guides", "Department", inverse: "guide"),
            .toOne("heads", "Department", inverse: "boss"),
          ], subentities: [EntityDescription(name: "Manager")])
      ]),
  ])

  @Test("a relationship that names an inverse which does not name it is one-way")
  func oneWay() throws {
    let stack = try Stack("XML", model: try ManagedObjectModel(Self.description))
    let sales = try stack.insert("Department")
    let pat = try stack.insert("Person", ["name": "Pat"])
    let eve = try stack.insert("Employee", ["name": "Eve"])
    try sales.setValue(pat, forKey: "guide")
    try eve.setValue(sales, forKey: "guides")
    #expect(sales["guide"] as? ManagedObject === pat)
    try stack.context.save()
    try sales.setValue(eve, forKey: "guide")
    try sales.setValue(nil, forKey: "guide")
    #expect(eve["guides"] as? ManagedObject === sales)
    try stack.context.save()
    stack.context.delete(sales)
    stack.context.processPendingChanges()
    #expect(eve["guides"] as? ManagedObject === sales && !eve.hasChanges)
  }

  @Test("an inverse belongs to the relationship that it names: another relationship that names it changes nothing")
  func taken() throws {
    // As a published model has it, which Xcode builds with a warning.
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Artist",
          properties: [
            .toOne("thumbnail", "Image", inverse: "thumbnail")
          ]),
        EntityDescription(
          name: "Image",
          properties: [
            .toOne("artist", "Artist", inverse: "thumbnail"),
            .toOne("thumbnail", "Artist", inverse: "thumbnail"),
          ]),
      ]))
    #expect(
      model.warnings.map(\.description) == [
        "Image.artist: the inverse of Artist.thumbnail is Image.thumbnail: this relationship is one-way"
      ])
    let stack = try Stack("XML", model: model)
    let artist = try stack.insert("Artist")
    let image = try stack.insert("Image")
    try image.setValue(artist, forKey: "artist")
    #expect(artist["thumbnail"] == nil && image["thumbnail"] == nil)
    try artist.setValue(image, forKey: "thumbnail")
    #expect(image["thumbnail"] as? ManagedObject === artist)
    try artist.setValue(nil, forKey: "thumbnail")
    #expect(image["thumbnail"] == nil && image["artist"] as? ManagedObject === artist)
    // What the model says is kept: it is part of the version hash, and is written back.
    let slots = try #require(model.entity(named: "Image")).slots
    #expect(slots.map(\.name) == ["artist", "thumbnail"])
    #expect(slots.map { $0.relationship?.inverseName } == ["thumbnail", "thumbnail"])
    #expect(slots.map(\.inverseSlot) == [nil, 0])
    try stack.context.save()
  }

  @Test("an object that the inverse cannot lead to is refused, and neither end changes")
  func below() throws {
    let stack = try Stack("XML", model: try ManagedObjectModel(Self.description))
    let sales = try stack.insert("Department")
    let eve = try stack.insert("Employee", ["name": "Eve"])
    let max = try stack.insert("Manager", ["name": "Max"])
    let error = try #require(graphError { try eve.setValue(sales, forKey: "heads") })
    #expect(error.code == .invalidValue)
    #expect(error.message.contains("Manager"))
    #expect(sales["boss"] == nil && eve["heads"] == nil)
    try max.setValue(sales, forKey: "heads")
    #expect(sales["boss"] as? ManagedObject === max)
    try stack.context.save()
  }
}
