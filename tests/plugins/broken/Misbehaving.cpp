#include <unistd.h>

#include <csignal>
#include <cstdint>
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
            .choice({.key = "wrong",
                     .label = "What",
                     .help = "what it does wrong",
                     .initial = "nothing",
                     .choices = {"nothing", "create", "throw", "status", "crash", "hang", "never",
                                 "twice", "open", "after_no_more", "short", "step_throw",
                                 "step_never", "late", "math", "own"}})
            .integer({.key = "rank", .label = "Rank", .help = "", .initial = 1, .min = 0, .max = 64})
            .integer({.key = "step", .label = "Step", .help = "", .initial = 1, .min = 0, .max = 64});
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
    if (wrong_ == "short") {
      run.allGather(bucket.buffer(), bucket.buffer(), [run] { run.complete(); });
      return true;
    }
    return false;
  }

  const std::string wrong_;
  const int rank_;
  const std::uint64_t step_;
};

}  // namespace

LOCKSTEP_HOOKS(Misbehaving);
