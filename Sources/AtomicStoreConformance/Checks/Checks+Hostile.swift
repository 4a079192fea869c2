extension Checks {
  static let hostile: [CheckDefinition] = []
}
