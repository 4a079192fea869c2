import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// A call of a function: its arguments, and what it may use of the evaluation.
struct FunctionCall {
  let name: String
  var arguments: [PredicateValue]
  /// The same for all objects that a clause of a fetch is evaluated on.
  let now: Date
  let budget: StepBudget

  /// The largest text or data that a function makes, in bytes.
  static let maximumSize = InnerValue.maximumSize

  /// The evaluator adds what the call is evaluated on.
  func failure(_ message: String) -> PredicateEvaluationError { PredicateEvaluationError(.invalid, message) }

  func replacingFirst(_ value: PredicateValue) -> FunctionCall {
    var call = self
    call.arguments[0] = value
    return call
  }

  /// An error of a reader, which names the function.
  func failure(_ error: PersistentStoreError) -> PredicateEvaluationError {
    let offset = error.location.offset.map { ", at byte \($0)" } ?? ""
    return failure("\(name) \(error.message)\(offset)")
  }

  /// Counts the bytes that a function reads or writes.
  ///
  /// - Throws: An error if a result would be too large, or if no steps are left.
  func take(bytes count: Int) throws(PredicateEvaluationError) {
    try check(bytes: count)
    try budget.take(count / 64)
  }

  /// The same limit for a result that grows, and is counted when it is complete.
  func check(bytes count: Int) throws(PredicateEvaluationError) {
    guard count <= Self.maximumSize else {
      throw failure("\(name) has a result of more than \(Self.maximumSize) bytes, the limit")
    }
  }

  // MARK: Arguments

  func value(_ index: Int, _ what: String) throws(PredicateEvaluationError) -> StoredValue {
    guard case .value(let value) = arguments[index] else {
      throw failure("\(name) requires \(what), not objects or lists")
    }
    return value
  }

  private func wrong(_ what: String, _ value: StoredValue) -> PredicateEvaluationError {
    failure("\(name) requires \(what), not \(value.kindDescription)")
  }

  func text(_ index: Int) throws(PredicateEvaluationError) -> String {
    switch try value(index, "a string") {
    case .string(let text), .uri(let text): return text
    case let other: throw wrong("a string", other)
    }
  }

  func integer(_ index: Int) throws(PredicateEvaluationError) -> Int {
    let value = try value(index, "an integer")
    switch NumberOrder.Number(value) {
    case .integer(let number)?: return Int(number)
    case .double(let number)?: if let whole = Int(exactly: number) { return whole }
    case .decimal(let number)?: if let whole = number.integer { return Int(whole) }
    case nil: break
    }
    throw failure("\(name) requires an integer, not \(value.displayText)")
  }

  func number(_ index: Int) throws(PredicateEvaluationError) -> NumberOrder.Number {
    let value = try value(index, "a number")
    guard let number = NumberOrder.Number(value) else { throw wrong("a number", value) }
    return number
  }

  /// A date, or a text that is one.
  func date(_ index: Int) throws(PredicateEvaluationError) -> Date {
    switch try value(index, "a date") {
    case .date(let date): return date
    case .string(let text):
      guard let date = DateText.date(text) else { throw failure("\(name) requires a date; \(PredicateDate.forms)") }
      return date
    case let other: throw wrong("a date", other)
    }
  }

  /// Bytes, or the UTF-8 of a text.
  func content(_ index: Int) throws(PredicateEvaluationError) -> [UInt8] {
    let bytes: [UInt8]
    switch try value(index, "binary data") {
    case .data(let data): bytes = [UInt8](data)
    case .string(let text), .uri(let text): bytes = Array(text.utf8)
    case let other: throw wrong("binary data", other)
    }
    try budget.take(bytes.count / 64)
    return bytes
  }

  /// A value as a part of a text: a number as `CAST(…, 'string')` writes it.
  func words(_ value: PredicateValue) throws(PredicateEvaluationError) -> String {
    guard case .value(let stored) = value, case .string(let text)? = PredicateCast.converted(stored, "string") else {
      let kind = if case .value(let stored) = value { stored.kindDescription } else { "objects or lists" }
      throw failure("\(name) requires strings or numbers, not \(kind)")
    }
    return text
  }
}
