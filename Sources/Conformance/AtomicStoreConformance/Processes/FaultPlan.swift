import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// What is done to the calls of a process, and what they were.
final class FaultPlan {
  let state: UnsafeMutablePointer<csf_state>

  init(_ mode: csf_mode = CSF_COUNT, at: Int = 0, error: Int32 = 0, kinds: Int32 = 0, mistakes: Int32 = 0) throws {
    try Self.expectInForce()
    guard let state = csf_shared() else { throw Skipped(reason: "no memory can be shared between processes") }
    self.state = state
    state.pointee.mode = Int32(mode.rawValue)
    state.pointee.at = Int64(at)
    state.pointee.error = error
    state.pointee.kinds = kinds
    state.pointee.mistakes = mistakes
  }
  /// Two calls that come to nothing are seen here, and the second is failed: what looks for calls that are not made, or
  /// fails some, would pass where none can be seen.
  private static func expectInForce() throws {
    guard csf_has_replaced_calls() != 0 else {
      throw ExpectationFailure(
        expected: "the harness sees the calls of its processes, and can fail them",
        actual:
          "this program does not define them: add the product AtomicStoreConformanceFaults to the dependencies of the target that runs checks"
      )
    }
    guard let state = csf_shared() else { throw Skipped(reason: "no memory can be shared between processes") }
    defer { munmap(state, MemoryLayout<csf_state>.size) }
    state.pointee.mode = Int32(CSF_FAIL.rawValue)
    state.pointee.at = 2
    state.pointee.error = EDOM
    csf_arm(state)
    _ = unlink("/nothing/is/here")
    let isFailed = rename("/nothing/is/here", "/nor/here") != 0 && errno == EDOM
    csf_disarm()
    guard state.pointee.calls == 2, isFailed else {
      throw ExpectationFailure(
        expected: "the harness sees the calls of its processes, and can fail them",
        actual: "\(state.pointee.calls) of 2 were seen: the program is bound to the system's calls past the harness's")
    }
  }

  deinit { munmap(state, MemoryLayout<csf_state>.size) }

  /// How many calls there were that change something.
  var calls: Int { Int(state.pointee.calls) }
  var reads: Int { Int(state.pointee.reads) }
  /// How many looks at the disk there were after the first rename.
  var looks: Int { Int(state.pointee.looks) }
  /// Whether the call that was to fail was made.
  var wasReached: Bool { state.pointee.reached != 0 }

  struct Call {
    var what: String
    var path: String
    var other: String?
  }
  /// The calls in their order.
  var trace: [Call] {
    let length = Int(state.pointee.trace_length)
    let bytes = UnsafeRawBufferPointer(start: csf_trace(state), count: length)
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { line in
      let parts = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      return Call(what: parts[0], path: parts.count > 1 ? parts[1] : "", other: parts.count > 2 ? parts[2] : nil)
    }
  }
  var changes: [Call] { trace.filter { $0.what != "read" } }
}
