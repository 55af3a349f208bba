import Foundation
import GRPCCore
import Pledge
import Synchronization

/// Assigns files to workers, and assigns the files of a worker that fails to another one.
final class Coordinator: Sendable {
  /// The number of complete files, and the errors of the others.
  struct Report: Sendable {
    var files = 0
    var bytes = 0
    /// The number of files that an earlier run had fetched.
    var kept = 0
    /// The number of attempts that failed because the worker was unavailable.
    var takenBack = 0
    var failures: [(file: ListedFile, error: any Error)] = []
  }

  private let workers: [Worker]
  private let filesPerWorker: Int
  private let folder: OutputFolder
  private let patience: Duration
  // gRPC also declares a type with this name.
  private let policy: Pledge.RetryPolicy
  /// Limits hedges: they help if one worker hangs, but not if all workers are slow.
  private let hedges: RetryBudget
  private let report = Mutex(Report())

  /// Creates a coordinator.
  ///
  /// - Parameters:
  ///   - workers: The workers, at least one.
  ///   - filesPerWorker: The number of files that a worker downloads at the same time.
  ///   - folder: The folder for the files.
  ///   - patience: The time after which another worker also tries to download a file.
  ///   - limit: The time limit of a file, including all attempts.
  init(
    _ workers: [Worker], filesPerWorker: Int, folder: OutputFolder, patience: Duration,
    limit: Duration
  ) {
    self.workers = workers
    self.filesPerWorker = filesPerWorker
    hedges = RetryBudget(
      capacity: workers.count * filesPerWorker, tokensPerSuccess: 0.1)
    self.folder = folder
    self.patience = patience
    var policy = Pledge.RetryPolicy.exponential(
      attempts: .max, from: .milliseconds(50), maximum: .seconds(1)
    ).withJitter().retrying(when: Self.mayPass)
    policy.deadline = limit
    self.policy = policy
  }

  /// Fetches all files that don't exist yet, as many at the same time as the workers accept.
  func fetch(_ files: [ListedFile]) -> Promise<Report> {
    Promise.all(files, concurrently: workers.count * filesPerWorker) { file in
      self.keepOrFetch(file)
        .map { size in
          self.report.withLock { report in
            report.files += 1
            report.bytes += size
          }
        }
        .replaceError { error in self.report.withLock { $0.failures.append((file, error)) } }
    }
    .map { _ in self.report.withLock { $0 } }
  }

  private func keepOrFetch(_ file: ListedFile) -> Promise<Int> {
    Promise(on: .global) { [folder] in try file.size(in: folder.url) }
      .then { size in
        guard let size else { return self.fetch(file) }
        self.report.withLock { $0.kept += 1 }
        return .value(size)
      }
  }

  /// Tries one worker after the other until one delivers the file.
  private func fetch(_ file: ListedFile) -> Promise<Int> {
    Promise.retry(policy) { [self] in
      // Two of three workers may have failed without a sign.
      Promise.hedged(attempts: 3, delay: patience, budget: hedges) { [self] in
        leastBusyWorker.fetch(file, into: folder.url)
          .watch(on: .immediate) { result in
            if result.isUnavailable { self.report.withLock { $0.takenBack += 1 } }
          }
      }
    }
  }

  private var leastBusyWorker: Worker {
    let candidates = workers.shuffled().map { worker in
      (worker: worker, unreliability: worker.unreliability, load: worker.load)
    }
    let best = candidates.min { ($0.unreliability, $0.load) < ($1.unreliability, $1.load) }
    return best?.worker ?? workers[0]
  }

  /// Returns whether another attempt can succeed, because the worker failed, and not the file's
  /// server.
  private static func mayPass(_ error: any Error) -> Bool {
    switch error {
    case is TimeoutError: true
    case let error as AggregateError: error.errors.contains(where: mayPass)
    case let error as RPCError:
      [.unavailable, .aborted, .cancelled, .deadlineExceeded, .resourceExhausted]
        .contains(error.code)
    default: false
    }
  }
}
