public import AtomicStoreSPI
public import StoreContainers

/// Someone in the contact book.
public final class Contact: ManagedObject {
  @Managed("name") public var name: String
  @Managed("phone") public var phone: String?
  @Managed("group") public var group: Group?

  public override func validate(_ value: inout Any?, forKey key: String) throws {
    guard key == "name", let name = value as? String, name.allSatisfy(\.isWhitespace) else { return }
    throw ManagedObjectError(.managedObjectValidation, "a contact needs a name", key: key)
  }
}

/// A group of contacts.
public final class Group: ManagedObject {
  @Managed("name") public var name: String
  @Managed("contacts") public var contacts: Set<Contact>
}

extension ContactBook {
  /// The model: contacts with a unique name, each in one group or none.
  public static let model: ModelDescription = ModelDescription(
    entities: [
      EntityDescription(
        name: "Contact",
        properties: [
          .attribute("name", .string, isOptional: false),
          .attribute("phone", .string),
          .toOne("group", "Group", inverse: "contacts"),
        ], uniquenessConstraints: [["name"]]),
      EntityDescription(
        name: "Group",
        properties: [
          .attribute("name", .string, isOptional: false),
          .toMany("contacts", "Contact", inverse: "group"),
        ], uniquenessConstraints: [["name"]]),
    ])
}
