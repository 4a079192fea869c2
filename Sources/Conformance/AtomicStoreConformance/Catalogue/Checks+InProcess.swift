extension Checks {
  /// The checks of the profile *core* that apply to a type whose stores are in the memory of a process: those about
  /// values, relationships, references and changes that look neither at files nor at calls of `load` and `save`, which
  /// such a type does not get.
  static let needNoFile: Set<String> = [
    "VAL-01", "VAL-02", "VAL-03", "VAL-05", "VAL-06", "VAL-07", "VAL-08", "VAL-09", "VAL-10", "VAL-11", "VAL-13",
    "VAL-14", "VAL-17", "VAL-18", "VAL-19", "VAL-20", "VAL-21", "VAL-22", "VAL-23", "VAL-24", "VAL-25", "VAL-27",
    "VAL-28", "VAL-29", "VAL-30", "VAL-31", "VAL-32", "VAL-33", "VAL-34", "VAL-37", "VAL-38", "VAL-39", "VAL-40",
    "VAL-42", "VAL-43", "VAL-44",
    "REL-01", "REL-02", "REL-03", "REL-04", "REL-05", "REL-06", "REL-07", "REL-08", "REL-09", "REL-15", "REL-16",
    "REF-01", "REF-02", "REF-03", "REF-04", "REF-08", "REF-10", "REF-13",
    "CHG-02", "CHG-03", "CHG-04", "CHG-05", "CHG-06", "CHG-07", "CHG-08", "CHG-10", "CHG-11", "CHG-12", "CHG-13",
  ]
}
