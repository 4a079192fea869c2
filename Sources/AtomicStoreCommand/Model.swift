import ArgumentParser
import AtomicStoreKit
import BuiltInStoreFormats
import CommandSupport
import Foundation
import ModelFiles

struct Model: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Look at models.", subcommands: [Show.self])

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print a model: of a .xcdatamodeld, .xcdatamodel or contents file, or the one a store carries.")
    @Argument(help: "The model file, or a store; - for standard input.") var path: String
    @OptionGroup var common: CommonOptions

    func run() throws {
      try guarded(common) {
        let input = try Input.path(for: path)
        defer { Input.discard() }
        let (model, warnings) = try load(input)
        for warning in warnings { Talk.say("atomicstore: \(path): \(warning)") }
        try Talk.put(common.json ? Self.json(model).text + "\n" : Self.text(model))
      }
    }

    private func load(_ path: String) throws -> (ManagedObjectModel, [String]) {
      // A store describes itself; everything else is for the model reader, which names what it cannot read.
      if let place = try? StorePlace.inspect(path), place.holdsContent, let probe = try? place.probe(),
        (try? Tool.registry.recognize(probe)) != nil
      {
        let coordinator = PersistentStoreCoordinator(registry: Tool.registry)
        let store = try readingTwice { try coordinator.addPersistentStore(at: path, isReadOnly: true) }
        return (store.model, [])
      }
      let file = try ModelFile.read(at: path)
      do {
        return (try ManagedObjectModel(file.description), file.warnings.map { "\($0)" })
      } catch {
        throw CommandFailure(
          "\(path): " + error.errors.map { "\($0)" }.joined(separator: "\n\(path): "), exitCode: 65,
          json: common.json)
      }
    }

    private static func flags(_ pairs: [(Bool, String)]) -> String {
      let set = pairs.filter(\.0).map(\.1)
      return set.isEmpty ? "" : " (" + set.joined(separator: ", ") + ")"
    }

    static func text(_ model: ManagedObjectModel) -> String {
      var text = ""
      let versions = model.description.versionIdentifiers.filter { !$0.isEmpty }
      if !versions.isEmpty { text += "version \(versions.joined(separator: ", "))\n" }
      for entity in model.entities {
        text += "\(entity.name)"
        if let parent = entity.superentity { text += ": \(parent.name)" }
        text += flags([(entity.isAbstract, "abstract")]) + "\n"
        for property in entity.declaration.properties {
          switch property {
          case .attribute(let attribute):
            var type = attribute.type.modelName
            if case .composite(let name) = attribute.type { type = name }
            text += "  \(attribute.name): \(type)"
            if let value = attribute.defaultValue { text += " = \(GraphComparison.text(value))" }
            text += flags([
              (!attribute.isOptional, "required"), (attribute.isTransient, "transient"),
              (attribute.derivationExpression != nil, "derived from \(attribute.derivationExpression ?? "")"),
            ])
          case .relationship(let relationship):
            text += "  \(relationship.name) \(relationship.isToMany ? "->>" : "->") \(relationship.destinationEntityName)"
            if let inverse = relationship.inverseName { text += ".\(inverse)" }
            text += flags([
              (!relationship.isOptional, "required"), (relationship.isOrdered, "ordered"),
              (relationship.deleteRule != .nullify, relationship.deleteRule.rawValue.lowercased()),
            ])
          case .fetchedProperty(let fetched):
            text += "  \(fetched.name) := \(fetched.fetchRequest.entityName)"
            if let predicate = fetched.fetchRequest.predicateString { text += " where \(predicate)" }
          }
          text += "\n"
        }
      }
      for configuration in model.description.configurations {
        text += "configuration \(configuration.name): \(configuration.entityNames.joined(separator: ", "))\n"
      }
      for request in model.description.fetchRequestTemplates {
        text += "fetch \(request.name): \(request.entityName)"
        if let predicate = request.predicateString { text += " where \(predicate)" }
        text += "\n"
      }
      for warning in model.warnings { text += "warning: \(warning)\n" }
      return text
    }

    static func json(_ model: ManagedObjectModel) -> JSONValue {
      let entities = model.entities.map { entity -> JSONValue in
        let properties = entity.declaration.properties.map { property -> JSONValue in
          switch property {
          case .attribute(let attribute):
            return .object([
              ("name", .string(attribute.name)), ("kind", .string("attribute")),
              ("type", .string(attribute.type.modelName)), ("isOptional", .boolean(attribute.isOptional)),
              ("isTransient", .boolean(attribute.isTransient)),
              ("default", attribute.defaultValue.map { .string(GraphComparison.text($0)) } ?? .null),
              ("derivation", attribute.derivationExpression.map { .string($0) } ?? .null),
            ])
          case .relationship(let relationship):
            return .object([
              ("name", .string(relationship.name)), ("kind", .string("relationship")),
              ("destination", .string(relationship.destinationEntityName)),
              ("inverse", relationship.inverseName.map { .string($0) } ?? .null),
              ("minimumCount", .integer(relationship.minimumCount)),
              ("maximumCount", .integer(relationship.maximumCount)), ("isToMany", .boolean(relationship.isToMany)),
              ("isOrdered", .boolean(relationship.isOrdered)), ("isOptional", .boolean(relationship.isOptional)),
              ("deleteRule", .string(relationship.deleteRule.rawValue)),
            ])
          case .fetchedProperty(let fetched):
            return .object([
              ("name", .string(fetched.name)), ("kind", .string("fetchedProperty")),
              ("entity", .string(fetched.fetchRequest.entityName)),
              ("predicate", fetched.fetchRequest.predicateString.map { .string($0) } ?? .null),
            ])
          }
        }
        return .object([
          ("name", .string(entity.name)), ("superentity", entity.superentity.map { .string($0.name) } ?? .null),
          ("isAbstract", .boolean(entity.isAbstract)), ("class", entity.managedObjectClassName.map { .string($0) } ?? .null),
          ("properties", .array(properties)),
        ])
      }
      return .object([
        ("versionIdentifiers", .array(model.description.versionIdentifiers.map { .string($0) })),
        ("entities", .array(entities)),
        (
          "configurations",
          .object(
            model.description.configurations.map { ($0.name, .array($0.entityNames.map { .string($0) })) })
        ),
        (
          "fetchRequests",
          .array(
            model.description.fetchRequestTemplates.map {
              .object([
                ("name", .string($0.name)), ("entity", .string($0.entityName)),
                ("predicate", $0.predicateString.map { .string($0) } ?? .null),
              ])
            })
        ),
        ("warnings", .array(model.warnings.map { .string("\($0)") })),
      ])
    }
  }
}
