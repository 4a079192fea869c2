public import AtomicStoreKit
public import AtomicStoreSPI

// The second variant. Each store holds, for each object of the other store that its own objects lead to, a proxy with
// the URI and what is worth showing. Relationships are real ones, within a store, to proxies: each store is whole by
// itself and can be worked on while the other is not mounted. What went out of step meanwhile is repaired afterwards.

public final class ProxiedStudent: ManagedObject {
  @Managed("name") public var name: String
  @Managed("courseProxies") public var courseProxies: Set<CourseProxy>
}

public final class ProxiedTeacher: ManagedObject {
  @Managed("name") public var name: String
  @Managed("courseProxies") public var courseProxies: Set<CourseProxy>
}

public final class ProxiedCourse: ManagedObject {
  @Managed("title") public var title: String
  @Managed("studentProxies") public var studentProxies: Set<PersonProxy>
  @Managed("teacherProxy") public var teacherProxy: PersonProxy?
}

/// In the private store, for a course of the public one.
public final class CourseProxy: ManagedObject {
  @Managed("uri") public var uri: String
  @Managed("title") public var title: String
  @Managed("students") public var students: Set<ProxiedStudent>
  @Managed("teacher") public var teacher: ProxiedTeacher?
  /// The course itself, while its store is mounted and has it.
  public var course: ProxiedCourse? { resolved(uri) as? ProxiedCourse }
}

/// In the public store, for a person of the private one.
public final class PersonProxy: ManagedObject {
  @Managed("uri") public var uri: String
  @Managed("name") public var name: String
  @Managed("courses") public var courses: Set<ProxiedCourse>
  @Managed("taughtCourses") public var taughtCourses: Set<ProxiedCourse>
  /// The person, while the private store is mounted and has it.
  public var person: ManagedObject? { resolved(uri) }
}

extension ManagedObject {
  func resolved(_ uri: String) -> ManagedObject? {
    guard let context = managedObjectContext,
      let id = context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: uri),
      let object = try? context.existingObject(with: id), !object.isDeleted
    else { return nil }
    return object
  }
}

/// The application of the second variant: either store may be missing.
public final class ProxySchool {
  public let coordinator: PersistentStoreCoordinator
  public let context: ManagedObjectContext
  public private(set) var privateStore: PersistentStore?
  public private(set) var publicStore: PersistentStore?
  private let folder: String
  private let files: SchoolFiles

  public init(folder: String, registry: StoreRegistry, files: SchoolFiles = SchoolFiles()) throws {
    self.folder = folder
    self.files = files
    coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(IClassModel.second), registry: registry)
    coordinator.setManagedObjectClass(ProxiedStudent.self, forEntityName: "Student")
    coordinator.setManagedObjectClass(ProxiedTeacher.self, forEntityName: "Teacher")
    coordinator.setManagedObjectClass(ProxiedCourse.self, forEntityName: "Course")
    coordinator.setManagedObjectClass(CourseProxy.self, forEntityName: "CourseProxy")
    coordinator.setManagedObjectClass(PersonProxy.self, forEntityName: "PersonProxy")
    context = ManagedObjectContext(coordinator)
  }

  public func mountPrivateStore() throws {
    privateStore = try coordinator.addPersistentStore(
      configurationName: "private", at: folder + "/PeopleV2." + files.people)
  }
  public func mountPublicStore() throws {
    publicStore = try coordinator.addPersistentStore(
      configurationName: "public", at: folder + "/CoursesV2." + files.courses)
  }
  public func unmountPrivateStore() throws {
    if let store = privateStore { try coordinator.remove(store) }
    privateStore = nil
  }
  public func unmountPublicStore() throws {
    if let store = publicStore { try coordinator.remove(store) }
    publicStore = nil
  }

  public func students() throws -> [ProxiedStudent] { try context.fetch(FetchRequest(entityName: "Student")) }
  public func teachers() throws -> [ProxiedTeacher] { try context.fetch(FetchRequest(entityName: "Teacher")) }
  public func courses() throws -> [ProxiedCourse] { try context.fetch(FetchRequest(entityName: "Course")) }
  public func courseProxies() throws -> [CourseProxy] { try context.fetch(FetchRequest(entityName: "CourseProxy")) }
  public func personProxies() throws -> [PersonProxy] { try context.fetch(FetchRequest(entityName: "PersonProxy")) }

  /// The proxy of a course in the private store, made where there is none.
  public func proxy(of course: ProxiedCourse) throws -> CourseProxy {
    try context.obtainPermanentIDs(for: [course])
    let uri = course.objectID.uriRepresentation
    let proxy = try courseProxies().first { $0.uri == uri } ?? CourseProxy(context: context)
    proxy.uri = uri
    proxy.title = course.title
    return proxy
  }

  /// The proxy of a person in the public store, made where there is none.
  public func proxy(of person: ManagedObject) throws -> PersonProxy {
    try context.obtainPermanentIDs(for: [person])
    let uri = person.objectID.uriRepresentation
    let proxy = try personProxies().first { $0.uri == uri } ?? PersonProxy(context: context)
    proxy.uri = uri
    proxy.name = person["name"] as? String ?? ""
    return proxy
  }

  /// A student takes a course, both at hand.
  public func enroll(_ student: ProxiedStudent, in course: ProxiedCourse) throws {
    try enroll(student, in: try proxy(of: course))
  }

  /// A student takes a course that may not be at hand: its proxy is.
  public func enroll(_ student: ProxiedStudent, in proxy: CourseProxy) throws {
    try proxy.add(student, to: "students")
    if let course = proxy.course { try course.add(try self.proxy(of: student), to: "studentProxies") }
  }

  public func withdraw(_ student: ProxiedStudent, from proxy: CourseProxy) throws {
    try proxy.remove(student, from: "students")
    if let course = proxy.course { try course.remove(try self.proxy(of: student), from: "studentProxies") }
  }

  public func assign(_ teacher: ProxiedTeacher?, to proxy: CourseProxy) throws {
    proxy.teacher = teacher
    if let course = proxy.course { course.teacherProxy = try teacher.map { try self.proxy(of: $0) } }
  }

  /// Brings the two stores in step once both are mounted: the private one says who takes and teaches what; proxies of
  /// courses and people that no longer exist are removed.
  ///
  /// - Returns: How many relationships and proxies were repaired.
  @discardableResult
  public func repair() throws -> Int {
    guard privateStore != nil, publicStore != nil else { return 0 }
    var repaired = 0
    for proxy in try courseProxies() {
      guard let course = proxy.course else {
        context.delete(proxy)
        repaired += 1
        continue
      }
      if proxy.title != course.title {
        proxy.title = course.title
        repaired += 1
      }
      let wanted = Set(try proxy.students.map { try self.proxy(of: $0) })
      if course.studentProxies != wanted {
        course.studentProxies = wanted
        repaired += 1
      }
      let teacher = try proxy.teacher.map { try self.proxy(of: $0) }
      if course.teacherProxy !== teacher {
        course.teacherProxy = teacher
        repaired += 1
      }
    }
    let known = Set(try courseProxies().map(\.uri))
    for course in try courses() where !known.contains(course.objectID.uriRepresentation) {
      // No one in the private store takes or teaches it any more.
      if !course.studentProxies.isEmpty || course.teacherProxy != nil {
        course.studentProxies = []
        course.teacherProxy = nil
        repaired += 1
      }
    }
    for proxy in try personProxies() where proxy.person == nil || proxy.courses.isEmpty && proxy.taughtCourses.isEmpty {
      context.delete(proxy)
      repaired += 1
    }
    context.processPendingChanges()
    return repaired
  }
}
