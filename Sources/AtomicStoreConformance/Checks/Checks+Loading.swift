extension Checks {
  static let loading: [CheckDefinition] = []
}
