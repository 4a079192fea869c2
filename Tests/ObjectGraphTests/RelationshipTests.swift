import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

/// Whether the objects of a test are new, saved, or faults when their relationships are changed.
enum EndState: String, CaseIterable, CustomTestStringConvertible {
  case pending, saved, faulted
  var testDescription: String { rawValue }

  func bring(_ stack: Stack, _ objects: [ManagedObject]) throws {
    if self == .pending { return }
    try stack.context.save()
    guard self == .faulted else { return }
    for object in objects { stack.context.refresh(object, mergeChanges: false) }
  }
}

@Suite("Relationships update both ends") struct RelationshipTests {
  @Test(
    "setting an employee's department updates both departments' employees", arguments: EndState.allCases
  )
  func transfer(_ state: EndState) throws {
    let stack = try Stack()
    let sales = try stack.insert("Department", ["name": "Sales"])
    let lab = try stack.insert("Department", ["name": "Lab"])
    let ada = try stack.insert("Employee", ["name": "Ada", "department": sales])
    try state.bring(stack, [sales, lab, ada])
    try ada.setValue(lab, forKey: "department")
    #expect(try names(sales, "employees") == [])
    #expect(try names(lab, "employees") == ["Ada"])
    try stack.context.save()
    let other = try stack.reopened()
    #expect(try names(try #require(try other.first("Department", "Lab")), "employees") == ["Ada"])
    #expect(try names(try #require(try other.first("Department", "Sales")), "employees") == [])
  }

  @Test("adding an employee to a department has the same net effect", arguments: EndState.allCases)
  func transferByAdding(_ state: EndState) throws {
    let stack = try Stack()
    let sales = try stack.insert("Department", ["name": "Sales"])
    let lab = try stack.insert("Department", ["name": "Lab"])
    let ada = try stack.insert("Employee", ["name": "Ada", "department": sales])
    try state.bring(stack, [sales, lab, ada])
    try lab.add(ada, to: "employees")
    #expect(ada["department"] as? ManagedObject === lab)
    #expect(try names(sales, "employees") == [])
    try lab.remove(ada, from: "employees")
    #expect(ada["department"] == nil)
    #expect(try lab.count(forRelationshipNamed: "employees") == 0)
  }

  @Test(
    "assigning a set of employees removes them from their old department and releases the others",
    arguments: EndState.allCases)
  func assignSet(_ state: EndState) throws {
    let stack = try Stack()
    let sales = try stack.insert("Department", ["name": "Sales"])
    let lab = try stack.insert("Department", ["name": "Lab"])
    let people = try ["A", "B", "C"].map { try stack.insert("Person", ["name": $0, "department": sales]) }
    let dan = try stack.insert("Person", ["name": "D", "department": lab])
    try state.bring(stack, people + [sales, lab, dan])
    try lab.setValue(Set(people.prefix(2)), forKey: "employees")
    #expect(try sorted(lab, "employees") == ["A", "B"])
    #expect(try sorted(sales, "employees") == ["C"])
    #expect(people[0]["department"] as? ManagedObject === lab)
    #expect(dan["department"] == nil)
    try stack.context.save()
    let other = try stack.reopened()
    #expect(try sorted(try #require(try other.first("Department", "Lab")), "employees") == ["A", "B"])
    #expect(try other.first("Person", "D")?["department"] == nil)
  }

  @Test("in a one-to-one the partners that either end had are released", arguments: EndState.allCases)
  func oneToOne(_ state: EndState) throws {
    let stack = try Stack()
    let one = try stack.insert("Badge", ["number": 1])
    let two = try stack.insert("Badge", ["number": 2])
    let ada = try stack.insert("Person", ["name": "Ada", "badge": one])
    let bob = try stack.insert("Person", ["name": "Bob", "badge": two])
    try state.bring(stack, [one, two, ada, bob])
    try ada.setValue(two, forKey: "badge")
    #expect(two["owner"] as? ManagedObject === ada)
    #expect(one["owner"] == nil)
    #expect(bob["badge"] == nil)
    try stack.context.save()
    let other = try stack.reopened()
    let badges = try other.fetch("Badge").sorted { ($0["number"] as? Int ?? 0) < ($1["number"] as? Int ?? 0) }
    #expect(badges.map { ($0["owner"] as? ManagedObject)?["name"] as? String } == [nil, "Ada"])
  }

  @Test("a to-one that is its own inverse: marrying releases both former spouses", arguments: EndState.allCases)
  func spouse(_ state: EndState) throws {
    let stack = try Stack()
    let people = try ["A", "B", "C", "D"].map { try stack.insert("Person", ["name": $0]) }
    try people[0].setValue(people[1], forKey: "spouse")
    try people[2].setValue(people[3], forKey: "spouse")
    try state.bring(stack, people)
    try people[0].setValue(people[2], forKey: "spouse")
    func spouses() -> [String?] { people.map { ($0["spouse"] as? ManagedObject)?["name"] as? String } }
    #expect(spouses() == ["C", nil, "A", nil])
    try people[2].setValue(nil, forKey: "spouse")
    #expect(spouses() == [nil, nil, nil, nil])
  }

  @Test("an object may be its own spouse and its own cousin, and be released from itself")
  func ownPartner() throws {
    let stack = try Stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    let bob = try stack.insert("Person", ["name": "Bob"])
    try ada.setValue(ada, forKey: "spouse")
    try ada.add(ada, to: "cousins")
    try stack.context.save()
    #expect(ada["spouse"] as? ManagedObject === ada)
    #expect(try names(ada, "cousins") == ["Ada"])
    try ada.setValue(bob, forKey: "spouse")
    try ada.remove(ada, from: "cousins")
    #expect(bob["spouse"] as? ManagedObject === ada)
    #expect(try ada.count(forRelationshipNamed: "cousins") == 0)
    try bob.setValue(bob, forKey: "spouse")
    #expect(ada["spouse"] == nil)
  }

  @Test("a to-many that is its own inverse: you are your cousin's cousin", arguments: EndState.allCases)
  func cousins(_ state: EndState) throws {
    let stack = try Stack()
    let people = try ["A", "B", "C"].map { try stack.insert("Person", ["name": $0]) }
    try people[0].setValue(Set(people.dropFirst()), forKey: "cousins")
    try state.bring(stack, people)
    #expect(try people.map { try sorted($0, "cousins") } == [["B", "C"], ["A"], ["A"]])
    try people[1].remove(people[0], from: "cousins")
    #expect(try people.map { try sorted($0, "cousins") } == [["C"], [], ["A"]])
    try stack.context.save()
    let other = try stack.reopened()
    #expect(try sorted(try #require(try other.first("Person", "A")), "cousins") == ["C"])
    #expect(try sorted(try #require(try other.first("Person", "C")), "cousins") == ["A"])
  }

  @Test("a reflexive many-to-many: managers and direct reports mirror each other", arguments: EndState.allCases)
  func reflexive(_ state: EndState) throws {
    let stack = try Stack()
    let people = try ["A", "B", "C"].map { try stack.insert("Employee", ["name": $0]) }
    try people[0].add(people[1], to: "reports")
    try people[2].add(people[0], to: "managers")
    try state.bring(stack, people)
    try people[2].add(people[1], to: "managers")
    #expect(try people.map { try sorted($0, "reports") } == [["B", "C"], ["C"], []])
    #expect(try people.map { try sorted($0, "managers") } == [[], ["A"], ["A", "B"]])
    try people[0].setValue([people[2]], forKey: "reports")
    #expect(try people.map { try sorted($0, "managers") } == [[], [], ["A", "B"]])
  }

  @Test("objects of sub-entities keep their entity in a super-entity's relationship", arguments: Stack.types)
  func subentities(_ type: String) throws {
    let stack = try Stack(type)
    // The department is written before the people it names, and names them by their super-entity.
    let sales = try stack.insert("Department", ["name": "Sales"])
    for (entity, name) in [("Person", "P"), ("Employee", "E"), ("Manager", "M")] {
      try sales.add(try stack.insert(entity, ["name": name]), to: "employees")
    }
    try stack.context.save()
    let other = try stack.reopened()
    let again = try #require(try other.first("Department", "Sales"))
    let found = try again.objects(forRelationshipNamed: "employees").sorted { $0.entity.name < $1.entity.name }
    #expect(found.map(\.entity.name) == ["Employee", "Manager", "Person"])
    #expect(found.allSatisfy { $0["department"] as? ManagedObject === again })
  }
}
