import AtomicStoreCommand
import JSONLinesStore

// The whole command, with this format beside the kit's.
AtomicStoreTool.main(formats: [JSONLinesStore.self])
