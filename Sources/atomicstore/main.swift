import AtomicStoreCommand

AtomicStoreTool.main()
