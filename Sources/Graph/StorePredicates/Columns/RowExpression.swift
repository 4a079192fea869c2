package import AtomicStoreSPI
import FoundationEssentials

/// A number, or null, as an expression computes it for a row.
package enum RowNumber {
  case null
  case integer(Int64)
  case double(Double)
  case decimal(DecimalNumber)

  /// Returns nil for a value that is not a number.
  package init?(_ value: StoredValue) {
    if value.isNull {
      self = .null
      return
    }
    switch NumberOrder.Number(value) {
    case .integer(let number)?: self = .integer(number)
    case .double(let number)?: self = .double(number)
    case .decimal(let number)?: self = .decimal(number)
    case nil: return nil
    }
  }

  package var value: StoredValue {
    switch self {
    case .null: .null
    case .integer(let number): .integer(number)
    case .double(let number): .double(number)
    case .decimal(let number): .decimal(number)
    }
  }
}

/// A calculation with the numbers of a row that cannot fail. Everything else is evaluated by a ``PredicateEvaluator``.
package indirect enum RowExpression {
  case constant(RowNumber)
  /// A numeric attribute.
  case attribute(slot: Int)
  /// The number of Unicode scalars of a string.
  case length(slot: Int)
  /// Of a to-one's destination, by entity.
  case through(slot: Int, [Int: RowExpression])
  case function(Function, RowExpression, RowExpression?)

  /// Functions that have a result for all numbers; the remainder, for all divisors but 0.
  package enum Function: String {
    case add = "add:to:"
    case subtract = "from:subtract:"
    case multiply = "multiply:by:"
    case divide = "divide:by:"
    case modulus = "modulus:by:"
    case absolute = "abs:"
    case floor = "floor:"
    case ceiling = "ceiling:"
    case truncate = "trunc:"
    case squareRoot = "sqrt:"

    var argumentCount: Int {
      switch self {
      case .add, .subtract, .multiply, .divide, .modulus: 2
      case .absolute, .floor, .ceiling, .truncate, .squareRoot: 1
      }
    }
  }

  /// Calls `body` with the entity and slot of each column that the expression reads.
  package func visitColumns(_ entity: Int, _ body: (_ entity: Int, _ slot: Int) -> Void) {
    switch self {
    case .constant: return
    case .attribute(let slot), .length(let slot): body(entity, slot)
    case .through(let slot, let others):
      body(entity, slot)
      for (entity, other) in others { other.visitColumns(entity, body) }
    case .function(_, let one, let other):
      one.visitColumns(entity, body)
      other?.visitColumns(entity, body)
    }
  }

  /// The entities whose rows the expression reads through relationships.
  package var entitiesLedTo: Set<Int> {
    switch self {
    case .constant, .attribute, .length: []
    case .through(_, let others):
      others.reduce(into: Set(others.keys)) { $0.formUnion($1.value.entitiesLedTo) }
    case .function(_, let one, let other): one.entitiesLedTo.union(other?.entitiesLedTo ?? [])
    }
  }
}

/// An expression with the columns of a version and an entity. Valid while the version is retained.
package indirect enum RowReader {
  case constant(RowNumber)
  case cells(ColumnView)
  case length(ColumnView)
  case through(ColumnView, [RowReader?])
  case function(RowExpression.Function, RowReader, RowReader?)

  package init(_ expression: RowExpression, _ version: NodeVersion, _ entity: Int) {
    switch expression {
    case .constant(let number): self = .constant(number)
    case .attribute(let slot): self = .cells(version.column(entity: entity, slot: slot))
    case .length(let slot): self = .length(version.column(entity: entity, slot: slot))
    case .through(let slot, let others):
      var readers = [RowReader?](repeating: nil, count: version.nodes.model.entityCount)
      for (entity, other) in others { readers[entity] = RowReader(other, version, entity) }
      self = .through(version.column(entity: entity, slot: slot), readers)
    case .function(let function, let one, let other):
      self = .function(
        function, RowReader(one, version, entity), other.map { RowReader($0, version, entity) })
    }
  }

  package func number(_ row: Int) -> RowNumber {
    switch self {
    case .constant(let number): return number
    case .cells(let column): return Self.cell(column, row)
    case .length(let column):
      guard let bytes = column.bytes(row) else { return .null }
      // Every scalar has one byte that does not continue another.
      var count: Int64 = 0
      for byte in bytes { count &+= byte & 0xC0 == 0x80 ? 0 : 1 }
      return .integer(count)
    case .through(let column, let readers):
      let bits = column.handle(row)
      guard bits != .max, let reader = readers[Int(bits >> 32)] else { return .null }
      return reader.number(Int(bits & 0xFFFF_FFFF))
    case .function(let function, let one, let other):
      return Self.calculate(function, one.number(row), other?.number(row))
    }
  }

  private static func cell(_ column: ColumnView, _ row: Int) -> RowNumber {
    if column.layout == .bytes {
      guard let bytes = column.bytes(row) else { return .null }
      return DecimalNumber(utf8: Span(_unsafeElements: bytes)).map { .decimal($0) } ?? .null
    }
    guard column.isPresent(row) else { return .null }
    switch column.layout {
    case .boolean: return .integer(column.cell(row, as: UInt8.self) == 0 ? 0 : 1)
    case .integer16, .integer32, .integer64: return .integer(column.integer(row))
    case .float: return .double(Double(column.cell(row, as: Float.self)))
    case .double: return .double(column.cell(row, as: Double.self))
    case .uuid, .bytes, .toOne, .toMany: return .null
    }
  }

  /// Null in a calculation results in null.
  private static func calculate(_ function: RowExpression.Function, _ one: RowNumber, _ other: RowNumber?) -> RowNumber
  {
    if case .null = one { return .null }
    if case .null? = other { return .null }
    if case .integer(let a) = one, case .integer(let b)? = other {
      let result: (partialValue: Int64, overflow: Bool)? =
        switch function {
        case .add: a.addingReportingOverflow(b)
        case .subtract: a.subtractingReportingOverflow(b)
        case .multiply: a.multipliedReportingOverflow(by: b)
        default: nil
        }
      if let result, !result.overflow { return .integer(result.partialValue) }
    }
    if let (a, b) = doubles(one, other) {
      let result: Double? =
        switch function {
        case .add: a + b
        case .subtract: a - b
        case .multiply: a * b
        case .divide: a / b
        default: nil
        }
      // As ``Arithmetic`` does: which bits not-a-number has depends on the order of the operands.
      if let result { return .double(result.isNaN ? .nan : result) }
    }
    let values = [one.value] + (other.map { [$0.value] } ?? [])
    return Arithmetic.calculate(function.rawValue, values).flatMap { RowNumber($0) } ?? .null
  }

  /// Two numbers of which at least one is a double, and none a decimal.
  private static func doubles(_ one: RowNumber, _ other: RowNumber?) -> (Double, Double)? {
    switch (one, other) {
    case (.double(let a), .double(let b)?): (a, b)
    case (.double(let a), .integer(let b)?): (a, Double(b))
    case (.integer(let a), .double(let b)?): (Double(a), b)
    default: nil
    }
  }

  // MARK: Comparing

  /// As ``PredicateEvaluator`` compares two numbers: null equals null and has no order, nor has not-a-number.
  package static func holds(_ one: RowNumber, _ order: RowOrder, _ other: RowNumber) -> Bool {
    switch (one, other) {
    case (.null, .null): return order == .equal
    case (.null, _), (_, .null): return order == .notEqual
    case (.integer(let a), .integer(let b)): return order.holds(a < b ? -1 : a > b ? 1 : 0)
    case (.double(let a), .double(let b)): return order.holds(a, b)
    default: return order.holds(NumberOrder.order(one.value, other.value))
    }
  }
}
