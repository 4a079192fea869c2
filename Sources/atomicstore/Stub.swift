import ArgumentParser
@main struct AtomicStoreCommand: ParsableCommand { func run() throws {} }
