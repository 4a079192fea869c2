extension Checks {
  static let references: [CheckDefinition] = []
}
