import AtomicStoreSPI
import StoreImporting
import Testing

/// Departments, employees, badges and skills: a relationship of each kind, with columns for both ends.
enum StaffSample {
  /// - Parameter required: Relationships that are not optional, as `Entity.name`.
  static func model(required: Set<String> = []) throws -> ManagedObjectModel {
    func relationship(
      _ owner: String, _ name: String, _ destination: String, _ inverse: String, _ count: Int = 1,
      isOrdered: Bool = false
    ) -> PropertyDescription {
      .relationship(
        RelationshipDescription(
          name: name, destinationEntityName: destination, inverseName: inverse,
          isOptional: !required.contains("\(owner).\(name)"), maximumCount: count, isOrdered: isOrdered))
    }
    func text(_ name: String, _ value: StoredValue? = nil) -> PropertyDescription {
      .attribute(AttributeDescription(name: name, type: .string, defaultValue: value))
    }
    return try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Dept",
          properties: [text("name"), relationship("Dept", "emps", "Emp", "dept", 0, isOrdered: true)]),
        EntityDescription(
          name: "Emp",
          properties: [
            text("name"), text("grade", .string("junior")), relationship("Emp", "dept", "Dept", "emps"),
            relationship("Emp", "badge", "Badge", "emp"), relationship("Emp", "buddy", "Emp", "buddy"),
            relationship("Emp", "skills", "Skill", "emps", 0),
          ]),
        EntityDescription(name: "Badge", properties: [text("name"), relationship("Badge", "emp", "Emp", "badge")]),
        EntityDescription(
          name: "Skill", properties: [text("name"), relationship("Skill", "emps", "Emp", "skills", 0)]),
      ]))
  }

  /// An importer that updates a store by key: departments 1 (employees 2, 1) and 2 (3), badges 1 to 3 of the employees
  /// with the same number, badge 4 without an employee, buddies 1 and 2, and skills 1 (employees 1, 2) and 2 (2).
  static func importer(required: Set<String> = []) throws -> StoreImporter {
    var importer = StoreImporter()
    importer.model = try model()
    let nodes = try importer.read(
      tables([
        "Dept": "id,name,emps\n1,A,2 1\n2,B,3\n",
        "Emp": "id,name,badge,buddy,skills\n1,Ann,1,2,1\n2,Bob,2,1,1 2\n3,Cyd,3,,\n",
        "Badge": "id,name\n1,x\n2,y\n3,z\n4,w\n", "Skill": "id,name\n1,Swift\n2,C\n",
      ])
    ).nodes
    // The model may require what the store does not have.
    importer.existing = try nodes.rebased(on: model(required: required))
    importer.existingObjects = .update
    return importer
  }

  /// Tables by entity, in the order of the entities' names.
  static func tables(_ texts: [String: String]) -> [ImportSource] {
    texts.sorted { $0.key < $1.key }.map { LibrarySample.source($0.value, "\($0.key).csv", entity: $0.key) }
  }
}

extension NodeTable {
  /// The references that a relationship names, in their order.
  func references(_ entity: String, _ reference: Int64, _ property: String) throws -> [Int64] {
    let list: [ObjectReference] =
      switch try value(entity, reference, property) {
      case .toOne(let other): [other]
      case .toMany(let others): others
      default: []
      }
    return list.compactMap { if case .integer(let number) = $0.reference { number } else { nil } }
  }
}
