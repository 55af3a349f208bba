// The library's own atomics need these types; the explorer's don't.
