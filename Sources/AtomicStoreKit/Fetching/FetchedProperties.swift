import AtomicStoreSPI
import StorePredicates
import FoundationEssentials
import Synchronization

/// Properties whose value is a fetch, and attributes that are computed when they are saved.
extension ManagedObject {
  /// What a fetched property finds: fetched when it is first asked for, then kept until the object is refreshed.
  ///
  /// Its predicate may name `$FETCH_SOURCE`, this object, and `$FETCHED_PROPERTY`, the property's description, of which
  /// `name` and `userInfo.KEY` can be asked.
  final func fetchedObjects(_ p: Int) throws(ManagedObjectError) -> [ManagedObject] {
    if let found = extras?.fetched[p] { return found }
    let property = plan.properties[p]
    guard let context, let description = property.fetched else { throw unavailable(extras?.gone ?? .contextGone) }
    func failure(_ message: String, _ cause: (any Error)?) -> ManagedObjectError {
      ManagedObjectError(
        .invalidFetch, "the fetched property \(plan.name).\(property.name) \(message)", objectID: objectID,
        entityName: plan.name, key: property.name, underlying: cause)
    }
    guard context.fetchedPropertyDepth < Self.fetchedPropertyLimit else {
      throw failure("asks for fetched properties that ask for others, \(Self.fetchedPropertyLimit) deep", nil)
    }
    context.fetchedPropertyDepth += 1
    defer { context.fetchedPropertyDepth -= 1 }
    let template: FetchPredicate?
    switch ParsedTexts.predicate(description.fetchRequest.predicateString ?? "") {
    case .success(let parsed): template = parsed
    case .failure(let error): throw failure("has a predicate that cannot be read", error)
    }
    var request = FetchRequest<ManagedObject>(entityName: description.fetchRequest.entityName)
    request.includesSubentities = description.fetchRequest.includesSubentities ?? true
    request.fetchLimit = max(0, description.fetchRequest.fetchLimit ?? 0)
    request.sortKeys = description.fetchRequest.sortOrder.map { SortKey($0.keyPath, isAscending: $0.isAscending) }
    if let template {
      let unknown = template.variables.filter { $0 != "FETCH_SOURCE" && $0 != "FETCHED_PROPERTY" }
      guard unknown.isEmpty else {
        throw failure("names the variable $\(unknown[0]); there are $FETCH_SOURCE and $FETCHED_PROPERTY", nil)
      }
      let variables = ["FETCH_SOURCE": PredicateValue.object(self), "FETCHED_PROPERTY": .value(.string(property.name))]
      request.filter = { object in
        var evaluator = PredicateEvaluator(object, variables: variables)
        evaluator.fetchedProperty = description
        do throws(PredicateEvaluationError) { return try evaluator.evaluate(template) } catch { throw ManagedObjectError(error) }
      }
    }
    do {
      let found = try context.fetch(request)
      needExtras().fetched[p] = found
      return found
    } catch {
      // What went wrong far below is told once.
      if context.fetchedPropertyDepth > 1, let error = error as? ManagedObjectError { throw error }
      throw failure("cannot be fetched", error)
    }
  }

  /// A predicate that asks for the property it belongs to would have no end.
  private static let fetchedPropertyLimit = 32
}

extension ManagedObjectContext {
  /// Sets the derived attributes of an object that is being saved.
  ///
  /// - Returns: Whether a value that is stored changed.
  @discardableResult
  func computeDerived(_ object: ManagedObject) throws(ManagedObjectError) -> Bool {
    var isChanged = false
    for p in object.plan.derived {
      let property = object.plan.properties[p]
      guard case .attribute(let type) = property.kind, let text = property.attribute?.derivationExpression else { continue }
      func failure(_ message: String, _ cause: (any Error)?) -> ManagedObjectError {
        ManagedObjectError(
          .managedObjectValidation, "the derived attribute \(object.plan.name).\(property.name) \(message)",
          objectID: object.objectID, entityName: object.plan.name, key: property.name, rule: text, underlying: cause)
      }
      // A time of the save is new each time: it is taken once for each save, when something else changed.
      // Changes to transient properties alone are not saved, and no reason for a new time.
      if text.filter({ $0 != " " }) == "now()" {
        guard object.hasPersistentChangedValues, !derivedNow.contains(object) else { continue }
        derivedNow.append(object)
      }
      let expression: FetchExpression
      switch ParsedTexts.expression(text) {
      case .success(let parsed): expression = parsed
      case .failure(let error): throw failure("has an expression that cannot be read", error)
      }
      let value: PredicateValue
      do throws(ManagedObjectError) {
        value = try ManagedObjectError.reporting { () throws(PredicateEvaluationError) in
          try PredicateEvaluator(object, now: savingDate).value(of: expression)
        }
      } catch {
        throw failure("cannot be computed", error)
      }
      guard case .value(let stored) = value, let fitting = Self.fitting(stored, type) else {
        throw failure("comes to what \(type.modelName) cannot hold", nil)
      }
      if property.slot < 0 {
        object.setOverlay(p, .stored(fitting))
      } else if !object.storedValue(p).isIdentical(to: fitting) {
        // It follows from other changes, which undo takes back: it is no change of its own.
        object.applyStoredValue(p, fitting)
        isChanged = true
      }
    }
    return isChanged
  }

  /// A computed value as the attribute's type: numbers are converted, and rounded where the type is coarser.
  private static func fitting(_ value: StoredValue, _ type: AttributeType) -> StoredValue? {
    if type.accepts(value) { return value }
    guard let number = NumberOrder.Number(value) else { return nil }
    let converted: StoredValue
    switch type {
    case .integer16, .integer32, .integer64:
      let rounded: Int64? =
        if case .decimal(let decimal) = number {
          decimal.rounded(.toNearestOrAwayFromZero).integer
        } else {
          Int64(exactly: number.asDouble.rounded())
        }
      guard let rounded else { return nil }
      converted = .integer(rounded)
    case .double: converted = .double(number.asDouble)
    case .float: converted = .float(Float(number.asDouble))
    case .decimal:
      switch number {
      case .integer(let whole): converted = .decimal(DecimalNumber(whole))
      default:
        guard let decimal = DecimalNumber("\(number.asDouble)") else { return nil }
        converted = .decimal(decimal)
      }
    default: return nil
    }
    return type.accepts(converted) ? converted : nil
  }
}

/// Predicates and expressions of models, read once.
enum ParsedTexts {
  private static let predicates = Mutex<[String: Result<FetchPredicate?, PredicateFormatError>]>([:])
  private static let expressions = Mutex<[String: Result<FetchExpression, PredicateFormatError>]>([:])

  /// Nil for an empty text.
  static func predicate(_ text: String) -> Result<FetchPredicate?, PredicateFormatError> {
    if text.isEmpty { return .success(nil) }
    return predicates.withLock { known in
      if let found = known[text] { return found }
      if known.count > 1024 { known = [:] }
      let made: Result<FetchPredicate?, PredicateFormatError>
      do throws(PredicateFormatError) { made = .success(try FetchPredicate(format: text)) } catch { made = .failure(error) }
      known[text] = made
      return made
    }
  }

  static func expression(_ text: String) -> Result<FetchExpression, PredicateFormatError> {
    expressions.withLock { known in
      if let found = known[text] { return found }
      if known.count > 1024 { known = [:] }
      let made: Result<FetchExpression, PredicateFormatError>
      do throws(PredicateFormatError) { made = .success(try FetchExpression(format: text)) } catch { made = .failure(error) }
      known[text] = made
      return made
    }
  }
}
