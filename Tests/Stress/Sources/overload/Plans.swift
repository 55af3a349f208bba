import Pledge
import PledgeTesting

extension Plan {
  private init(
    _ name: String,
    _ pipeline: @escaping @Sendable (TestClock, RandomNumbers) -> ResiliencePipeline
  ) {
    self.init(name: name) { clock, service, random in
      let pipeline = pipeline(clock, random)
      return { pipeline.run { service.request() } }
    }
  }

  private static let timeout = ResiliencePipeline.Policy.timeout(.seconds(1))

  /// Delays of 100 and 200 ms, on average half as long.
  private static func backoff(_ random: RandomNumbers) -> RetryPolicy {
    .exponential(attempts: 3, from: .milliseconds(100)).withJitter { random.next() }
  }

  private static func careful(_ random: RandomNumbers) -> RetryPolicy {
    backoff(random).withBudget(RetryBudget(capacity: 100, tokensPerSuccess: 0.1))
  }

  private static func breaker(_ clock: TestClock) -> ResiliencePipeline.Policy {
    .circuitBreaker(
      CircuitBreaker(
        .failureRate(0.5, inLast: .seconds(2), minimumCalls: 50), openDuration: .seconds(1),
        probes: 10, clock: clock))
  }

  private static func limiter(_ clock: TestClock) -> ResiliencePipeline.Policy {
    .limiter(Limiter(adaptive: 5...1_000, initial: 50, clock: clock))
  }

  private static func hedging(_ name: String, hasBudget: Bool) -> Plan {
    Plan(name: name) { clock, service, _ in
      let budget = hasBudget ? RetryBudget(capacity: 100, tokensPerSuccess: 0.05) : nil
      let pipeline = ResiliencePipeline(timeout, clock: clock)
      return {
        Promise.hedged(delay: .milliseconds(100), budget: budget, clock: clock) {
          pipeline.run { service.request() }
        }
      }
    }
  }

  static let all: [Plan] = [
    Plan("timeout") { clock, _ in ResiliencePipeline(timeout, clock: clock) },
    Plan("3 attempts, fixed delay") { clock, _ in
      ResiliencePipeline(
        .retry(.fixed(attempts: 3, delay: .milliseconds(100))), timeout, clock: clock)
    },
    Plan("3 attempts, backoff and jitter") { clock, random in
      ResiliencePipeline(.retry(backoff(random)), timeout, clock: clock)
    },
    Plan("the same, with a budget") { clock, random in
      ResiliencePipeline(.retry(careful(random)), timeout, clock: clock)
    },
    Plan("the same, with a circuit breaker") { clock, random in
      ResiliencePipeline(.retry(backoff(random)), breaker(clock), timeout, clock: clock)
    },
    Plan("the same, with an adaptive limit") { clock, random in
      ResiliencePipeline(.retry(backoff(random)), limiter(clock), timeout, clock: clock)
    },
    hedging("hedging after 100 ms", hasBudget: false),
    hedging("hedging with a budget", hasBudget: true),
    Plan("recommended: all of these") { clock, random in
      ResiliencePipeline(
        .retry(careful(random)), limiter(clock), breaker(clock), timeout, clock: clock)
    },
  ]
}
