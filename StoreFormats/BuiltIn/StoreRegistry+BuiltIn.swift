public import AtomicStoreSPI
import BinaryPropertyListStoreFormat
import CSVStoreFormat
import CoreDataBinaryStoreFormat
import CoreDataSQLiteStoreFormat
import XMLStoreFormat

extension StoreRegistry {
  /// The formats that come with the kit.
  public static var builtIn: StoreRegistry {
    var registry = StoreRegistry()
    let formats: [any AtomicStore.Type] = [
      XMLStore.self, BinaryPropertyListStore.self, CSVStore.self, CoreDataSQLiteStore.self, CoreDataBinaryStore.self,
    ]
    // Their names differ, so none is refused; a name that clashed would show in the tests of this list.
    for format in formats { try? registry.register(format) }
    return registry
  }
}
