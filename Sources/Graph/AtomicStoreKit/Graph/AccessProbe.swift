import Observation

/// Detects whether the running code is inside `withObservationTracking`, which Observation has no function for.
///
/// It reports an access to a key path with its own argument. While accesses are tracked, Observation adds the key
/// path to a set, and therefore asks the argument for its hash value; otherwise nothing happens. A context owns a
/// probe, and uses it where the context is used.
final class AccessProbe {
  private struct Subject: Observable {
    subscript(argument: Argument) -> Bool { false }
  }
  private final class Answer {
    var wasAsked = false
  }
  private struct Argument: Hashable {
    let answer: Answer
    static func == (one: Argument, other: Argument) -> Bool { one.answer === other.answer }
    func hash(into hasher: inout Hasher) {
      answer.wasAsked = true
      hasher.combine(ObjectIdentifier(answer))
    }
  }
  private let answer = Answer()
  private let keyPath: KeyPath<Subject, Bool>
  // A constant: reading a variable would retain it at each access.
  private let registrar = ObservationRegistrar()
  /// Whether accesses were tracked. Observation then keeps something in the probe for each tracking: nothing ever
  /// changes here, so it would stay.
  private(set) var isUsed = false

  init() {
    keyPath = \Subject[Argument(answer: answer)]
    // Creating the key path may have asked for the hash value.
    answer.wasAsked = false
  }

  /// Whether accesses to properties are tracked now, on this thread.
  var isTracking: Bool {
    registrar.access(Subject(), keyPath: keyPath)
    guard answer.wasAsked else { return false }
    answer.wasAsked = false
    isUsed = true
    return true
  }
}
