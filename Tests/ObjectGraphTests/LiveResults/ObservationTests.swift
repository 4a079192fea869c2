import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Observation
import Testing

@Suite("Observation of properties") struct ObservationTests {
  private final class Flag: @unchecked Sendable {
    // Set by the one thread of its test.
    nonisolated(unsafe) var count = 0
  }

  private final class Named: ManagedObject {
    @Managed("name") var name: String
    @Managed("department") var department: ManagedObject?
  }

  /// How often `onChange` was called by the change, of 1 at most.
  private func fires(_ read: () -> Void, when change: () throws -> Void) rethrows -> Bool {
    let flag = Flag()
    withObservationTracking(read) { flag.count += 1 }
    try change()
    #expect(flag.count < 2)
    return flag.count == 1
  }

  private func saved(_ classes: [String: ManagedObject.Type] = [:]) throws -> (stack: Stack, ada: ManagedObject) {
    let stack = try Stack(classes: classes)
    let ada = try stack.insert("Person", ["name": "Ada", "age": 36])
    try stack.context.save()
    return (stack, ada)
  }

  @Test("a change of the property that was read fires, and one of another does not")
  func change() throws {
    let (stack, ada) = try saved()
    let ben = try stack.insert("Person", ["name": "Ben"])
    #expect(
      try fires {
        _ = ada["name"]
      } when: {
        try ada.setValue("Eve", forKey: "name")
      })
    #expect(
      try !fires {
        _ = ada["name"]
      } when: {
        try ada.setValue(1, forKey: "age")
      })
    #expect(
      try !fires {
        _ = ada["name"]
      } when: {
        try ben.setValue("Bob", forKey: "name")
      })
    #expect(
      try !fires {
        _ = ada["name"]
      } when: {
        try ada.setValue("Eve", forKey: "name")
      })
  }

  @Test("a typed property fires, at both ends of a relationship")
  func typed() throws {
    let (stack, ada) = try saved(["Person": Named.self])
    let person = try #require(ada as? Named)
    let dev = try stack.insert("Department", ["name": "Dev"])
    #expect(
      fires {
        _ = person.name
      } when: {
        person.name = "Eve"
      })
    #expect(
      fires {
        _ = dev["employees"]
      } when: {
        person.department = dev
      })
    #expect(
      fires {
        _ = person.department
      } when: {
        dev["employees"] = Set<ManagedObject>()
      })
    #expect(
      try fires {
        _ = try? dev.count(forRelationshipNamed: "employees")
      } when: {
        try dev.add(ada, to: "employees")
      })
  }

  @Test("undo, redo, rollback and refresh fire")
  func withoutSetting() throws {
    let (stack, ada) = try saved()
    stack.context.undoManager = UndoHistory()
    try ada.setValue("Eve", forKey: "name")
    #expect(
      fires {
        _ = ada["name"]
      } when: {
        stack.context.undo()
      })
    #expect(
      fires {
        _ = ada["name"]
      } when: {
        stack.context.redo()
      })
    #expect(
      fires {
        _ = ada["name"]
      } when: {
        stack.context.rollback()
      })
    try ada.setValue("Eve", forKey: "name")
    #expect(
      fires {
        _ = ada["name"]
      } when: {
        stack.context.refresh(ada, mergeChanges: false)
      })
    #expect(ada["name"] as? String == "Ada")
  }

  @Test("a merge fires for the properties that another context changed, and for no others")
  func merge() throws {
    let (stack, ada) = try saved()
    for key in ["name", "age"] {
      let other = ManagedObjectContext(stack.coordinator)
      try other.existingObject(with: ada.objectID).setValue("Eve, \(key)", forKey: "name")
      let didFire = try fires {
        _ = ada[key]
      } when: {
        try other.save()
        stack.context.mergeChanges(fromDidSave: ObjectIDChanges(updated: [ada.objectID]))
      }
      #expect(didFire == (key == "name"))
    }
  }

  @Test("a save does not fire, a deletion that is saved does")
  func saving() throws {
    let (stack, ada) = try saved()
    try ada.setValue("Eve", forKey: "name")
    #expect(
      try !fires {
        _ = ada["name"]
      } when: {
        try stack.context.save()
      })
    #expect(
      try fires {
        _ = ada["name"]
      } when: {
        stack.context.delete(ada)
        try stack.context.save()
      })
  }

  @Test("a change of a composite's part fires for the composite, and the other way round")
  func composite() throws {
    let (stack, ada) = try saved()
    defer { withExtendedLifetime(stack) {} }
    #expect(
      try fires {
        _ = ada["address"]
      } when: {
        try ada.setValue("Bern", forKey: "address.city")
      })
    #expect(
      try fires {
        _ = ada["address.city"]
      } when: {
        try ada.setValue(nil, forKey: "address")
      })
  }

  @Test("a child context's object fires when its parent's values are taken over")
  func child() throws {
    let (stack, ada) = try saved()
    let child = ManagedObjectContext(parent: stack.context)
    let mine = child.object(with: ada.objectID)
    let didFire = try fires {
      _ = mine["name"]
    } when: {
      try ada.setValue("Eve", forKey: "name")
      child.refresh(mine, mergeChanges: true)
    }
    #expect(didFire)
    #expect(mine["name"] as? String == "Eve")
  }

  @Test("in a child context a refresh to null fires, one without a change and a save do not")
  func childOfNull() throws {
    let (stack, ada) = try saved()
    let child = ManagedObjectContext(parent: stack.context)
    let mine = child.object(with: ada.objectID)
    #expect(
      try fires {
        _ = mine["name"]
      } when: {
        try ada.setValue(nil, forKey: "name")
        child.refresh(mine, mergeChanges: true)
      })
    #expect(
      !fires {
        _ = mine["name"]
      } when: {
        child.refresh(mine, mergeChanges: true)
      })
    try mine.setValue("Eve", forKey: "name")
    #expect(
      try !fires {
        _ = mine["name"]
      } when: {
        try child.save()
      })
  }

  @Test("a context that is not observable does not fire")
  func notObservable() throws {
    let (stack, ada) = try saved()
    stack.context.isObservable = false
    #expect(
      try !fires {
        _ = ada["name"]
      } when: {
        try ada.setValue("Eve", forKey: "name")
      })
  }

  @Test("reading inside a predicate is not observed")
  func predicates() throws {
    let (stack, ada) = try saved()
    let request = FetchRequest<ManagedObject>(
      entityName: "Person", predicate: try FetchPredicate(format: "name == 'Ada'"))
    #expect(
      try !fires {
        _ = try? stack.context.fetch(request)
      } when: {
        try ada.setValue("Eve", forKey: "name")
      })
  }
}
