extension Checks {
  static let registration: [CheckDefinition] = []
}
