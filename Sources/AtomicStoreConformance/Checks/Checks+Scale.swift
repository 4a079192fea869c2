extension Checks {
  static let scale: [CheckDefinition] = []
}
