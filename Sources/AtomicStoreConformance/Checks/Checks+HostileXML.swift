extension Checks {
  static let hostileXML: [CheckDefinition] = []
}
