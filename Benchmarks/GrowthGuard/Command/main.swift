import Foundation

// What Benchmarks/guard runs under valgrind: the operations of one group, each at several sizes, in one process, since
// valgrind spends most of its time on code that it sees for the first time.
//
//   growth-guard GROUP SIZES FOLDER     GROUP is graph, planted, or a shape; FOLDER holds SHAPE-SIZE.xml
//
// Writes FOLDER/GROUP.steps: a line for each count, in their order.
//
//   growth-guard identity|saves TYPE STORE      prints what requests, or saves, take: see RequestSteps
//   growth-guard insertion OBJECTS STORE        the same of a new property list

let arguments = CommandLine.arguments
guard arguments.count == 4 else {
  FileHandle.standardError.write(Data("usage: growth-guard GROUP SIZES FOLDER\n".utf8))
  exit(64)
}
let (group, folder) = (arguments[1], arguments[3])
let sizes = arguments[2].split(separator: ",").compactMap { Int($0) }

let steps = Steps()
do {
  switch group {
  case "identity": try RequestSteps(type: arguments[2], path: folder).runIdentity()
  case "saves": try RequestSteps(type: arguments[2], path: folder).runSaves()
  case "insertion": try RequestSteps(type: "BinaryPropertyList", path: folder).runInsertion(sizes.first ?? 1)
  default: break
  }
  if ["identity", "saves", "insertion"].contains(group) { exit(0) }
  // The first size twice: what is done once in a process does not count.
  for (round, size) in (sizes.prefix(1) + sizes).enumerated() {
    steps.size = round == 0 ? 0 : size
    let place = "\(folder)/\(group)-\(size)-\(round)"
    switch group {
    case "graph": try GraphSteps(steps, size, place).run()
    case "planted": try GraphSteps(steps, size, place).runPlanted()
    default: try ShapeSteps(steps: steps, shape: group, source: "\(folder)/\(group)-\(size)", place: place).run()
    }
  }
  try steps.lines.joined().write(toFile: "\(folder)/\(group).steps", atomically: false, encoding: .utf8)
} catch {
  FileHandle.standardError.write(Data("\(group): \(error)\n".utf8))
  exit(1)
}
