import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import IClassObjects

// Walks through the iClass example: `swift run iclass [FOLDER [EXTENSION]]`. The stores stay behind, to be looked at.
// They are an XML store and a CSV store, or both of the type that has the extension:
// `swift run iclass stores sqlgraph`.

let arguments = Array(CommandLine.arguments.dropFirst())
let folder = arguments.first ?? "iclass-stores"
let files = arguments.count > 1 ? SchoolFiles(people: arguments[1], courses: arguments[1]) : SchoolFiles()
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
for name in ["People." + files.people, "Courses." + files.courses] {
  for version in ["", "V2"] {
    let path = folder + "/" + name.replacing(".", with: version + ".", maxReplacements: 1)
    if FileManager.default.fileExists(atPath: path) {
      try PersistentStoreCoordinator(registry: .builtIn).destroyPersistentStore(at: path)
    }
  }
}

func say(_ text: String) { print(text) }
func list(_ names: some Sequence<String>) -> String {
  let names = names.sorted()
  return names.isEmpty ? "no one" : names.joined(separator: ", ")
}

do {
  say(
    "A school: people in \(folder)/People.\(files.people) (private), courses in \(folder)/Courses.\(files.courses) (public)."
  )
  let school = try School(folder: folder, registry: .builtIn, files: files)
  let ada = try school.enrollStudent(named: "Ada")
  let grace = try school.enrollStudent(named: "Grace")
  let turing = try school.hireTeacher(named: "Turing")
  let logic = school.addCourse(titled: "Logic")
  let engines = school.addCourse(titled: "Engines")
  say(
    "Hired and enrolled, each with its own number: \(turing.name) \(turing.personID), \(ada.name) \(ada.personID), \(grace.name) \(grace.personID)."
  )
  say("Saved after every change, in calls put off until the change was noticed: \(school.saveCount) saves so far.")

  ada.courses = [logic, engines]
  grace.courses = [logic]
  school.endEvent()
  say("Students of Logic, kept by the transient relationship's inverse: \(list(logic.students.map(\.name))).")

  turing.signUpToTeach(logic)
  turing.signUpToTeach(engines)
  school.endEvent()
  say("Turing teaches, by a fetched property in the other store: \(list(turing.courses.map(\.title))).")
  turing.resignFromTeaching(engines)
  school.endEvent()
  say("After resigning from Engines, fetched again: \(list(turing.courses.map(\.title))).")
  guard school.saveErrors.isEmpty else { throw school.saveErrors[0] }
}

do {
  let school = try School(folder: folder, registry: .builtIn, files: files)
  say("\nOpened again: the relationships come back from the URIs that were stored.")
  for student in try school.students() { say("  \(student.name) takes \(list(student.courses.map(\.title)))") }
  for course in try school.courses() {
    say(
      "  \(course.title): teacher: \(course.teacher?.name ?? "none"), students: \(list(course.students.map(\.name)))")
  }
  let turing = try school.teachers()[0]
  let logic = try school.courses().first { $0.title == "Logic" }
  school.context.delete(turing)
  school.endEvent()
  say(
    "Turing is deleted. Logic observed the deletion: teacher \(logic?.teacher?.name ?? "none"), URI \(logic?.teacherURI ?? "none")."
  )
  guard school.saveErrors.isEmpty else { throw school.saveErrors[0] }
}

do {
  say("\nThe second variant, with proxies: each store is whole without the other.")
  let school = try ProxySchool(folder: folder, registry: .builtIn, files: files)
  try school.mountPrivateStore()
  try school.mountPublicStore()
  let ada = ProxiedStudent(context: school.context)
  ada.name = "Ada"
  let grace = ProxiedStudent(context: school.context)
  grace.name = "Grace"
  let logic = ProxiedCourse(context: school.context)
  logic.title = "Logic"
  try school.enroll(ada, in: logic)
  try school.context.save()
  try school.unmountPublicStore()
  say(
    "Courses are not mounted. Ada still takes \(list(ada.courseProxies.map(\.title))); Grace takes it too, meanwhile.")
  if let proxy = try school.courseProxies().first { try school.enroll(grace, in: proxy) }
  try school.context.save()
  try school.mountPublicStore()
  let again = try school.courses()
  say("Mounted again, Logic knows of \(list(again.flatMap { $0.studentProxies.map(\.name) })).")
  let repaired = try school.repair()
  try school.context.save()
  say("Repaired (\(repaired)): \(list(again.flatMap { $0.studentProxies.map(\.name) })).")
}

say(
  "\nLook at the stores:\n  atomicstore inspect \(folder)/People.\(files.people)\n  atomicstore inspect \(folder)/Courses.\(files.courses)"
)
