import CProcesses
import FoundationEssentials
import Glibc

/// A reader that shares no line with ours: Python's, where this machine has it.
enum OtherReader {
  /// Runs a script, which is given paths and writes its answer as JSON to the file named first.
  static func python<Answer: Decodable>(_ script: String, _ paths: [String], in folder: String, as type: Answer.Type)
    throws -> Answer
  {
    let search = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
    let places = search.split(separator: ":").map { "\($0)/python3" }
    guard let program = places.first(where: { access($0, X_OK) == 0 }) else {
      throw Skipped(reason: "there is no python3 here")
    }
    let answer = folder + "/answer.json"
    Files.remove(answer)
    var arguments = ([program, "-I", "-c", script, answer] + paths).map { strdup($0) }
    arguments.append(nil)
    var variables = ProcessInfo.processInfo.environment.map { strdup("\($0.key)=\($0.value)") }
    variables.append(nil)
    defer { for text in arguments + variables { free(text) } }
    let process = cpr_spawn(program, arguments, variables, nil, [-1, -1, -1], 3)
    guard process > 0 else { throw Skipped(reason: "\(program) cannot be started") }
    var code: Int32 = 0
    let end = cpr_wait(process, 20_000, &code)
    if end == 0 {
      kill(-process, SIGKILL)
      _ = cpr_wait(process, 1000, &code)
      throw Skipped(reason: "\(program) does not end")
    }
    guard end == 1, code == 0, let bytes = Files.read(answer),
      let read = try? JSONDecoder().decode(Answer.self, from: Data(bytes))
    else {
      throw Skipped(reason: "\(program) gives no answer")
    }
    return read
  }
}
