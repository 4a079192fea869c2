extension Checks {
  static let hostilePropertyList: [CheckDefinition] = []
}
