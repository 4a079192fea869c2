import AtomicStoreCommand
import JSONLinesStore

// The whole command, with this database beside the kit's types.
AtomicStoreTool.main(databases: [JSONLinesStore.self])
