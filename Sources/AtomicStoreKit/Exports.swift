// Whoever works with the object graph meets coordinators, stores, predicates, models and values: they come along.
@_exported public import AtomicStoreSPI
@_exported public import StoreCoordination
@_exported public import StorePredicates
