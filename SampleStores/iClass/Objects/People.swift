public import AtomicStoreKit
import AtomicStoreSPI

/// Someone at the school. Kept in the private store.
open class Person: ManagedObject {
  @Managed("name") public var name: String
  @Managed("personID") public var personID: Int
}

/// Students take courses, which are in another store: the relationship is transient, its URIs are stored.
public final class Student: Person {
  @Managed("courses") public var courses: Set<Course>
  @Managed("courseURIs") var courseURIs: String?

  public override func awakeFromFetch() {
    super.awakeFromFetch()
    restoreObjects(of: "courses", from: "courseURIs")
  }

  public override func willSave() {
    super.willSave()
    storeURIs(of: "courses", in: "courseURIs")
  }
}

/// Teachers find their courses by a fetched property: those whose `teacherURI` is theirs.
public final class Teacher: Person {
  @Managed("courses") public var courses: [Course]

  public override func awakeFromFetch() {
    super.awakeFromFetch()
    knowOwnURI()
  }

  public override func didSave() {
    super.didSave()
    knowOwnURI()
  }

  private func knowOwnURI() {
    guard !objectID.isTemporaryID, !isFault else { return }
    try? setPrimitiveValue(objectID.uriRepresentation, forKey: "objectURI")
  }

  /// Takes a course. The fetched property is cached, so it is fetched again.
  public func signUpToTeach(_ course: Course) {
    course.setTeacher(self)
    managedObjectContext?.refresh(self, fetchedPropertyNamed: "courses")
  }

  /// Gives a course up.
  public func resignFromTeaching(_ course: Course) {
    guard course.teacher === self else { return }
    course.setTeacher(nil)
    managedObjectContext?.refresh(self, fetchedPropertyNamed: "courses")
  }
}

/// Hands out numbers.
public final class IDGenerator: ManagedObject {
  @Managed("mostRecentID") public private(set) var mostRecentID: Int

  /// A number that was never given out.
  ///
  /// A method and never a property of the model: a save validates properties, validating would ask for a new number,
  /// and the object would be changed again, for ever.
  public func getNewID() -> Int {
    mostRecentID += 1
    return mostRecentID
  }
}

extension ManagedObject {
  /// Writes down which objects a transient relationship leads to.
  func storeURIs(of relationship: String, in attribute: String) {
    guard !isDeleted, !hasFault(forRelationshipNamed: relationship),
      let ids = try? objectIDs(forRelationshipNamed: relationship)
    else { return }
    let text = ids.map(\.uriRepresentation).sorted().joined(separator: "\n")
    self[attribute] = text.isEmpty ? nil : text
  }

  /// Makes a transient relationship lead to the objects that were written down. Those whose store is not open are left
  /// out, and with them what was stored: see the second variant for how to do better.
  func restoreObjects(of relationship: String, from attribute: String) {
    guard let context = managedObjectContext, let text = self[attribute] as? String else { return }
    let objects = text.split(separator: "\n").compactMap { uri in
      context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: String(uri)).map {
        context.object(with: $0)
      }
    }
    try? setPrimitiveValue(objects, forKey: relationship)
  }
}
