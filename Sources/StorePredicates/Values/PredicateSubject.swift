package import AtomicStoreSPI

/// An object that predicates are evaluated on: it has an entity, an ID, and properties by name.
///
/// Managed objects are subjects. So is whatever else a test or a store wants to evaluate a predicate on.
package protocol PredicateSubject: AnyObject {
  /// The name of the entity, for the key `entity` and for errors.
  var predicateEntityName: String { get }
  /// What the subject is compared by with other subjects, and with constants.
  var objectID: ManagedObjectID { get }
  /// Whether an ID is one that the subject had before it got the present one.
  func isKnown(by id: ManagedObjectID) -> Bool
  /// Whether the subject comes before another one where objects are listed in a fixed order.
  func precedes(_ other: any PredicateSubject) -> Bool

  /// The property of that name, or nil. A part of a composite has a dot in its name.
  func predicateProperty(named name: String) -> PredicateProperty?
  /// The value of a property that ``predicateProperty(named:)`` returned.
  func predicateValue(of property: PredicateProperty) throws(PredicateEvaluationError) -> PredicateValue
  /// The names of all properties, to suggest one for a name that is misspelt.
  var predicatePropertyNames: [String] { get }

  /// The budget of the fetch that the evaluation is part of; nil for an evaluation with a budget of its own.
  var stepBudget: StepBudget? { get }
  /// The functions that predicates may call.
  var customFunctions: CustomFunctions? { get }
}

/// A property of a subject: found once by its name, then asked for its value.
package struct PredicateProperty {
  /// The subject's own number for it.
  package let index: Int
  package let isComposite: Bool

  @inlinable package init(index: Int, isComposite: Bool) {
    self.index = index
    self.isComposite = isComposite
  }
}
