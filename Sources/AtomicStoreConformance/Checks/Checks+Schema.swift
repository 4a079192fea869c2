extension Checks {
  static let schema: [CheckDefinition] = []
}
