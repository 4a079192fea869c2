extension Checks {
  static let concurrency: [CheckDefinition] = []
}
