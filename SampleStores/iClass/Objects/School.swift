public import AtomicStoreKit
public import AtomicStoreSPI

/// The file name extensions of a school's stores.
public struct SchoolFiles: Sendable {
  /// Of the private store.
  public var people: String
  /// Of the public store.
  public var courses: String
  /// By default an XML store and a CSV store.
  public init(people: String = "xml", courses: String = "csvstore") {
    self.people = people
    self.courses = courses
  }
}

/// The application: a private XML store for people, a public CSV store for courses, one context over both.
///
/// Relationships across stores are made of permanent IDs, so the context is saved after every change. `save()` is
/// refused inside the notice of a change; the save is put off until that has ended.
public final class School {
  public let coordinator: PersistentStoreCoordinator
  public let context: ManagedObjectContext
  public private(set) var privateStore: PersistentStore
  public private(set) var publicStore: PersistentStore
  /// What the last saves failed with, if they did.
  public private(set) var saveErrors: [any Error] = []
  /// How often the context was saved.
  public private(set) var saveCount = 0
  private var observation: Observation?

  /// Opens the school in a folder, or founds it there.
  ///
  /// - Parameter files: The stores' file name extensions, which decide about their types.
  public init(
    folder: String, registry: StoreRegistry, files: SchoolFiles = SchoolFiles(), savesAfterEveryChange: Bool = true
  ) throws {
    coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(IClassModel.first), registry: registry)
    coordinator.setManagedObjectClass(Person.self, forEntityName: "Person")
    coordinator.setManagedObjectClass(Student.self, forEntityName: "Student")
    coordinator.setManagedObjectClass(Teacher.self, forEntityName: "Teacher")
    coordinator.setManagedObjectClass(IDGenerator.self, forEntityName: "IDGenerator")
    coordinator.setManagedObjectClass(Course.self, forEntityName: "Course")
    privateStore = try coordinator.addPersistentStore(
      configurationName: "private", at: folder + "/People." + files.people)
    publicStore = try coordinator.addPersistentStore(
      configurationName: "public", at: folder + "/Courses." + files.courses)
    context = ManagedObjectContext(coordinator)
    if savesAfterEveryChange {
      observation = context.observe { [weak self] event in
        guard case .objectsDidChange = event, let self, self.context.hasChanges else { return }
        self.context.perform { self.save() }
      }
    }
  }

  /// Saves now; what goes wrong is kept in ``saveErrors``.
  public func save() {
    guard context.hasChanges else { return }
    do {
      try context.save()
      saveCount += 1
    } catch {
      saveErrors.append(error)
    }
  }

  /// Ends an event, as a run loop would: what was changed is noticed, and saved.
  public func endEvent() { context.processPendingChanges() }

  private func generator() throws -> IDGenerator {
    if let generator = try context.fetch(FetchRequest<IDGenerator>(entityName: "IDGenerator")).first {
      return generator
    }
    return IDGenerator(context: context)
  }

  public func enrollStudent(named name: String) throws -> Student {
    let student = Student(context: context)
    student.name = name
    student.personID = try generator().getNewID()
    endEvent()
    return student
  }

  public func hireTeacher(named name: String) throws -> Teacher {
    let teacher = Teacher(context: context)
    teacher.name = name
    teacher.personID = try generator().getNewID()
    endEvent()
    return teacher
  }

  public func addCourse(titled title: String) -> Course {
    let course = Course(context: context)
    course.title = title
    endEvent()
    return course
  }

  public func students() throws -> [Student] { try context.fetch(FetchRequest(entityName: "Student")) }
  public func teachers() throws -> [Teacher] { try context.fetch(FetchRequest(entityName: "Teacher")) }
  public func courses() throws -> [Course] { try context.fetch(FetchRequest(entityName: "Course")) }
}
