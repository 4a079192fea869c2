import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import IClassObjects
import ModelFiles
import Testing

/// A folder for one test.
final class SchoolFolder {
  /// `ATOMICSTORE_TEST_EXTENSION=sqlgraph` has the tests use stores of that type.
  static let files =
    ProcessInfo.processInfo.environment["ATOMICSTORE_TEST_EXTENSION"].map { SchoolFiles(people: $0, courses: $0) }
    ?? SchoolFiles()
  let path: String
  init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("iclass-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }
  deinit { try? FileManager.default.removeItem(atPath: path) }
}

@Suite("iClass: relationships that travel across store boundaries") struct IClassTests {
  let folder: SchoolFolder
  init() throws { folder = try SchoolFolder() }
  func school(savesAfterEveryChange: Bool = true) throws -> School {
    try School(
      folder: folder.path, registry: .builtIn, files: SchoolFolder.files, savesAfterEveryChange: savesAfterEveryChange)
  }

  @Test("entities go to the store of their configuration")
  func configurations() throws {
    let school = try school()
    let ada = try school.enrollStudent(named: "Ada")
    let logic = school.addCourse(titled: "Logic")
    #expect(school.saveErrors.isEmpty)
    #expect(ada.objectID.storeIdentifier == school.privateStore.identifier)
    #expect(logic.objectID.storeIdentifier == school.publicStore.identifier)
    #expect(school.privateStore.path.hasSuffix("People." + SchoolFolder.files.people))
    #expect(school.publicStore.path.hasSuffix("Courses." + SchoolFolder.files.courses))
  }

  @Test("every change is saved by a call that is put off until its notice has ended")
  func savesAfterEveryChange() throws {
    let school = try school()
    var refusal: (any Error)?
    let observation = school.context.observe { event in
      guard case .objectsDidChange = event else { return }
      do { try school.context.save() } catch { refusal = error }
    }
    let ada = try school.enrollStudent(named: "Ada")
    #expect((refusal as? ManagedObjectError)?.code == .persistentStoreOperation)
    #expect(!ada.objectID.isTemporaryID)
    #expect(school.saveCount >= 1)
    #expect(!school.context.hasChanges)
    observation.cancel()
  }

  @Test("students and courses: the transient relationship is kept at both ends, and comes back from stored URIs")
  func studentsAndCourses() throws {
    do {
      let school = try school()
      let ada = try school.enrollStudent(named: "Ada")
      let bob = try school.enrollStudent(named: "Bob")
      let logic = school.addCourse(titled: "Logic")
      let art = school.addCourse(titled: "Art")
      ada.courses = [logic, art]
      bob.courses = [logic]
      #expect(logic.students == [ada, bob])
      school.endEvent()
      ada.courses = [logic]
      school.endEvent()
      #expect(art.students.isEmpty)
      #expect(school.saveErrors.isEmpty)
    }
    let again = try school()
    let courses = try again.courses()
    let logic = try #require(courses.first { $0.title == "Logic" })
    #expect(Set(logic.students.map(\.name)) == ["Ada", "Bob"])
    #expect(try #require(courses.first { $0.title == "Art" }).students.isEmpty)
    #expect(try #require(again.students().first { $0.name == "Ada" }).courses == [logic])
    #expect(!again.context.hasChanges)
  }

  @Test("teachers find their courses by a fetched property, refetched when they sign up and resign")
  func teachersAndCourses() throws {
    let school = try school()
    let turing = try school.hireTeacher(named: "Turing")
    let logic = school.addCourse(titled: "Logic")
    #expect(turing.courses.isEmpty)
    turing.signUpToTeach(logic)
    #expect(turing.courses == [logic])
    school.endEvent()
    #expect(logic.teacherURI == turing.objectID.uriRepresentation)
    turing.resignFromTeaching(logic)
    #expect(turing.courses.isEmpty)
    school.endEvent()
    #expect(logic.teacher == nil)
    #expect(logic.teacherURI == nil)
    turing.signUpToTeach(logic)
    school.endEvent()
    let again = try self.school()
    let found = try #require(again.teachers().first)
    #expect(found.courses.map(\.title) == ["Logic"])
    #expect(try #require(again.courses().first).teacher === found)
  }

  @Test("a course cleans up when its teacher is deleted, since no inverse does it")
  func deletedTeacher() throws {
    let school = try school()
    let turing = try school.hireTeacher(named: "Turing")
    let logic = school.addCourse(titled: "Logic")
    turing.signUpToTeach(logic)
    school.endEvent()
    school.context.delete(turing)
    school.endEvent()
    #expect(logic.teacher == nil)
    #expect(logic.teacherURI == nil)
    #expect(school.saveErrors.isEmpty)
    #expect(try self.school().courses().first?.teacherURI == nil)
  }

  @Test("numbers are handed out by a method: a save does not ask for another")
  func idGenerator() throws {
    let school = try school()
    let ada = try school.enrollStudent(named: "Ada")
    let bob = try school.enrollStudent(named: "Bob")
    #expect(ada.personID == 1)
    #expect(bob.personID == 2)
    try school.context.save()
    let again = try self.school()
    let cyd = try again.enrollStudent(named: "Cyd")
    #expect(cyd.personID == 3)
  }

  /// The generator as the sample warns against: a property whose validation asks for the next number.
  final class CountingProperty: ManagedObject {
    override func validate(_ value: inout Any?, forKey key: String) throws {
      if key == "mostRecentID", let number = value as? Int { value = number + 1 }
    }
  }

  @Test("as a property the number would be asked for by validation for ever; the save gives up and says who it was")
  func generatorAsProperty() throws {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(IClassModel.first), registry: .builtIn)
    coordinator.setManagedObjectClass(CountingProperty.self, forEntityName: "IDGenerator")
    try coordinator.addPersistentStore(
      configurationName: "private", at: folder.path + "/Endless." + SchoolFolder.files.people)
    let context = ManagedObjectContext(coordinator)
    _ = try context.insertNewObject(forEntityName: "IDGenerator")
    do throws(ManagedObjectError) {
      try context.save()
      Issue.record("the save should have given up")
    } catch {
      #expect(error.code == .endlessChanges)
      #expect(error.message.contains("IDGenerator"))
    }
    #expect(context.hasChanges)
  }

  @Test("a relationship to an object that has no permanent ID yet cannot be stored")
  func temporaryURI() throws {
    let school = try school(savesAfterEveryChange: false)
    let turing = Teacher(context: school.context)
    turing.name = "Turing"
    let logic = Course(context: school.context)
    logic.title = "Logic"
    turing.signUpToTeach(logic)
    do throws(ManagedObjectError) {
      try school.context.save()
      Issue.record("a temporary URI was stored")
    } catch {
      #expect(error.code == .validationInvalidURI)
      #expect(error.key == "teacherURI")
    }
    try school.context.obtainPermanentIDs(for: [turing])
    turing.signUpToTeach(logic)
    try school.context.save()
    #expect(logic.teacherURI == turing.objectID.uriRepresentation)
  }

  // MARK: Saving only when objects are inserted

  /// Saves a context when an event inserted something, and otherwise not.
  func savingOnInserts(_ school: School) -> Observation {
    school.context.observe { event in
      guard case .objectsDidChange(let changes) = event, !changes.inserted.isEmpty else { return }
      school.context.perform { school.save() }
    }
  }

  @Test(
    "saving on inserts alone: modify A, insert B is saved whole; insert B, modify A loses the modification",
    arguments: [true, false])
  func orders(_ modifiesFirst: Bool) throws {
    do {
      let school = try school(savesAfterEveryChange: false)
      let ada = try school.enrollStudent(named: "Ada")
      school.save()
      let observation = savingOnInserts(school)
      if modifiesFirst {
        ada.name = "Ada Lovelace"
        _ = school.addCourse(titled: "Logic")
      } else {
        _ = school.addCourse(titled: "Logic")
        ada.name = "Ada Lovelace"
        school.endEvent()
      }
      observation.cancel()
      // The application ends here without saving.
    }
    let again = try school()
    #expect(try again.courses().count == 1)
    #expect(try again.students().first?.name == (modifiesFirst ? "Ada Lovelace" : "Ada"))
  }

  @Test("inserts in a separate context save nothing else, in either order", arguments: [true, false])
  func separateContext(_ modifiesFirst: Bool) throws {
    do {
      let school = try school(savesAfterEveryChange: false)
      let ada = try school.enrollStudent(named: "Ada")
      school.save()
      if modifiesFirst { ada.name = "Ada Lovelace" }
      let inserting = ManagedObjectContext(school.coordinator)
      let course = Course(context: inserting)
      course.title = "Logic"
      try inserting.save()
      let here = school.context.object(with: course.objectID)
      #expect(here["title"] as? String == "Logic")
      if !modifiesFirst { ada.name = "Ada Lovelace" }
      #expect(school.context.hasChanges)
    }
    let again = try school()
    #expect(try again.courses().count == 1)
    #expect(try again.students().first?.name == "Ada")
  }

  // MARK: Proxies

  @Test("with proxies one store works while the other is not mounted, and is repaired when it comes back")
  func proxies() throws {
    let school = try ProxySchool(folder: folder.path, registry: .builtIn, files: SchoolFolder.files)
    try school.mountPrivateStore()
    try school.mountPublicStore()
    let ada = ProxiedStudent(context: school.context)
    ada.name = "Ada"
    let bob = ProxiedStudent(context: school.context)
    bob.name = "Bob"
    let turing = ProxiedTeacher(context: school.context)
    turing.name = "Turing"
    let logic = ProxiedCourse(context: school.context)
    logic.title = "Logic"
    try school.enroll(ada, in: logic)
    try school.context.save()
    #expect(logic.studentProxies.map(\.name) == ["Ada"])
    #expect(logic.studentProxies.first?.person === ada)

    try school.unmountPublicStore()
    let proxy = try #require(school.courseProxies().first)
    #expect(proxy.course == nil)
    #expect(proxy.title == "Logic")
    try school.enroll(bob, in: proxy)
    try school.withdraw(ada, from: proxy)
    try school.assign(turing, to: proxy)
    try school.context.save()

    try school.mountPublicStore()
    let course = try #require(school.courses().first)
    #expect(proxy.course === course)
    #expect(course.studentProxies.map(\.name) == ["Ada"])
    #expect(try school.repair() > 0)
    try school.context.save()
    #expect(course.studentProxies.map(\.name) == ["Bob"])
    #expect(course.teacherProxy?.name == "Turing")
    #expect(try school.personProxies().count == 2)
    #expect(try school.repair() == 0)
  }

  @Test("proxies of objects that were deleted while their store was away are cleaned up")
  func deletedBehindProxies() throws {
    do {
      let school = try ProxySchool(folder: folder.path, registry: .builtIn, files: SchoolFolder.files)
      try school.mountPrivateStore()
      try school.mountPublicStore()
      let ada = ProxiedStudent(context: school.context)
      ada.name = "Ada"
      for title in ["Logic", "Art"] {
        let course = ProxiedCourse(context: school.context)
        course.title = title
        try school.enroll(ada, in: course)
      }
      try school.context.save()
    }
    do {
      let school = try ProxySchool(folder: folder.path, registry: .builtIn, files: SchoolFolder.files)
      try school.mountPublicStore()
      school.context.delete(try #require(school.courses().first { $0.title == "Art" }))
      try school.context.save()
    }
    let school = try ProxySchool(folder: folder.path, registry: .builtIn, files: SchoolFolder.files)
    try school.mountPrivateStore()
    try school.mountPublicStore()
    #expect(try school.courseProxies().count == 2)
    try school.repair()
    try school.context.save()
    #expect(try school.courseProxies().map(\.title) == ["Logic"])
    #expect(try school.students().first?.courseProxies.count == 1)
  }

  // MARK: The models as files

  static let modelFolder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("iClass.xcdatamodeld").path

  @Test("the models in code are those in the shipped files", arguments: [("iClass", true), ("iClassV2", false)])
  func modelFiles(_ name: String, _ isFirst: Bool) throws {
    let model = isFirst ? IClassModel.first : IClassModel.second
    let path = Self.modelFolder + "/\(name).xcdatamodel"
    if ProcessInfo.processInfo.environment["ATOMICSTORE_REGENERATE"] == "1" {
      try ModelFile.write(model, to: path, overwrite: true)
    }
    let file = try ModelFile.read(at: path)
    #expect(try ManagedObjectModel(file.description).differences(from: model).isEmpty)
  }
}
