public import AtomicStoreSPI

/// A merge policy of the program's own: it decides what a save does about objects that were also changed in the store,
/// and about objects that share the values of a uniqueness constraint.
///
/// The five ``MergePolicy`` values are such resolvers. A custom one usually passes most conflicts to one of them:
///
/// ```swift
/// /// Adds up what both sides booked.
/// struct AddingUp: ConflictResolver {
///   func resolve(_ conflict: ObjectConflict) throws -> ConflictResolution {
///     guard let base = conflict.base["balance"]?.anyValue as? Int,
///       let mine = conflict.mine["balance"]?.anyValue as? Int,
///       let theirs = conflict.theirs?["balance"]?.anyValue as? Int
///     else { return .by(.mergeByPropertyObjectTrump) }
///     return .by(.mergeByPropertyObjectTrump, setting: ["balance": theirs + mine - base])
///   }
/// }
/// context.conflictResolver = AddingUp()
/// ```
///
/// **You implement** ``resolve(_:)-(ObjectConflict)``. **You may customize** ``resolve(_:)-(ConstraintConflict)``,
/// which lets the save fail by default, and ``didResolve(_:in:)``.
///
/// A save asks about all conflicts before it changes anything. If the store changes again meanwhile, or hooks cause new
/// conflicts, it asks again. If a method throws, the save fails with that error, and the context is as it was.
public protocol ConflictResolver: Sendable {
  /// Decides about an object that was changed in the context and in the store. It must not change objects.
  func resolve(_ conflict: ObjectConflict) throws -> ConflictResolution
  /// Decides about objects that share the values of a uniqueness constraint. It must not change objects.
  func resolve(_ conflict: ConstraintConflict) throws -> ConstraintResolution
  /// Called when decisions have been carried out, to change what depends on them, such as counts. The changes are
  /// validated and saved with the others.
  ///
  /// - Parameters:
  ///   - objects: The objects about which decisions were made, without deleted ones.
  ///   - context: The context that is being saved.
  func didResolve(_ objects: [ManagedObject], in context: ManagedObjectContext) throws
}

extension ConflictResolver {
  public func resolve(_ conflict: ConstraintConflict) throws -> ConstraintResolution { .by(.error) }
  public func didResolve(_ objects: [ManagedObject], in context: ManagedObjectContext) throws {}
}

extension MergePolicy: ConflictResolver {
  public func resolve(_ conflict: ObjectConflict) -> ConflictResolution { .by(self) }
  public func resolve(_ conflict: ConstraintConflict) -> ConstraintResolution { .by(self) }
}

/// An object that was changed in a context and, since it was fetched there, also in its store.
public struct ObjectConflict {
  /// The object as it is in the context.
  public let object: ManagedObject
  /// The values of both sides, and what differs.
  public let snapshots: MergeConflict

  /// The values that the context's changes are based on.
  public var base: [String: StoredValue] { snapshots.cachedSnapshot }
  /// The values as the context would save them. Empty if the context deleted the object.
  public var mine: [String: StoredValue] { snapshots.objectSnapshot }
  /// The values that the store holds now; nil if the object was removed from it.
  public var theirs: [String: StoredValue]? { snapshots.persistedSnapshot }
}

/// Objects that share the values of a uniqueness constraint.
public struct ConstraintConflict {
  /// The properties of the constraint.
  public let keys: [String]
  /// All objects with the values: those that are in the store with them first, by reference, then the others in the
  /// order in which the context got them.
  public let objects: [ManagedObject]
  /// How many of ``objects``, from the first on, are in the store with these values.
  public let storedCount: Int
}

/// A decision about an object that was changed on both sides.
public struct ConflictResolution {
  let policy: MergePolicy
  let values: [String: Any?]

  /// Resolves the conflict as a built-in policy does, and then sets attributes; with ``MergePolicy/error`` the save
  /// fails with the conflict.
  ///
  /// - Parameters:
  ///   - policy: The policy.
  ///   - values: Attributes to set afterwards, by name. If the object is deleted as a result, they have no effect. To
  ///     change relationships, use ``ConflictResolver/didResolve(_:in:)``.
  public static func by(_ policy: MergePolicy, setting values: [String: Any?] = [:]) -> ConflictResolution {
    ConflictResolution(policy: policy, values: values)
  }
}

/// A decision about objects that share the values of a uniqueness constraint.
public enum ConstraintResolution {
  /// As a built-in policy does; with ``MergePolicy/error`` the save fails and names the objects.
  case by(MergePolicy)
  /// The objects become one: the first of ``ConstraintConflict/objects`` stays, with its ID and with the relationships
  /// of all. It gets the attributes of the winner, which must be one of the objects, and then those that are given by
  /// name.
  case merge(winner: ManagedObject, setting: [String: Any?] = [:])

  var isFailure: Bool { isDecision(by: .error) }
  func isDecision(by policy: MergePolicy) -> Bool { if case .by(policy) = self { true } else { false } }
}
