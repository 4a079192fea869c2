package import AtomicStoreSPI

/// An object on which predicates are evaluated: it has an entity, an ID, and properties by name.
///
/// Managed objects are subjects. Tests and stores can evaluate predicates on other types.
package protocol PredicateSubject: AnyObject {
  /// The name of the entity, for the key `entity` and for errors.
  var predicateEntityName: String { get }
  /// The entity, whose hierarchy says which other keys a predicate may use; nil for a subject without a model.
  var predicateEntity: Entity? { get }
  /// The ID by which the subject is compared with other subjects and with constants.
  var objectID: ManagedObjectID { get }
  /// Whether an ID is one that the subject had before its current one.
  func isKnown(by id: ManagedObjectID) -> Bool
  /// The same number for two subjects only if they are one object.
  var subjectNumber: UInt64 { get }
  /// Whether the subject precedes another one in a fixed order of objects.
  func precedes(_ other: any PredicateSubject) -> Bool

  /// The property with that name, or nil. The name of a part of a composite contains a dot.
  func predicateProperty(named name: String) -> PredicateProperty?
  /// The value of a property that ``predicateProperty(named:)`` returned.
  func predicateValue(of property: PredicateProperty) throws(PredicateEvaluationError) -> PredicateValue
  /// The names of all properties, for suggestions if a name is misspelt.
  var predicatePropertyNames: [String] { get }

  /// The budget of the enclosing fetch; nil for an evaluation with its own budget.
  var stepBudget: StepBudget? { get }
  /// The functions that predicates may call.
  var customFunctions: CustomFunctions? { get }
}

extension PredicateSubject {
  package var predicateEntity: Entity? { nil }
  package var subjectNumber: UInt64 { UInt64(UInt(bitPattern: ObjectIdentifier(self))) }
}

/// A property of a subject, looked up by name once and then used to read values.
@usableFromInline package struct PredicateProperty {
  /// The number by which the subject identifies it.
  @usableFromInline package let index: Int
  @usableFromInline package let isComposite: Bool

  @inlinable package init(index: Int, isComposite: Bool) {
    self.index = index
    self.isComposite = isComposite
  }
}
