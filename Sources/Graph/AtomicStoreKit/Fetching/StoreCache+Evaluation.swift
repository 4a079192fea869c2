import AtomicStoreSPI
import StorePredicates

extension StoreCache {
  /// Whether a predicate or an expression is evaluated on the rows of a version without objects. Whatever is an error
  /// then is evaluated on objects after all, whose error is reported.
  func evaluates(_ tree: FetchTree, on version: NodeVersion) -> Bool {
    tree.isOfStoredValues(without: plan.unstoredNames) && !tree.readsDeferredValues(version)
      // The columns of an incremental store are filled for the request.
      && (!isIncremental || tree.isOfPlainPaths)
  }
}
