import CExplorer
import Glibc

/// A system thread that carries the virtual threads of one number, in every run.
final class Carrier {
  let baton: UnsafeMutablePointer<UInt32>
  /// The address on which the end of a virtual thread is ordered.
  let end: UnsafeMutablePointer<UInt32>

  private init() {
    // Each has its own cache line.
    baton = .allocate(capacity: 32)
    baton.initialize(repeating: 0, count: 32)
    end = baton + 16
  }

  nonisolated(unsafe) static let main = Carrier()
  nonisolated(unsafe) private static var all: [Carrier] = []

  static func of(_ number: Int) -> Carrier {
    while all.count <= number { all.append(start(all.count)) }
    return all[number]
  }

  static func replace(_ number: Int) { all[number] = start(number) }

  private static func start(_ number: Int) -> Carrier {
    let carrier = Carrier()
    // Never released, because an abandoned thread waits on its baton forever.
    let argument = Unmanaged.passRetained(Start(number: number, carrier: carrier))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setstacksize(&attributes, 1 << 20)
    var thread = pthread_t()
    pthread_create(
      &thread, &attributes,
      { argument in
        let argument: UnsafeMutableRawPointer? = argument
        guard let argument else { return nil }
        let start = Unmanaged<Start>.fromOpaque(argument).takeUnretainedValue()
        explorer_prepare_thread()
        while true {
          while explorer_wait(start.carrier.baton, 3600) == 0 {}
          Scheduler.begin(start.number)
          Scheduler.finish(start.number)
        }
      }, argument.toOpaque())
    pthread_detach(thread)
    return carrier
  }

  private final class Start {
    let number: Int
    let carrier: Carrier
    init(number: Int, carrier: Carrier) { (self.number, self.carrier) = (number, carrier) }
  }
}
