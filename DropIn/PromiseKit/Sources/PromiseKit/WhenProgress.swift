import Foundation
@_spi(DropIns) import Pledge

/// Reports the number of fulfilled inputs of a `when` to the current `Progress`.
///
/// As in the original, it does nothing on Linux or with the compilation condition
/// `PMKDisableProgress`.
enum WhenProgress {
  /// Counts inputs of one type.
  static func count<T>(_ inputs: [Core<T>]) {
    #if canImport(Darwin) && !PMKDisableProgress
      let progress = make(inputs.count)
      for input in inputs { observe(input, progress) }
    #endif
  }

  /// Counts inputs of any types.
  static func count<each T: Sendable>(_ inputs: repeat Pledge.Promise<each T>) {
    #if canImport(Darwin) && !PMKDisableProgress
      var count = 0
      for _ in repeat each inputs { count += 1 }
      let progress = make(count)
      repeat observe(each inputs, progress)
    #endif
  }

  #if canImport(Darwin) && !PMKDisableProgress
    private static func make(_ count: Int) -> Progress {
      let progress = Progress(totalUnitCount: Int64(count))
      progress.isCancellable = false
      progress.isPausable = false
      return progress
    }

    private static func observe<T>(_ input: Pledge.Promise<T>, _ progress: Progress) {
      input.observe(on: .immediate) { result in
        switch result {
        case .success:
          if progress.fractionCompleted < 1 { progress.completedUnitCount += 1 }
        case .failure: progress.completedUnitCount = progress.totalUnitCount
        }
      }
    }
  #endif
}
