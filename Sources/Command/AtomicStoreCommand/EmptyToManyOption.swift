import ArgumentParser

/// The coordinator's option of that name, on the command line.
struct EmptyToManyOption: ParsableArguments {
  @Flag(
    name: .customLong("allow-empty-non-optional-to-many"),
    help:
      "Accept a to-many relationship that is not optional, has no minimum count, and that the change leaves empty. What was read empty is kept without this option."
  )
  var isAllowed = false
}
