extension ModelDescription {
  /// Everything that is wrong or questionable, in entity order.
  func problems() -> [ModelProblem] {
    []
  }
}
