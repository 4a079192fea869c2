import AtomicStoreSPI
import Foundation
import ModelFiles
import StoreCodecs
import Testing

@Suite("Models from before Xcode 4")
struct OldModelTests {
  /// A stereotype with its values.
  private static func stereotype(_ builder: ArchiveBuilder, _ name: String, _ values: [(String, PropertyListValue)])
    -> PropertyListValue
  {
    let properties = values.map { key, value in
      builder.object("XDUMLPropertyImp", fields: ["_name": builder.text(key), "_default": value])
    }
    return builder.object(
      "XDUMLStereotypeImp",
      fields: ["_name": builder.text(name), "XDBucketForOwnedAttributesstorage": builder.array(properties)])
  }

  private static func element(
    _ builder: ArchiveBuilder, _ class: String, _ name: String, _ stereotypes: [PropertyListValue],
    _ more: PropertyListDictionary = [:]
  ) -> PropertyListValue {
    var fields = more
    fields["_name"] = builder.text(name)
    fields["XDBucketForStereotypesstorage"] = builder.dictionary(
      stereotypes.enumerated().map { (String($0.offset), $0.element) })
    return builder.object(`class`, fields: fields)
  }

  private static func attribute(
    _ builder: ArchiveBuilder, _ name: String, _ type: Int, _ more: [(String, PropertyListValue)] = []
  ) -> PropertyListValue {
    element(
      builder, "XDPMAttribute", name,
      [
        stereotype(builder, "XD_PPropStereotype", [("XD_PPSK_isOptional", builder.add(.boolean(true)))]),
        stereotype(
          builder, "XD_PAtt_Stereotype", [("XD_PAttK_attributeType", builder.add(.integer(Int128(type))))] + more),
      ])
  }

  private static func entity(
    _ builder: ArchiveBuilder, _ name: String, _ properties: [PropertyListValue], parent: PropertyListValue? = nil
  ) -> PropertyListValue {
    var fields: PropertyListDictionary = ["XDBucketForOwnedAttributesstorage": builder.array(properties)]
    if let parent {
      fields["XDBucketForGeneralizationsstorage"] = builder.array([
        builder.object("XDUMLGeneralizationImp", fields: ["_general": parent])
      ])
    }
    return element(builder, "XDPMEntity", name, [], fields)
  }

  private static func read(_ builder: ArchiveBuilder, _ entities: [PropertyListValue]) throws -> ModelDescription {
    let package = builder.object("XDModelPackage", fields: ["XDBucketForClassesstorage": builder.array(entities)])
    builder.top = ["root": builder.object("XDPMModel", fields: ["_xd_rootPackage": package])]
    return try ModelFile.read(contents: try builder.binary(), name: "elements").description
  }

  @Test("entities, their parents, attributes and their values as text are read")
  func attributes() throws {
    let builder = ArchiveBuilder()
    let base = Self.entity(
      builder, "Base", [Self.attribute(builder, "title", 700, [("XD_PAttK_maxValueString", builder.text("20"))])])
    let leaf = Self.entity(
      builder, "Leaf", [Self.attribute(builder, "count", 200, [("XD_PAttK_defaultValueAsString", builder.text("7"))])],
      parent: base)
    let model = try Self.read(builder, [leaf, base])
    #expect(model.entities.map(\.name) == ["Base"] && model.entities[0].subentities.map(\.name) == ["Leaf"])
    guard case .attribute(let title)? = model.entities[0].properties.first,
      case .attribute(let count)? = model.entities[0].subentities.first?.properties.first
    else { throw ModelFileSupport.Missing(what: "no attribute") }
    #expect(title.type == .string && title.maximumLength == 20 && title.isOptional)
    #expect(count.type == .integer32 && count.defaultValue == .integer(7))
  }

  @Test("the minimum count of a relationship is read as stored, also if it is optional: it is part of the hash")
  func relationships() throws {
    let builder = ArchiveBuilder()
    let owner = builder.reserve()
    let link = Self.element(
      builder, "XDPMRelationship", "next",
      [
        Self.stereotype(builder, "XD_PPropStereotype", [("XD_PPSK_isOptional", builder.add(.boolean(true)))]),
        Self.stereotype(
          builder, "XD_PR_Stereotype",
          [
            ("XD_PRK_destination", owner), ("XD_PRK_minCount", builder.add(1)), ("XD_PRK_maxCount", builder.add(1)),
            ("XD_PRK_deleteRule", builder.add(2)),
          ]),
      ])
    builder.set(
      owner,
      builder.fields(
        ["XDPMEntity"], ["_name": builder.text("Node"), "XDBucketForOwnedAttributesstorage": builder.array([link])]))
    let model = try Self.read(builder, [owner])
    guard case .relationship(let next)? = model.entities.first?.properties.first else {
      throw ModelFileSupport.Missing(what: "no relationship")
    }
    #expect(next.destinationEntityName == "Node" && next.isOptional && next.minimumCount == 1 && next.maximumCount == 1)
    #expect(next.deleteRule == .cascade && !next.isToMany)
    var other = model
    var loose = next
    loose.minimumCount = 0
    other.entities[0].properties = [.relationship(loose)]
    #expect(try ManagedObjectModel(model).versionHashes != ManagedObjectModel(other).versionHashes)
  }

  @Test(
    "a contradiction is an error that names the object or the entity",
    arguments: ["type", "twice", "class", "package", "circle"])
  func damaged(_ damage: String) throws {
    let builder = ArchiveBuilder()
    let attribute = Self.attribute(builder, "a", damage == "type" ? 12_345 : 700)
    let error: PersistentStoreError? = #expect(throws: PersistentStoreError.self) {
      switch damage {
      case "twice": _ = try Self.read(builder, [Self.entity(builder, "E", [attribute, attribute])])
      case "class":
        let other = Self.element(builder, "XDPMSomething", "a", [])
        _ = try Self.read(builder, [Self.entity(builder, "E", [other])])
      case "package":
        builder.top = ["root": builder.object("XDPMModel", fields: [:])]
        _ = try ModelFile.read(contents: try builder.binary(), name: "elements")
      case "circle":
        let own = builder.reserve()
        let general = builder.object("XDUMLGeneralizationImp", fields: ["_general": own])
        builder.set(
          own,
          builder.fields(
            ["XDPMEntity"], ["_name": builder.text("E"), "XDBucketForGeneralizationsstorage": builder.array([general])])
        )
        _ = try Self.read(builder, [own])
      default: _ = try Self.read(builder, [Self.entity(builder, "E", [attribute])])
      }
    }
    let found = try #require(error)
    #expect(found.location.file == "elements", "\(found)")
    switch damage {
    case "type":
      #expect(
        found.message.contains("12345") && found.location.entity == "E" && found.location.property == "a", "\(found)")
    case "twice": #expect(found.code == .malformed && found.message.contains("XDPMAttribute"), "\(found)")
    case "class": #expect(found.message.contains("XDPMSomething") && found.location.entity == "E", "\(found)")
    case "package": #expect(found.message.contains("XDPMModel"), "\(found)")
    default: #expect(found.code == .invalidModel && found.location.entity == "E", "\(found)")
    }
  }
}
