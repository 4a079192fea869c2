import AtomicStoreConformCommand

AtomicStoreConformTool.main()
