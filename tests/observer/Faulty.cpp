// Hooks for PyTorch that do one thing wrong, in the chosen step on the chosen rank.
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include <lockstep/comm_hook.hpp>

using namespace lockstep::plugin;

namespace {

class Faulty : public Hook {
 public:
  static const Description& description() {
    static const Description description =
        Description("faulty", "faulty", "1.0", "Does one thing wrong.")
            .choice({.key = "wrong",
                     .label = "What",
                     .help = "what it does wrong",
                     .initial = "nothing",
                     .choices = {"nothing", "create", "throw", "never", "hang", "twice", "open",
                                 "beyond", "past_scratch", "after_no_more", "short", "stranger",
                                 "integer_math"}})
            .integer({.key = "rank", .label = "Rank", .help = "", .initial = 1, .min = 0, .max = 64})
            .integer({.key = "step", .label = "Step", .help = "", .initial = 2, .min = 0, .max = 64})
            .real({.key = "factor",
                   .label = "Factor",
                   .help = "of the mean",
                   .initial = 1,
                   .min = 0,
                   .max = 8,
                   .flags = LOCKSTEP_PARAM_LIVE});
    return description;
  }

  Faulty(Host host, const Values& values)
      : Hook(host),
        wrong_(values["wrong"].text()),
        rank_(static_cast<int>(values["rank"].integer())),
        step_(static_cast<std::uint64_t>(values["step"].integer())),
        factor_(static_cast<float>(values["factor"].real())) {
    if (wrong_ == "create" && host.rank() == rank_) {
      throw Error(LOCKSTEP_E_ARGUMENT, "it would rather not");
    }
  }

  void set(const Value& value) { factor_ = static_cast<float>(value.real()); }

  void run(Run run, Bucket bucket) {
    const bool now = run.rank() == rank_ && bucket.step() == step_ && bucket.isLast();
    for (float& value : bucket.flat()) {
      value *= factor_ / static_cast<float>(bucket.divisor());
    }
    if (now && misbehave(run, bucket)) {
      return;
    }
    const bool twice = now && wrong_ == "twice";
    const bool never = now && wrong_ == "never";
    run.allReduce(bucket.buffer(), LOCKSTEP_SUM, [run, twice, never] {
      if (!never) {
        run.complete();
      }
      if (twice) {
        run.complete();
      }
    });
  }

 private:
  static lockstep_buffer part(lockstep_buffer whole, std::int64_t begin, std::int64_t numel) {
    whole.data = static_cast<std::byte*>(whole.data) + begin * (whole.dtype == LOCKSTEP_F64 ? 8 : 4);
    whole.numel = numel;
    return whole;
  }

  /// Returns whether the usual way is not to be gone.
  bool misbehave(Run run, Bucket bucket) {
    const auto then = [run] { run.complete(); };
    if (wrong_ == "throw") {
      throw std::runtime_error("a matrix of 0 columns");
    }
    while (wrong_ == "hang") {
      pause();
    }
    if (wrong_ == "open") {
      run.allReduce(bucket.buffer(), LOCKSTEP_SUM, [] {});
      run.complete();
    } else if (wrong_ == "beyond") {
      run.allReduce(part(bucket.buffer(), 0, bucket.numel() + 1000), LOCKSTEP_SUM, then);
    } else if (wrong_ == "past_scratch") {
      run.allReduce(part(bufferOf(run.scratch<double>(32)), 30, 3), LOCKSTEP_SUM, then);
    } else if (wrong_ == "short") {
      run.allGather(bucket.buffer(), bucket.buffer(), then);
    } else if (wrong_ == "stranger") {
      host().raw()->fail(host().raw(), reinterpret_cast<lockstep_run*>(this), LOCKSTEP_E_INTERNAL,
                         "of a run that it made up");
    } else if (wrong_ == "integer_math") {
      Math(host()).multiply(bufferOf(run.scratch<std::int64_t>(4)), 2);
    } else {
      if (wrong_ == "after_no_more") {
        run.noMore();
      }
      return false;
    }
    return true;
  }

  const std::string wrong_;
  const int rank_;
  const std::uint64_t step_;
  float factor_;
};

/// A second hook in the library.
class Halving : public Hook {
 public:
  static const Description& description() {
    static const Description description =
        Description("halving", "halving", "1.0", "Halves each gradient.")
            .caps(LOCKSTEP_CAP_LOCAL_RESULT);
    return description;
  }
  Halving(Host host, const Values&) : Hook(host) {}
  void run(Run run, Bucket bucket) {
    for (float& value : bucket.flat()) {
      value /= 2;
    }
    run.complete();
  }
};

}  // namespace

LOCKSTEP_HOOKS(Faulty, Halving);
