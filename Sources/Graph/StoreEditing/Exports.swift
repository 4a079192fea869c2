// Contexts, objects and expressions are in every signature here.
@_exported public import AtomicStoreKit
