// The library's own atomics need these; the explorer's do not.
