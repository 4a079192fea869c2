extension Checks {
  static let changes: [CheckDefinition] = []
}
