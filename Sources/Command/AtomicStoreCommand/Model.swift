import ArgumentParser
import AtomicStoreKit
import BuiltInStoreFormats
import CommandSupport
import FoundationEssentials
import ModelFiles

struct Model: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "model",
    abstract: "Print, draw, check and compare models, convert them, and write classes for them.",
    subcommands: [Show.self, Diagram.self, Lint.self, Diff.self, Convert.self, WriteSwift.self])

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Print a model: from a model file of any kind, or the one that a store carries.",
      discussion: """
          atomicstore model show Company.xcdatamodeld
          atomicstore model show Company.xml --hashes
        """)
    @Argument(help: "The model file, or a store; - for standard input.") var path: String
    @Option(help: "The version, if the file has several.") var version: String?
    @Flag(help: "Print the version hashes, by which Core Data identifies the model, instead of the model.") var hashes =
      false
    @OptionGroup(title: "Common options") var common: CommonOptions

    func run() throws {
      try guarded(common) {
        if !hashes, let text = try mappingModel() { return try Diagnostics.put(text) }
        let source = try ModelSource.read(path, version: version, allowsInvalid: hashes, json: common.json)
        for warning in source.warnings + source.problems { Diagnostics.say("atomicstore: \(path): \(warning)") }
        if hashes { return try Diagnostics.put(try hashes(of: source)) }
        guard let model = source.model else { return }
        try Diagnostics.put(common.json ? Self.json(model).text + "\n" : Self.text(model))
      }
    }

    /// The text of a mapping model, which is not a model; nil for everything else.
    private func mappingModel() throws -> String? {
      guard let mapping = try MappingModel.read(at: try Input.path(for: path)) else { return nil }
      guard !common.json else {
        throw CommandFailure("a mapping model can only be printed as text", exitCode: 64, json: true)
      }
      return mapping.text
    }

    private func hashes(of source: ModelSource) throws -> String {
      guard let hashes = source.hashes else {
        throw CommandFailure(
          "\(path): the store has neither a model nor version hashes", exitCode: 65, json: common.json)
      }
      let unverified = hashes.entries.map {
        source.isWhole ? source.model?.entity(named: $0.entityName)?.unverifiedVersionHashRules ?? [] : []
      }
      if common.json {
        let list = zip(hashes.entries, unverified).map { entry, rules -> JSONValue in
          .object([
            ("entity", .string(entry.entityName)), ("hash", .string(VersionHashes.hexadecimal(entry.hash))),
            ("notVerified", .array(rules.map { .string($0) })),
          ])
        }
        return JSONValue.object([
          ("isComputed", .boolean(source.isWhole)), ("entities", .array(list)), ("digest", .string(hashes.digest)),
          ("checksum", .string(hashes.checksum)),
        ]).text + "\n"
      }
      var text = ""
      for (entry, rules) in zip(hashes.entries, unverified) {
        text += "\(VersionHashes.hexadecimal(entry.hash))  \(entry.entityName)"
        text += rules.isEmpty ? "\n" : "  (not verified: \(rules.joined(separator: "; ")))\n"
      }
      return text + "digest    \(hashes.digest)\nchecksum  \(hashes.checksum)\n"
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
            text +=
              "  \(relationship.name) \(relationship.isToMany ? "->>" : "->") \(relationship.destinationEntityName)"
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
              ("default", attribute.defaultValue.map { $0.json(isDeclared: attribute.type != .undefined) } ?? .null),
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
          ("isAbstract", .boolean(entity.isAbstract)),
          ("class", entity.managedObjectClassName.map { .string($0) } ?? .null),
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
