import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation

// Departments and employees, the guide's own example: `swift run departments [STORE]`. The store is a folder for an
// XML store, the path of a store whose extension says its type, or a URL: `swift run departments company.sqlgraph`.

final class Department: ManagedObject {
  @Managed("name") var name: String
  @Managed("employees") var employees: Set<Employee>
  // Found, not kept: those who were hired last year. A fetched property is a list, and is fetched once until refreshed.
  @Managed("recentHires") var recentHires: [Employee]
}

final class Employee: ManagedObject {
  @Managed("name") var name: String
  @Managed("salary") var salary: DecimalNumber?
  @Managed("hired") var hired: Date
  @Managed("department") var department: Department?

  override func validate(_ value: inout Any?, forKey key: String) throws {
    // Trim white space around names, wherever they come from.
    if key == "name", let name = value as? String { value = name.trimmingCharacters(in: .whitespaces) }
  }
}

let description = ModelDescription(entities: [
  EntityDescription(
    name: "Department",
    properties: [
      .attribute("name", .string, isOptional: false),
      .toMany("employees", "Employee", inverse: "department", deleteRule: .deny),
      .fetchedProperty(
        FetchedPropertyDescription(
          name: "recentHires",
          fetchRequest: FetchRequestDescription(
            name: "recentHires", entityName: "Employee",
            predicateString: "department == $FETCH_SOURCE AND hired > CAST(725846400, 'NSDate')"))),
    ]),
  EntityDescription(
    name: "Employee",
    properties: [
      .attribute("name", .string, isOptional: false, minimumLength: 1),
      .attribute("salary", .decimal, minimum: .decimal(DecimalNumber(0))),
      .attribute("hired", .date),
      .toOne("department", "Department", inverse: "employees", isOptional: false),
    ]),
])

var path = CommandLine.arguments.dropFirst().first ?? FileManager.default.temporaryDirectory.path
var isFolder: ObjCBool = false
if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue {
  path += "/Departments.xml"
  // What an earlier run left.
  try? FileManager.default.removeItem(atPath: path)
}

let coordinator = PersistentStoreCoordinator(
  managedObjectModel: try ManagedObjectModel(description), registry: .builtIn)
coordinator.setManagedObjectClass(Department.self, forEntityName: "Department")
coordinator.setManagedObjectClass(Employee.self, forEntityName: "Employee")
try coordinator.addPersistentStore(at: path)
let context = ManagedObjectContext(coordinator)
context.undoManager = UndoHistory()

let sales = Department(context: context)
sales.name = "Sales"
let marketing = Department(context: context)
marketing.name = "Marketing"
let ada = Employee(context: context)
ada.name = "  Ada "
ada.salary = DecimalNumber("5200.50")
ada.hired = Date(timeIntervalSinceReferenceDate: 740_000_000)
ada.department = sales
try context.save()
print("Saved \(path); the name was tidied by its validation: '\(ada.name)'.")

// One line transfers an employee: both departments know.
ada.department = marketing
print(
  "Ada moved. Sales has \(sales.employees.count), Marketing has \(marketing.employees.count), recent hires there: \(marketing.recentHires.map(\.name))."
)
context.undo()
print("Undone. Sales has \(sales.employees.count), Marketing has \(marketing.employees.count).")

// The rule is Deny: a department with employees stays.
let plan = context.deletionPlan(for: sales)
print("Deleting Sales is \(plan.isAllowed ? "allowed" : "forbidden by \(plan.denied.count) employee").")
context.delete(sales)
do {
  try context.save()
} catch {
  print("And so says the save: \(error.message).")
  context.rollback()
}

// Which departments pay someone more than 5000?
let request = FetchRequest<Department>((\Department.employees).any(\.salary > 5000), sortedBy: .ascending(\.name))
print("Departments with someone above 5000: \(try context.fetch(request).map(\.name)).")
