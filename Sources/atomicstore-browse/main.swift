import AtomicStoreBrowseCommand

AtomicStoreBrowseTool.main()
