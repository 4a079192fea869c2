extension Conformance {
  /// Rules of the catalogue that have no check here, each with the reason.
  public static let leftOut: [(id: String, reason: String)] = [
  ]
}
