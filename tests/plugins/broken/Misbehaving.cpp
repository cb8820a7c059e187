#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include <lockstep/comm_hook.hpp>

using namespace lockstep::plugin;

namespace {

/// Does one thing wrong, chosen by a parameter, in the chosen step on the chosen rank; otherwise
/// an allreduce.
class Misbehaving : public Hook {
 public:
  static const Description& description() {
    static const Description description =
        Description("misbehaving", "misbehaving", "1.0", "Does one thing wrong.")
            .caps(LOCKSTEP_CAP_INNER)
            .choice({.key = "wrong",
                     .label = "What",
                     .help = "what it does wrong",
                     .initial = "nothing",
                     .choices = {"nothing",    "create",         "throw",          "status",
                                 "crash",      "hang",           "never",          "twice",
                                 "open",       "after_no_more",  "short",          "step_throw",
                                 "step_never", "late",           "math",           "beyond",
                                 "before",     "past_scratch",   "past_scattered", "exit",
                                 "stop",       "fork",           "mismatch",       "nan",
                                 "past_kept",  "past_parameter", "past_filled",    "own",
                                 "extra",      "late_call",      "stranger",       "scratch",
                                 "inner_part", "inner_later",    "to_nobody",      "from_nobody"}})
            .integer(
                {.key = "rank", .label = "Rank", .help = "", .initial = 1, .min = 0, .max = 64})
            .integer(
                {.key = "step", .label = "Step", .help = "", .initial = 1, .min = 0, .max = 64});
    return description;
  }

  Misbehaving(Host host, const Values& values)
      : Hook(host),
        wrong_(values["wrong"].text()),
        rank_(static_cast<int>(values["rank"].integer())),
        step_(static_cast<std::uint64_t>(values["step"].integer())) {
    if (wrong_ == "create" && host.rank() == rank_) {
      throw Error(LOCKSTEP_E_ARGUMENT, "it would rather not");
    }
  }

  void run(Run run, Bucket bucket) {
    const bool now = run.rank() == rank_ && bucket.step() == step_ && bucket.isLast();
    for (float& value : bucket.flat()) {
      value /= static_cast<float>(bucket.divisor());
    }
    if (!now || !misbehave(run, bucket)) {
      run.allReduce(bucket.buffer(), LOCKSTEP_SUM, [this, run, bucket, now] {
        if (now && wrong_ == "never") {
          return;
        }
        if (now && wrong_ == "own") {
          bucket.flat()[0] += 1;
        }
        run.complete();
        if (now && wrong_ == "twice") {
          run.complete();
        }
        if (now && wrong_ == "late_call") {
          run.allReduce(bucket.buffer(), LOCKSTEP_SUM, [] {});
        }
      });
    }
  }

  void afterOptimizer(Run run, Step step) {
    const bool now = run.rank() == rank_ && step.step() == step_;
    if (now && wrong_ == "step_throw") {
      throw std::runtime_error("the averaging failed");
    }
    if (now && wrong_ == "step_never") {
      return;
    }
    if (now && wrong_ == "past_parameter") {
      run.allReduce(part(step.parameter(0).value, 0, 5), LOCKSTEP_SUM, [run] { run.complete(); });
      return;
    }
    if (now && wrong_ == "inner_later") {
      run.inner(*host().inner(), step.parameter(0).value, [run] { run.complete(); });
      return;
    }
    run.complete();
  }

 private:
  /// Returns whether the usual way is not to be gone.
  bool misbehave(Run run, Bucket bucket) {
    if (wrong_ == "throw") {
      throw std::runtime_error("a matrix of 0 columns");
    }
    if (wrong_ == "math") {
      Math(host()).matmul(bucket.buffer(), bucket.buffer(), bucket.buffer(), 8, 8, 9);
    }
    if (wrong_ == "past_filled") {
      Math(host()).fill(part(bucket.buffer(), 1, 64), 0);
    }
    if (reachesOut(run, bucket)) {
      return true;
    }
    if (wrong_ == "exit") {
      std::exit(0);
    }
    if (wrong_ == "stop") {
      std::raise(SIGSTOP);
    }
    if (wrong_ == "fork") {
      leaveAProcessBehind();
    }
    if (wrong_ == "nan") {
      bucket.flat()[0] = std::numeric_limits<float>::quiet_NaN();
    }
    if (wrong_ == "mismatch") {
      run.allReduce(part(bucket.buffer(), 0, bucket.numel() / 2), LOCKSTEP_SUM,
                    [run] { run.complete(); });
      return true;
    }
    if (wrong_ == "extra") {
      run.allReduce(part(bucket.buffer(), 0, 1), LOCKSTEP_SUM, [run, bucket] {
        run.allReduce(bucket.buffer(), LOCKSTEP_SUM, [run] { run.complete(); });
      });
      return true;
    }
    if (wrong_ == "status") {
      throw Error(LOCKSTEP_E_UNSUPPORTED, "not this bucket");
    }
    if (wrong_ == "crash") {
      std::raise(SIGSEGV);
    }
    while (wrong_ == "hang") {
      pause();
    }
    if (wrong_ == "open") {
      run.allReduce(bucket.buffer(), LOCKSTEP_SUM, [] {});
      run.complete();
      return true;
    }
    if (wrong_ == "after_no_more") {
      run.noMore();
      return false;
    }
    if (wrong_ == "stranger") {
      host().raw()->fail(host().raw(), reinterpret_cast<lockstep_run*>(this), LOCKSTEP_E_INTERNAL,
                         "of a run that it made up");
      return true;
    }
    if (wrong_ == "scratch") {
      (void)run.scratch(-1, LOCKSTEP_F32);
    }
    if (wrong_ == "inner_part") {
      run.inner(*host().inner(), part(bucket.buffer(), 0, 1), [run] { run.complete(); });
      return true;
    }
    if (wrong_ == "to_nobody" || wrong_ == "from_nobody") {
      const lockstep_buffer flat = bucket.buffer();
      run.exchange(run.world(), &flat, wrong_ == "to_nobody" ? 2 : 0, &flat, -1,
                   [run] { run.complete(); });
      return true;
    }
    if (wrong_ == "short") {
      run.allGather(bucket.buffer(), bucket.buffer(), [run] { run.complete(); });
      return true;
    }
    return false;
  }

  /// One that holds what its parent had open, and says so for ever. Its number goes to a file.
  static void leaveAProcessBehind() {
    const pid_t child = fork();
    while (child == 0) {
      (void)!write(STDERR_FILENO, "here\n", 5);
      const timespec pause{0, 1'000'000};
      nanosleep(&pause, nullptr);
    }
    if (const char* file = std::getenv("LOCKSTEP_TEST_LEFT_BEHIND"); file != nullptr) {
      std::ofstream(file) << child;
    }
  }

  /// Queues an operation on memory that is not its own.
  bool reachesOut(Run run, Bucket bucket) {
    const auto then = [run] { run.complete(); };
    if (wrong_ == "beyond") {
      run.allReduce(part(bucket.buffer(), 0, bucket.numel() + 1000), LOCKSTEP_SUM, then);
    } else if (wrong_ == "before") {
      lockstep_buffer early = bucket.buffer();
      early.data = static_cast<float*>(early.data) - 4;
      run.broadcast(early, 0, then);
    } else if (wrong_ == "past_scratch") {
      run.allReduce(part(run.scratch(32, LOCKSTEP_F64), 30, 3), LOCKSTEP_SUM, then);
    } else if (wrong_ == "past_scattered") {
      run.reduceScatter(part(bucket.buffer(), 0, 80), run.scratch(40, LOCKSTEP_F32), LOCKSTEP_SUM,
                        then);
    } else if (wrong_ == "past_kept") {
      kept_.emplace(Math(host()), bucket.buffer(), 10);
      run.allReduce(part(kept_->buffer(), 0, 11), LOCKSTEP_SUM, then);
    } else {
      return false;
    }
    return true;
  }

  std::optional<Memory> kept_;
  const std::string wrong_;
  const int rank_;
  const std::uint64_t step_;
};

}  // namespace

LOCKSTEP_HOOKS(Misbehaving);
