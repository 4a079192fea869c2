// Code that uses the object graph needs coordinators, stores, predicates, models and values too.
@_exported public import AtomicStoreSPI
@_exported public import StoreCoordination
@_exported public import StorePredicates
