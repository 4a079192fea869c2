extension Conformance {
  /// Rules of the catalogue that have no check here, each with the reason.
  public static let leftOut: [(id: String, reason: String)] = [
    (
      "SAV-23",
      "what a format makes of comments and other content that is legal and means nothing to it is its own affair, and its description says so; content that it cannot read is refused at load (HXM, HPL and HCS)"
    ),
    ("HOS-05", "no store unarchives classes: values of transformable attributes are bytes to it, and go to transformers that the program registers by name"),
    ("CNV-09", "pipes are the command’s, not the converter’s: CommandTests, “standard input and output stand for files”, compares both to the byte"),
    ("CNV-12", "signals are the command’s: CommandTests, “an interrupt leaves neither result nor litter”; CNV-05 kills a conversion at each of its calls"),
  ]
}
