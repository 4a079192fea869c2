extension Checks {
  static let relationships: [CheckDefinition] = []
}
