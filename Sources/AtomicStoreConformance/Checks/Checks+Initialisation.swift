extension Checks {
  static let initialisation: [CheckDefinition] = []
}
