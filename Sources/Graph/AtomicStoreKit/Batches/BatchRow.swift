import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// The values of a new object in a ``BatchInsertRequest``, by attribute name.
public struct BatchRow {
  let plan: EntityPlan
  let transformers: AttributeTransformers
  /// By slot: the values that were set.
  var values: SlotValues
  /// What was refused first.
  var error: ManagedObjectError?

  init(_ plan: EntityPlan, _ transformers: AttributeTransformers) {
    self.plan = plan
    self.transformers = transformers
    values = SlotValues(slotCount: plan.entity.slots.count)
  }

  /// The value of an attribute; nil for null, and if it was not set, in which case the object gets the model's default.
  /// A name that is not an attribute's, or a value that it does not accept, makes the request fail.
  public subscript(name: String) -> Any? {
    get {
      guard let p = plan.property(named: name), plan.properties[p].slot >= 0 else { return nil }
      return values[plan.properties[p].slot]?.anyValue
    }
    set {
      do throws(ManagedObjectError) { try set(newValue, name) } catch { if self.error == nil { self.error = error } }
    }
  }

  private mutating func set(_ value: Any?, _ name: String) throws(ManagedObjectError) {
    guard let p = plan.property(named: name) else {
      let suggestion = Suggestion.text(for: name, among: plan.properties.map(\.name))
      throw ManagedObjectError(
        .undefinedKey, "\(plan.name) does not have a property '\(name)'\(suggestion)", entityName: plan.name, key: name)
    }
    let property = plan.properties[p]
    guard case .attribute(let type) = property.kind, property.slot >= 0 else {
      throw ManagedObjectError(
        .invalidValue, "\(plan.name).\(name) is not a stored attribute: a batch sets attributes only",
        entityName: plan.name, key: name)
    }
    if case .transformable = type, let value = StoredValue.unwrapped(value), !(value is Data), !(value is StoredValue),
      let transformer = transformers[property.attribute?.valueTransformerName ?? ""]
    {
      do { values[property.slot] = .data(try transformer.data(from: value)) } catch {
        throw ManagedObjectError(
          .invalidValue, "\(plan.name).\(name): the transformer does not accept the value", entityName: plan.name,
          key: name, underlying: error)
      }
      return
    }
    guard let stored = StoredValue(any: value, type: type) else {
      let text = StoredValue.unwrapped(value).map { String("\($0)".prefix(60)) } ?? "nil"
      throw ManagedObjectError(
        .invalidValue, "\(plan.name).\(name) requires \(type.modelName), not \(text)", entityName: plan.name, key: name,
        value: text)
    }
    values[property.slot] = stored
  }

  /// Adds the model's defaults, and checks the model's rules.
  ///
  /// - Parameters:
  ///   - number: The row's number, from 1, for messages.
  ///   - budget: The steps that the patterns of all rows may take.
  /// - Returns: All values, which the row has no longer.
  mutating func complete(_ number: Int, _ budget: StepBudget) throws(ManagedObjectError) -> SlotValues {
    if let error { throw error.inRow(number) }
    var values = SlotValues()
    swap(&values, &self.values)
    for (p, value) in plan.defaults where plan.properties[p].slot >= 0 && values[plan.properties[p].slot] == nil {
      values[plan.properties[p].slot] = value
    }
    var errors: [ManagedObjectError] = []
    for property in plan.properties where property.slot >= 0 {
      guard case .attribute = property.kind, let rule = property.rule else { continue }
      let value = values[property.slot] ?? .null
      for violation in rule.violations(value, budget) {
        errors.append(
          ManagedObjectError(
            violation.code,
            "\(plan.name).\(property.name) is \(value.displayText): "
              + (violation.code == .validationMissingMandatoryProperty ? "" : "the rule is ") + violation.rule,
            entityName: plan.name, key: property.name, value: value.displayText, rule: violation.rule
          ).inRow(number))
      }
    }
    if !errors.isEmpty { throw ManagedObjectError.combining(errors) }
    return values
  }
}

extension ManagedObjectError {
  /// The error with the number of a row of a batch.
  func inRow(_ number: Int) -> ManagedObjectError {
    var error = self
    error.message = "row \(number): \(message)"
    return error
  }
}
