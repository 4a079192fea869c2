import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs
import StoreJSON

/// Functions that look into bytes.
extension PredicateFunction {
  static let contents: [PredicateFunction] = [
    PredicateFunction("kind:", 1...1, [.content], .text, kind),
    PredicateFunction("size:", 1...1, [.content], .number, size),
    PredicateFunction("hex:", 1...1, [.content], .text, hexadecimal),
    PredicateFunction("text:", 1...1, [.content], .text, text),
    PredicateFunction("gunzip:", 1...1, [.data], .data, decompress),
    PredicateFunction("inflate:", 1...1, [.data], .data, decompress),
    PredicateFunction("plist:", 1...2, [.content, .text], result: ofInside, inside),
    PredicateFunction("archive:", 1...2, [.content, .text], result: ofInside, inside),
    PredicateFunction("protobuf:", 1...2, [.data, .text], result: ofInside, inside),
    PredicateFunction("decoded:", 1...1, [.any], result: { $0[0].group == .data ? .text : .unknown }, decoded),
  ]

  /// JSON text; with a path, what the bytes have there.
  private static let ofInside: @Sendable ([PredicateKind]) -> PredicateKind = { $0.count == 1 ? .text : .unknown }

  private static func kind(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    .value(.string(MediaType(of: try call.content(0)).name))
  }

  private static func size(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    .value(.integer(Int64(try call.content(0).count)))
  }

  private static func hexadecimal(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    let bytes = try call.content(0)
    try call.take(bytes: bytes.count * 2)
    return .value(.string(String(hexadecimal: bytes)))
  }

  private static func text(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    let bytes = try call.content(0)
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw call.failure("text: requires UTF-8, and these \(bytes.count) bytes are not; hex: shows any bytes")
    }
    return .value(.string(text))
  }

  private static func decompress(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    let bytes = try call.content(0)
    let hasHeader = call.name == "gunzip:" || RawDeflate.isGzip(bytes) || RawDeflate.isZlib(bytes)
    let result: [UInt8]
    do throws(PersistentStoreError) {
      result = try RawDeflate.inflate(bytes, hasHeader: hasHeader, maximumCount: FunctionCall.maximumSize)
    } catch {
      let offset = error.location.offset.map { ", at byte \($0)" } ?? ""
      throw call.failure("\(call.name) cannot decompress: \(error.message)\(offset)")
    }
    try call.take(bytes: result.count)
    return .value(.data(Data(result)))
  }

  /// Other values than bytes are returned as they are.
  private static func decoded(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    guard case .value(.data(let data)) = call.arguments[0] else { return call.arguments[0] }
    try call.take(bytes: data.count)
    let content = DecodedContent.counted(data)
    try call.budget.take(content.steps)
    return .value(.string(content.value.json.line))
  }

  private static func inside(_ call: FunctionCall) throws(PredicateEvaluationError) -> PredicateValue {
    let bytes = try call.content(0)
    let path = call.arguments.count > 1 ? try call.text(1) : nil
    var limits = InnerLimits()
    defer { _ = call.budget.use(limits.steps) }
    do throws(PersistentStoreError) {
      guard call.name == "protobuf:" else {
        let value =
          try call.name == "plist:"
          ? InnerValue.propertyList(bytes, &limits) : InnerValue.archive(bytes, &limits)
        return .value((path.map { value.value(at: $0) } ?? value).storedOrJSON(path == nil))
      }
      guard let path else { return .value(try ProtobufMessage.value(bytes[...], &limits).storedOrJSON(true)) }
      let values = try ProtobufMessage.values(at: path, in: bytes[...])
      return values.count == 1
        ? .value(values[0].stored) : values.isEmpty ? .null : .list(values.map { .value($0.stored) })
    } catch {
      throw call.failure(error)
    }
  }
}

extension InnerValue {
  fileprivate func storedOrJSON(_ isWhole: Bool) -> StoredValue { isWhole ? .string(json.line) : stored }
}
