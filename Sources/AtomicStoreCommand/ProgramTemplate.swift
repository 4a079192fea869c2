/// A format that is a program, as `new-format` writes it: a sample in `SampleStores/Programs`, in the command so that
/// it can be written where there is no checkout.
struct ProgramTemplate {
  let fileExtension: String
  let text: String
}
