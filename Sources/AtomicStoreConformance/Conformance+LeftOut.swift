extension Conformance {
  /// Rules of the catalogue that have no check here, each with the reason.
  public static let leftOut: [(id: String, reason: String)] = [
    ("REL-17", "The context refuses a relationship between two stores before either is asked: no store can do otherwise."),
    ("REF-09", "No format here derives all its references from values; those that read other programs' tables do it for one file."),
    ("SCH-09", "The kit does not migrate from one model to another, so that nothing is renamed."),
    ("SCH-14", "Needs files of earlier releases: the kit's own tests keep them, and a format's author has others."),
  ]
}
