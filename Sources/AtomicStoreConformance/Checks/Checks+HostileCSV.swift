extension Checks {
  static let hostileCSV: [CheckDefinition] = []
}
