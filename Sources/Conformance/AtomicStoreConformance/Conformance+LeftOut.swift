extension Conformance {
  /// Rules of the catalogue that have no check here, each with the reason.
  package static let leftOut: [(id: String, reason: String)] = [
    (
      "SAV-23",
      "what a format makes of comments and other content that is legal and means nothing to it is its own affair, and its description says so; content that it cannot read is refused at load (HXM, HPL and HCS)"
    ),
    (
      "VAL-26",
      "text that is not valid Unicode can only come from a file that holds UTF-16, as binary property lists do: HBP-07 plants half pairs there; in Swift no value is such a text"
    ),
    (
      "HOS-05",
      "no store unarchives classes: values of transformable attributes are bytes to it, and go to transformers that the program registers by name"
    ),
    (
      "CNV-09",
      "pipes are the command’s, not the converter’s: CommandTests, “- stands for standard input and output”, compares both to the byte"
    ),
    (
      "CNV-12",
      "signals are the command’s: CommandTests, “an interrupt leaves neither a result nor temporary files”; CNV-05 kills a conversion at each of its calls"
    ),
    ("REG-05", "a registry is a value: a coordinator has its own, from which no one else can remove a type"),
    ("REG-06", "a type's name is the type's own, so that one format has one name"),
    ("REG-07", "as REG-06: a name is written in the program, not given to it"),
    ("REG-08", "as REG-05: a registry is not shared between threads"),
    (
      "INI-21",
      "a URL is made a path by the coordinator, which refuses those that are not file URLs; a format sees the path"
    ),
    ("MET-11", "the kit refuses entries with its own keys before a format sees them"),
    ("MET-14", "no trait says that metadata can be read at a cost that does not grow"),
    ("CON-07", "data races are found by a build with the thread sanitizer, which this is not"),
    ("CON-08", "the coordinator makes saves wait for each other; no format can undo that"),
    ("REM-10", "the kit's clean-up does not depend on the format's: there is nothing that could be left out"),
    ("REM-13", "what objects of a removed store do is the context's, and no format's"),
    (
      "REL-17",
      "The context refuses a relationship between two stores before either is asked: no store can do otherwise."
    ),
    (
      "REF-09",
      "No format here derives all its references from values; those that read other programs' tables do it for one file."
    ),
    ("SCH-09", "The kit migrates from one model to another, and no format sees both: StoreMigrationTests rename."),
    ("SCH-14", "Needs files of earlier releases: the kit's own tests keep them, and a format's author has others."),
  ]
}
