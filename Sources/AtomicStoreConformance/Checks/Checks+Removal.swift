extension Checks {
  static let removal: [CheckDefinition] = []
}
