// One import suffices for a program that uses a container.
@_exported public import AtomicStoreKit
@_exported public import BuiltInStoreFormats
@_exported public import ModelFiles
@_exported public import StoreMigration
