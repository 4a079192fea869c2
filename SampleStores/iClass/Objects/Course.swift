public import AtomicStoreKit
import AtomicStoreSPI

/// A course. Kept in the public store; who takes and who teaches it is written down as URIs.
public final class Course: ManagedObject {
  @Managed("title") public var title: String
  @Managed("students") public var students: Set<Student>
  @Managed("teacher") public private(set) var teacher: Teacher?
  @Managed("studentURIs") var studentURIs: String?
  private var observation: Observation?

  public override func awakeFromInsert() {
    super.awakeFromInsert()
    watch()
  }

  public override func awakeFromFetch() {
    super.awakeFromFetch()
    restoreObjects(of: "students", from: "studentURIs")
    if let context = managedObjectContext, let uri = teacherURI,
      let id = context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: uri)
    {
      try? setPrimitiveValue(context.object(with: id), forKey: "teacher")
    }
    watch()
  }

  public override func willSave() {
    super.willSave()
    storeURIs(of: "students", in: "studentURIs")
  }

  public override func didTurnIntoFault() {
    super.didTurnIntoFault()
    observation = nil
  }

  /// The URI of the teacher, as it is stored.
  public var teacherURI: String? { self["teacherURI"].map { "\($0)" } }

  /// The relationship has no inverse that the kit could keep: the teacher's side is a fetched property. So this is the
  /// one place where both what is in memory and what is stored are set.
  func setTeacher(_ new: Teacher?) {
    teacher = new
    self["teacherURI"] = new?.objectID.uriRepresentation
  }

  /// Without an inverse, deleting a teacher does not clear the relationship. The course observes deletions and clears
  /// it.
  private func watch() {
    observation = managedObjectContext?.observe { [weak self] event in
      guard let self, case .objectsDidChange(let changes) = event, !self.isDeleted, let teacher = self.teacher,
        changes.deleted.contains(where: { $0 === teacher })
      else { return }
      self.setTeacher(nil)
    }
  }
}
