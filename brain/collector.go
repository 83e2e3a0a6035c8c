package main

// heapFloor keeps the garbage collector from running every few calls. A tool
// call makes some 150 KiB of garbage in the MCP library, and a Brain at rest has
// so small a heap that the collector, which starts when the heap has doubled,
// would run every 25 calls and take a third of the processor. These bytes count
// as heap and are never touched, so that the system has no memory for them; what
// they cost is that up to as much again of garbage may lie about. A larger heap
// makes them meaningless, which a percentage or a limit would not.
var heapFloor = make([]byte, 8<<20)
