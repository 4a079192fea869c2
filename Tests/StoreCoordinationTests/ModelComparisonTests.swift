import Foundation
import StoreCoordination
import Testing

/// A small change of a model, and where the comparison must find it.
struct ModelPlant: Sendable, CustomTestStringConvertible {
  var path: String
  var change: @Sendable (inout ModelDescription) -> Void
  var testDescription: String { path }

  init(_ path: String, _ change: @escaping @Sendable (inout ModelDescription) -> Void) {
    self.path = path
    self.change = change
  }

  static func attribute(_ path: String, _ change: @escaping @Sendable (inout AttributeDescription) -> Void)
    -> ModelPlant
  {
    ModelPlant("entities.Person.properties.name.\(path)") { model in
      guard case .attribute(var attribute) = model.entities[0].properties[0] else { return }
      change(&attribute)
      model.entities[0].properties[0] = .attribute(attribute)
    }
  }
}

@Suite("Comparing models as data") struct ModelComparisonTests {
  static let model = ModelDescription(
    versionIdentifiers: ["1"],
    entities: [
      EntityDescription(
        name: "Person",
        properties: [
          .attribute(
            AttributeDescription(
              name: "name", type: .double, defaultValue: .double(.nan), minimum: .double(-0.0),
              userInfo: [UserInfoEntry(key: "é", value: "x")]))
        ], fetchIndexes: [FetchIndexDescription(name: "byName", elements: [.init(propertyName: "name")])]),
      EntityDescription(name: "Team"),
    ],
    configurations: [ConfigurationDescription(name: "all", entityNames: ["Person", "Team"])],
    fetchRequestTemplates: [FetchRequestDescription(name: "all", entityName: "Person", fetchLimit: 3)])

  static let plants: [ModelPlant] = [
    ModelPlant("configurations") { $0.configurations = [] },
    ModelPlant("configurations.all.entities") { $0.configurations[0].entityNames.removeLast() },
    ModelPlant("fetchRequests.all") { $0.fetchRequestTemplates[0].fetchLimit = nil },
    ModelPlant("fetchRequests.many") {
      $0.fetchRequestTemplates.append(FetchRequestDescription(name: "many", entityName: "Person"))
    },
    ModelPlant("versionIdentifiers") { $0.versionIdentifiers = [] },
    ModelPlant("entities.Person") { $0.entities[0].fetchIndexes = [] },
    ModelPlant("entities.Team") { $0.entities[1].isAbstract = true },
    ModelPlant("entities.Team") { $0.entities.removeLast() },
    .attribute("") { $0.defaultValue = .double(Double(bitPattern: 0x7FF8_0000_0000_0001)) },
    .attribute("") { $0.defaultValue = nil }, .attribute("") { $0.minimum = .double(0.0) },
    .attribute("") { $0.userInfo[0].key = "e\u{301}" }, .attribute("") { $0.userInfo = [] },
  ]

  @Test("what one model says otherwise is found, either way round", arguments: plants)
  func found(_ plant: ModelPlant) {
    var changed = Self.model
    plant.change(&changed)
    let one = ModelComparison.differences(Self.model, changed)
    let other = ModelComparison.differences(changed, Self.model)
    #expect(one.contains { $0.path.hasPrefix(plant.path) }, "\(one)")
    #expect(one.map(\.old) == other.map(\.new) && one.map(\.new) == other.map(\.old))
  }

  @Test("a model equals itself; the order of what has names counts where that is asked for")
  func order() {
    #expect(ModelComparison.differences(Self.model, Self.model).isEmpty)
    var turned = Self.model
    turned.entities.reverse()
    #expect(ModelComparison.differences(Self.model, turned).map(\.path) == ["entities, order"])
    #expect(ModelComparison.differences(Self.model, turned, comparesOrder: false).isEmpty)
  }

  @Test("stores are compared with their models where both carry one that was not inferred")
  func stores() throws {
    func snapshot(_ model: ModelDescription?) throws -> StoreSnapshot {
      let nodes = NodeTable(model: try ManagedObjectModel(Self.model))
      return StoreSnapshot(
        nodes: nodes,
        metadata: StoreMetadata(
          storeType: "X", uuid: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)), model: model))
    }
    var changed = Self.model
    changed.configurations = []
    func count(_ one: ModelDescription?, _ other: ModelDescription?, _ compares: Bool) throws -> Int {
      GraphComparison.differences(
        try snapshot(one), try snapshot(other), options: .init(comparesModel: compares)
      ).filter { $0.kind == .model }.count
    }
    #expect(try count(Self.model, changed, true) == 1)
    #expect(try count(Self.model, changed, false) == 0)
    #expect(try count(Self.model, nil, true) == 0)
    changed.isInferred = true
    #expect(try count(Self.model, changed, true) == 0)
  }
}
