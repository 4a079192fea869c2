extension CheckDefinition {
  /// What is most often wrong if the check fails. Unless the check names causes: what the stores do that it is there to
  /// find.
  ///
  /// - Parameter subject: May have its own faults.
  func likelyCauses(in subject: ConformanceSubject) -> [String] {
    causes.isEmpty ? catches.compactMap { Faults.named($0, in: subject)?.text } : causes
  }
}

extension ConformanceCheck {
  /// What is most often wrong if the check fails.
  package var likelyCauses: [String] { definition.likelyCauses(in: subject) }

  /// The faults that the check is there to catch: their names, and what a store does that has them.
  package var catches: [(name: String, text: String)] {
    definition.catches.map { ($0, Faults.named($0, in: subject)?.text ?? "cannot be planted") }
  }
}
