import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// How a part of a check that ran in its own process ended.
enum PhaseEnd<Value: Codable & Sendable>: Sendable {
  case value(Value)
  /// An error was thrown, as errors should be.
  case refused(PhaseError)
  case crashed(signal: Int32)
  case exited(code: Int32)
  /// It used more processor time than its limit, or waited ten times as long for something that did not come.
  case timedOut
}

extension PhaseEnd<Data> {
  /// With the value that the bytes stand for; an end without an answer if they stand for none.
  @_semantics("optimize.sil.specialize.generic.never")
  func decoded<Answer: Codable & Sendable>(as type: Answer.Type) -> PhaseEnd<Answer> {
    switch self {
    case .value(let bytes): (try? JSONDecoder().decode(Answer.self, from: bytes)).map { .value($0) } ?? .exited(code: 0)
    case .refused(let error): .refused(error)
    case .crashed(let signal): .crashed(signal: signal)
    case .exited(let code): .exited(code: code)
    case .timedOut: .timedOut
    }
  }
}

/// An error that crossed from one process to another.
struct PhaseError: Codable, Sendable, Error {
  /// The store error's code; nil for errors of another type.
  var code: String?
  var text: String
  var file: String?
  var line: Int?
  var offset: Int?
  var hasFile: Bool { file != nil }
  var hasPlace: Bool { line != nil || offset != nil }

  init(code: String?, text: String) {
    self.code = code
    self.text = text
  }
  init(_ error: PersistentStoreError) {
    code = error.code.description
    text = "\(error)"
    file = error.location.file
    line = error.location.line
    offset = error.location.offset
  }
}
