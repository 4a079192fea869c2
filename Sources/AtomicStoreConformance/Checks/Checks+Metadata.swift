extension Checks {
  static let metadata: [CheckDefinition] = []
}
