import Exploration

/// Virtual time.
enum SystemClock { static var now: Int64 { Int64(clamping: VirtualTime.now) } }
