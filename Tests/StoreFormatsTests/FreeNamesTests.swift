import Testing

@testable import CoreDataSQLiteStoreFormat

@Suite("Names of columns in Core Data's tables") struct FreeNamesTests {
  @Test("a name that is taken gets the least number with which it is not")
  func numbers() {
    var names = FreeNames()
    let given = ["ZN", "ZN", "ZN2", "Zn", "ZN1", "ZN", "ZN1"].map { names.free($0) }
    #expect(given == ["ZN", "ZN1", "ZN2", "Zn3", "ZN11", "ZN4", "ZN12"])
  }
}
