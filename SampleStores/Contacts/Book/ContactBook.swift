public import StoreContainers

/// A contact book: a container, the list of contacts that is shown, and what a person can do with it.
@MainActor
public final class ContactBook {
  /// The model, the stores and the contexts.
  public let container: PersistentContainer
  private let results: FetchedResultsController<Contact>
  /// What changed in the list since it was last asked for, by name: `+` new, `-` gone, `~` changed.
  private var news: [String: Character] = [:]
  /// What contacts in the list are called: one that is gone has no name any more.
  private var names: [ObjectIdentifier: String] = [:]

  var context: ManagedObjectContext { container.viewContext }

  /// Opens the book in a file, or creates it; without a path, a book in memory.
  public init(path: String?) throws {
    container = PersistentContainer(name: "Contacts", managedObjectModel: try ManagedObjectModel(Self.model))
    container.persistentStoreDescriptions = [
      path.map { PersistentStoreDescription(path: $0, type: "XML") } ?? .inMemory()
    ]
    let coordinator = container.persistentStoreCoordinator
    coordinator.setManagedObjectClass(Contact.self, forEntityName: "Contact")
    coordinator.setManagedObjectClass(Group.self, forEntityName: "Group")
    try container.loadPersistentStores()
    // What the import saves, and what another process saves, is merged into what is shown.
    container.setAutomaticallyMergesChangesFromParent(true)
    container.noticesRemoteChanges = true
    container.viewContext.undoManager = UndoHistory()
    results = FetchedResultsController(
      fetchRequest: FetchRequest<Contact>(
        entityName: "Contact", sortKeys: [SortKey("group.name"), SortKey("name", textOrder: .localizedStandard)]),
      managedObjectContext: container.viewContext, sectionNameKeyPath: "group.name")
    results.didChangeContent = { [weak self] changes in self?.note(changes) }
    try results.performFetch()
    for contact in results.fetchedObjects ?? [] { names[ObjectIdentifier(contact)] = contact.name }
  }

  private func note(_ changes: FetchedResultsChanges<Contact>) {
    for change in changes.changes {
      defer { if let contact = present(change) { names[ObjectIdentifier(contact)] = contact.name } }
      switch change {
      case .insert(let contact, _): note("+", contact.name)
      case .delete(let contact, _): note("-", names.removeValue(forKey: ObjectIdentifier(contact)) ?? contact.name)
      case .move(let contact, _, _), .update(let contact, _, _): note("~", contact.name)
      }
    }
  }

  private func present(_ change: FetchedResultsChanges<Contact>.Change) -> Contact? {
    switch change {
    case .delete: nil
    case .insert(let contact, _), .move(let contact, _, _), .update(let contact, _, _): contact
    }
  }

  /// Several changes of one contact are one.
  private func note(_ kind: Character, _ name: String) {
    switch (news[name], kind) {
    case ("+", "-"): news[name] = nil
    case ("+", _): break
    case ("-", "+"): news[name] = "~"
    default: news[name] = kind
    }
  }

  /// Returns what changed in the list since the last call: `+` new, `-` gone, `~` changed.
  public func takeNews() -> [String] {
    context.processPendingChanges()
    defer { news = [:] }
    return news.map { "\($0.value) \($0.key)" }.sorted()
  }

  // MARK: What is shown

  /// The list, a section for each group.
  public var lines: [String] {
    (results.sections ?? []).flatMap { section in
      [section.name.isEmpty ? "(no group)" : section.name] + section.objects.map { "  " + Self.line($0) }
    }
  }

  private static func line(_ contact: Contact) -> String { contact.name + (contact.phone.map { "  \($0)" } ?? "") }

  /// The contacts whose name or phone number contains a text, by name.
  public func find(_ text: String) throws -> [String] {
    let request = FetchRequest<Contact>(
      entityName: "Contact",
      predicate: try FetchPredicate(format: "name CONTAINS[cd] %@ OR phone CONTAINS %@", text, text),
      sortKeys: [SortKey("name")])
    return try context.fetch(request).map(Self.line)
  }

  // MARK: What can be done

  /// Adds a contact.
  public func add(_ name: String, phone: String?, group: String?) throws {
    let contact = try Self.make(Contact.self, "Contact", in: context)
    contact.name = name
    contact.phone = phone
    contact.group = try group.map { try Self.group(named: $0, in: context) }
    try save(named: "Add \(name)", undoingOnFailure: true)
  }

  /// Gives a contact another name.
  public func rename(_ old: String, to new: String) throws {
    try contact(named: old).name = new
    try save(named: "Rename \(old)", undoingOnFailure: true)
  }

  /// Deletes a contact.
  public func delete(_ name: String) throws {
    context.delete(try contact(named: name))
    try save(named: "Delete \(name)", undoingOnFailure: true)
  }

  /// Reverts the last change, and saves.
  ///
  /// - Returns: What was reverted; nil if there is nothing.
  public func undo() throws -> String? {
    guard let history = context.undoManager, history.canUndo else { return nil }
    let name = history.undoActionName
    history.undo()
    try context.save()
    return name ?? ""
  }

  /// Performs again what was undone last, and saves.
  ///
  /// - Returns: What was performed; nil if there is nothing.
  public func redo() throws -> String? {
    guard let history = context.undoManager, history.canRedo else { return nil }
    let name = history.redoActionName
    history.redo()
    try context.save()
    return name ?? ""
  }

  /// Imports lines `name,phone,group` beside the main actor: contacts that exist get the new number and group.
  ///
  /// - Returns: How many are new, and how many were there.
  public func importLines(_ text: String) async throws -> (new: Int, known: Int) {
    try await container.performBackgroundTask { context in
      context.transactionAuthor = "import"
      var (new, known) = (0, 0)
      for line in text.split(whereSeparator: \.isNewline) {
        let fields = line.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        var request = FetchRequest<Contact>(
          entityName: "Contact", predicate: try FetchPredicate(format: "name == %@", fields[0]))
        request.fetchLimit = 1
        let found = try context.fetch(request).first
        let contact = try found ?? Self.make(Contact.self, "Contact", in: context)
        if found == nil { new += 1 } else { known += 1 }
        contact.name = fields[0]
        if fields.count > 1, !fields[1].isEmpty { contact.phone = fields[1] }
        if fields.count > 2, !fields[2].isEmpty { contact.group = try Self.group(named: fields[2], in: context) }
      }
      try context.save()
      return (new, known)
    }
  }

  // MARK: Helpers

  private func save(named name: String, undoingOnFailure: Bool) throws {
    context.processPendingChanges()
    context.undoManager?.setActionName(name)
    do { try context.save() } catch {
      context.rollback()
      throw error
    }
  }

  private func contact(named name: String) throws -> Contact {
    let request = FetchRequest<Contact>(
      entityName: "Contact", predicate: try FetchPredicate(format: "name == %@", name))
    guard let contact = try context.fetch(request).first else { throw UnknownContact(name: name) }
    return contact
  }

  nonisolated private static func group(named name: String, in context: ManagedObjectContext) throws -> Group {
    let request = FetchRequest<Group>(entityName: "Group", predicate: try FetchPredicate(format: "name == %@", name))
    if let known = try context.fetch(request).first { return known }
    let group = try make(Group.self, "Group", in: context)
    group.name = name
    return group
  }

  nonisolated private static func make<Object: ManagedObject>(
    _ type: Object.Type, _ entity: String, in context: ManagedObjectContext
  ) throws -> Object {
    guard let object = try context.insertNewObject(forEntityName: entity) as? Object else {
      throw ManagedObjectError(.invalidFetch, "the class of \(entity) is not registered", entityName: entity)
    }
    return object
  }
}

/// The book does not have a contact with that name.
public struct UnknownContact: Error, CustomStringConvertible {
  /// The name that was asked for.
  public let name: String
  public var description: String { "unknown contact '\(name)'" }
}
