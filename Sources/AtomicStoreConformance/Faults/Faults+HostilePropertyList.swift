extension Faults {
  static let hostilePropertyList: [Fault] = []
}
