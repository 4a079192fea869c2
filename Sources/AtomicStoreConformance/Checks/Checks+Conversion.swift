extension Checks {
  static let conversion: [CheckDefinition] = []
}
