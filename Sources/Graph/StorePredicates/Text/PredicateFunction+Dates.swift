import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Functions of dates, in UTC or in the time zone that is their last argument.
extension PredicateFunction {
  static let dates: [PredicateFunction] =
    [PredicateFunction("now", 0...0, [.any], .date, style: .whole, now)]
    + CalendarFields.Unit.allCases.map { unit in
      PredicateFunction("\(unit.rawValue):", 1...2, [.date, .text], .number) { call throws(PredicateEvaluationError) in
        .value(.integer(Int64(try local(call, zone: 1).fields[unit])))
      }
    } + [
      PredicateFunction("weekday:", 1...2, [.date, .text], .number, weekday),
      PredicateFunction("startOf:", 2...3, [.date, .text], .date, start),
      PredicateFunction("dateText:", 1...2, [.date, .text], .text, dateText),
    ]

  private static func now(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    .value(.date(call.now))
  }

  private static func weekday(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    .value(.integer(Int64(try local(call, zone: 1).fields.weekday)))
  }

  private static func start(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    let name = try call.text(1)
    guard let unit = CalendarFields.Unit(rawValue: name.lowercased()) else {
      throw call.failure(
        "startOf: requires \(CalendarFields.Unit.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")), not "
          + "'\(name)'")
    }
    let (fields, zone, offset) = try local(call, zone: 2)
    let begin = fields.start(of: unit)
    let isWithinDay = unit == .hour || unit == .minute || unit == .second
    let moment = isWithinDay ? begin - offset : zone.moment(ofLocal: begin)
    return .value(.date(Date(timeIntervalSinceReferenceDate: Double(moment))))
  }

  /// ISO 8601 to the second, with the offset of the zone.
  private static func dateText(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    let (local, _, exact) = try local(call, zone: 1)
    // An offset is written in minutes, and those of the nineteenth century have seconds.
    let offset = exact / 60 * 60
    let fields = offset == exact ? local : CalendarFields(seconds: try call.moment(0) + offset)
    guard (0...9999).contains(fields.year) else {
      throw call.failure("dateText: has no result for the year \(fields.year): ISO 8601 has years from 0 to 9999")
    }
    func digits(_ number: Int, _ count: Int) -> String {
      let text = "\(number)"
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    var text = "\(digits(fields.year, 4))-\(digits(fields.month, 2))-\(digits(fields.day, 2))T"
    text += "\(digits(fields[.hour], 2)):\(digits(fields[.minute], 2)):\(digits(fields[.second], 2))"
    if offset == 0 { return .value(.string(text + "Z")) }
    let minutes = abs(offset) / 60
    text += "\(offset < 0 ? "-" : "+")\(digits(minutes / 60, 2)):\(digits(minutes % 60, 2))"
    return .value(.string(text))
  }

  /// The local time of a date, which is the first argument.
  ///
  /// - Parameter zone: The argument that names the time zone; UTC if there is none.
  private static func local(
    _ call: FunctionCall, zone index: Int
  ) throws(PredicateEvaluationError) -> (fields: CalendarFields, zone: TimeZoneOffsets, offset: Int) {
    let seconds = try call.date(0).timeIntervalSinceReferenceDate
    guard CalendarFields.range.contains(seconds) else {
      throw call.failure("\(call.name) has no result for a date so far from now (\(seconds) seconds since 2001)")
    }
    let moment = try call.moment(0)
    guard call.arguments.count > index else { return (CalendarFields(seconds: moment), .utc, 0) }
    switch TimeZoneOffsets.named(try call.text(index)) {
    case .failure(let problem): throw call.failure("\(call.name) \(problem.message)")
    case .success(let zone):
      let offset = zone.offset(at: moment)
      return (CalendarFields(seconds: moment + offset), zone, offset)
    }
  }
}

extension FunctionCall {
  /// The second that an argument is in, since 2001: only for dates of ``CalendarFields/range``.
  fileprivate func moment(_ index: Int) throws(PredicateEvaluationError) -> Int {
    Int(try date(index).timeIntervalSinceReferenceDate.rounded(.down))
  }
}
