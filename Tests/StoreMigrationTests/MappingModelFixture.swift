import AtomicStoreSPI
import Foundation
import StoreCodecs
import StorePredicates
import Testing

@testable import ModelFiles

/// Writes mapping models as Xcode does: the source form with what was entered, and the compiled form.
struct MappingModelFixture {
  struct Unarchivable: Error {
    var text: String
  }
  enum Form: String, CaseIterable { case source, compiled }
  enum Value {
    /// What Xcode generates.
    case generated
    case expression(String)
    /// A key path, and the name of an entity mapping.
    case path(String, by: String?)
  }
  struct Property {
    var name: String
    var isRelationship = false
    var value = Value.generated

    static func attribute(_ name: String, _ text: String? = nil) -> Property {
      Property(name: name, value: text.map { .expression($0) } ?? .generated)
    }
    static func relationship(_ name: String, _ text: String? = nil) -> Property {
      Property(name: name, isRelationship: true, value: text.map { .expression($0) } ?? .generated)
    }
    static func relationship(_ name: String, path: String, by mapping: String? = nil) -> Property {
      Property(name: name, isRelationship: true, value: .path(path, by: mapping))
    }
  }
  struct Mapping {
    var name: String?
    var source: String?
    var destination: String?
    var filter: String?
    var policy: String?
    var userInfo: [String: String] = [:]
    var properties: [Property] = []
  }

  var source: ManagedObjectModel
  var destination: ManagedObjectModel
  var mappings: [Mapping]

  /// Writes the mapping model into a directory, and returns its path.
  func write(_ form: Form, in directory: String, named name: String = "Mapping") throws -> String {
    let path = "\(directory)/\(name).xcmappingmodel"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try Data(try xml().utf8).write(to: URL(filePath: path + "/xcmapping.xml"))
    guard form == .compiled else { return path }
    let model = try #require(try MappingModel.read(at: path))
    try FileManager.default.removeItem(atPath: path)
    try Data(try Self.compiled(model)).write(to: URL(filePath: "\(directory)/\(name).cdm"))
    return "\(directory)/\(name).cdm"
  }

  // MARK: Source

  private func xml() throws -> String {
    func attribute(_ name: String, _ value: String?) -> String {
      guard let value else { return "" }
      let escaped = value.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
      return "<attribute name=\"\(name)\" type=\"string\">\(escaped)</attribute>"
    }
    func object(_ kind: String, _ id: String, _ content: String) -> String {
      "<object type=\"\(kind)\" id=\"\(id)\">\(content)</object>\n"
    }
    func embedded(_ model: ManagedObjectModel) throws -> String {
      Data(try ModelFile.contents(of: model.description)).base64EncodedString()
    }
    var text = "<?xml version=\"1.0\"?>\n<database><databaseInfo><version>134481920</version></databaseInfo>\n"
    text += object(
      "XDDEVMAPPINGMODEL", "z1",
      attribute("sourcemodeldata", try embedded(source))
        + attribute("destinationmodeldata", try embedded(destination)))
    for (number, mapping) in mappings.enumerated() {
      let id = "z\(number + 2)"
      var content = attribute("name", mapping.name) + attribute("sourcename", mapping.source)
      content += attribute("destinationname", mapping.destination) + attribute("mappingtypename", "Undefined")
      content += attribute("mappingnumber", "\(number + 1)") + attribute("autogenerateexpression", "1")
      content += attribute("sourcefilterpredicatestring", mapping.filter)
      content += attribute("migrationpolicyclassname", mapping.policy)
      if !mapping.userInfo.isEmpty {
        var archive = KeyedArchiveBuilder()
        let tree = archive.tree(Self.list(mapping.userInfo))
        content += attribute("userinfodata", try Self.base64(archive.finish(["root": tree])))
      }
      content += "<relationship name=\"mappingmodel\" destination=\"XDDEVMAPPINGMODEL\" idrefs=\"z1\"></relationship>"
      text += object("XDDEVENTITYMAPPING", id, content)
      for (place, property) in mapping.properties.enumerated() {
        var content = attribute("name", property.name)
        if property.isRelationship { content += attribute("autogenerateexpression", "1") }
        switch property.value {
        case .generated: break
        case .expression(let text): content += attribute("valueexpressiondata", try Self.archived(text))
        case .path(let path, let mapping):
          content += attribute("sourcekeypath", path) + attribute("sourcemappingname", mapping)
        }
        content += "<relationship name=\"entitymapping\" destination=\"XDDEVENTITYMAPPING\" idrefs=\"\(id)\"/>"
        let kind = property.isRelationship ? "XDDEVRELATIONSHIPMAPPING" : "XDDEVATTRIBUTEMAPPING"
        text += object(kind, "\(id)\(place + 100)", content)
      }
    }
    return text + "</database>\n"
  }

  private static func list(_ texts: [String: String]) -> PropertyListValue {
    var entries = PropertyListDictionary()
    for (key, value) in texts { entries[key] = .string(value) }
    return .dictionary(entries)
  }

  private static func base64(_ archive: PropertyListValue) throws -> String {
    Data(try PropertyList.encodeBinary(archive)).base64EncodedString()
  }

  private static func archived(_ text: String) throws -> String {
    var archiver = PredicateArchiver()
    guard let root = archiver.expression(try FetchExpression(format: text)) else { throw Unarchivable(text: text) }
    return try base64(archiver.archive.finish(["root": root]))
  }

  // MARK: Compiled

  private static func compiled(_ model: MappingModel) throws -> [UInt8] {
    var archiver = PredicateArchiver()
    func object(_ fields: PropertyListDictionary, _ name: String) -> PropertyListValue {
      archiver.archive.object(fields, class: [name, "NSObject"])
    }
    func text(_ value: String?) -> PropertyListValue {
      value.map { archiver.archive.text($0) } ?? KeyedArchiveBuilder.nothing
    }
    func expression(_ text: String?) throws -> PropertyListValue {
      guard let text else { return KeyedArchiveBuilder.nothing }
      let expression = try FetchExpression(format: text)
      func archived(_ part: FetchExpression) throws -> PropertyListValue {
        guard let reference = archiver.expression(part) else { throw Unarchivable(text: part.description) }
        return reference
      }
      guard case .fetch(let parts) = expression else { return try archived(expression) }
      let request = try archived(parts[0])
      let context = try archived(parts[1])
      return object(
        ["NSFRExpression": request, "NSMOCExpression": context, "NSCountOnlyFlag": false, "NSExpressionType": 50],
        "NSFetchRequestExpression")
    }
    let kinds = ["custom": 1, "add": 2, "remove": 3, "copy": 4, "transform": 5]
    var mappings: [PropertyListValue] = []
    for mapping in model.entityMappings {
      func properties(_ areRelationships: Bool) throws -> PropertyListValue {
        var list: [PropertyListValue] = []
        for property in mapping.properties where property.isRelationship == areRelationships {
          let fields: PropertyListDictionary = [
            "NSDestinationPropertyName": text(property.name), "NSValueExpression": try expression(property.expression),
          ]
          list.append(object(fields, "NSPropertyMapping"))
        }
        return archiver.archive.array(list)
      }
      func hash(_ entry: VersionHashes.Entry?) -> PropertyListValue {
        entry.map { archiver.archive.add(.data($0.hash)) } ?? KeyedArchiveBuilder.nothing
      }
      var fields: PropertyListDictionary = [
        "NSMappingName": text(mapping.name), "NSMappingType": .integer(Int128(kinds[mapping.kind] ?? 0)),
        "NSSourceEntityName": text(mapping.sourceEntityName),
        "NSDestinationEntityName": text(mapping.destinationEntityName),
      ]
      fields["NSSourceEntityVersionHash"] = hash(mapping.sourceHash)
      fields["NSDestinationEntityVersionHash"] = hash(mapping.destinationHash)
      fields["NSSourceExpression"] = try expression(mapping.sourceExpression)
      fields["NSEntityMigrationPolicyClassName"] = text(mapping.policyClassName)
      fields["NSUserInfo"] = archiver.archive.tree(Self.list(mapping.userInfo))
      fields["NSAttributeMappings"] = try properties(false)
      fields["NSRelationshipMappings"] = try properties(true)
      mappings.append(object(fields, "NSEntityMapping"))
    }
    let root = object(["NSEntityMappings": archiver.archive.array(mappings)], "NSMappingModel")
    return try PropertyList.encodeBinary(archiver.archive.finish(["root": root]))
  }
}
