import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import IClassObjects
import Testing

@Suite("iClass: what the classes are needed for") struct IClassClaimTests {
  let folder: SchoolFolder
  init() throws { folder = try SchoolFolder() }

  /// The stores of a school with or without its classes.
  func coordinator(public isPublicToo: Bool = true, classes: Bool) throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(IClassModel.first), registry: .builtIn)
    if classes {
      coordinator.setManagedObjectClass(Student.self, forEntityName: "Student")
      coordinator.setManagedObjectClass(Teacher.self, forEntityName: "Teacher")
      coordinator.setManagedObjectClass(Course.self, forEntityName: "Course")
    }
    try coordinator.addPersistentStore(
      configurationName: "private", at: folder.path + "/People." + SchoolFolder.files.people)
    if isPublicToo {
      try coordinator.addPersistentStore(
        configurationName: "public", at: folder.path + "/Courses." + SchoolFolder.files.courses)
    }
    return coordinator
  }

  func first(_ entity: String, in context: ManagedObjectContext) throws -> ManagedObject {
    try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: entity)).first)
  }

  @Test("people and the generator are in the private configuration, courses in the public one")
  func configurations() throws {
    let model = try ManagedObjectModel(IClassModel.first)
    #expect(
      model.entities(forConfiguration: "private")?.map(\.name).sorted() == [
        "IDGenerator", "Person", "Student", "Teacher",
      ])
    #expect(model.entities(forConfiguration: "public")?.map(\.name) == ["Course"])
  }

  @Test("relationships between the stores are transient; what they lead to is in attributes that are stored")
  func transientRelationships() throws {
    let model = try ManagedObjectModel(IClassModel.first)
    for (entity, key, attribute) in [
      ("Student", "courses", "courseURIs"), ("Course", "students", "studentURIs"), ("Course", "teacher", "teacherURI"),
    ] {
      let entity = try #require(model.entity(named: entity))
      #expect(entity.relationshipsByName[key]?.isTransient == true)
      #expect(entity.slot(named: key) == nil)
      #expect(entity.slot(named: attribute) != nil)
    }
    #expect(model.entity(named: "Teacher")?.relationshipsByName["courses"] == nil)
  }

  @Test("without the course's clean-up a deleted teacher stays named: there is no inverse to tell the course")
  func noIntegrity() throws {
    let teacherURI: String
    do {
      let school = try School(folder: folder.path, registry: .builtIn, files: SchoolFolder.files)
      let turing = try school.hireTeacher(named: "Turing")
      let logic = school.addCourse(titled: "Logic")
      turing.signUpToTeach(logic)
      school.endEvent()
      teacherURI = turing.objectID.uriRepresentation
    }
    let context = ManagedObjectContext(try coordinator(classes: false))
    let course = try first("Course", in: context)
    #expect(course["teacherURI"].map { "\($0)" } == teacherURI)
    context.delete(try first("Teacher", in: context))
    context.processPendingChanges()
    #expect(!course.hasChanges)
    try context.save()
    #expect(course["teacherURI"].map { "\($0)" } == teacherURI)
  }

  @Test("without its public store the first variant has students, but none of their courses")
  func needsBothStores() throws {
    do {
      let school = try School(folder: folder.path, registry: .builtIn, files: SchoolFolder.files)
      let ada = try school.enrollStudent(named: "Ada")
      ada.courses = [school.addCourse(titled: "Logic")]
      school.endEvent()
      #expect(school.saveErrors.isEmpty)
    }
    let context = ManagedObjectContext(try coordinator(public: false, classes: true))
    let ada = try #require(try first("Student", in: context) as? Student)
    #expect(ada.name == "Ada")
    #expect(ada.courses.isEmpty)
    #expect((ada["courseURIs"] as? String)?.isEmpty == false)
  }

  @Test("what an insert in another context saved is in the main context as soon as it is fetched there")
  func loadedIntoMain() throws {
    let school = try School(
      folder: folder.path, registry: .builtIn, files: SchoolFolder.files, savesAfterEveryChange: false)
    let inserting = ManagedObjectContext(school.coordinator)
    let course = Course(context: inserting)
    course.title = "Logic"
    try inserting.save()
    let here = try #require(try school.courses().first)
    #expect(here !== course)
    #expect(here.objectID == course.objectID)
    #expect(!school.context.hasChanges)
  }
}
