extension Checks {
  static let saving: [CheckDefinition] = []
}
