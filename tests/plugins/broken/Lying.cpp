#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <thread>

#include <lockstep/comm_hook.hpp>

using namespace lockstep::plugin;

namespace {

/// Adds half of the last result to the first gradient of each parameter: a hook with a history.
class WithHistory : public Hook {
 public:
  explicit WithHistory(Host host) : Hook(host) {}

 protected:
  void remember(const Bucket& bucket) {
    for (std::uint32_t i = 0; i < bucket.parameters(); ++i) {
      float& first = bucket.gradient(i).front();
      first += last_[bucket.id(i)] / 2;
      last_[bucket.id(i)] = first;
    }
  }

  std::map<std::uint32_t, float> last_;
};

void divide(const Bucket& bucket) {
  for (float& value : bucket.flat()) {
    value /= static_cast<float>(bucket.divisor());
  }
}

/// Averages, and does not keep to one thing that it says of itself, chosen by a parameter: on rank
/// 1, where it could be on one rank alone.
class Lying : public WithHistory {
 public:
  static const Description& description() {
    static const Description description =
        Description("lying", "lying", "1.0", "Does not keep to what it says of itself.")
            .caps(LOCKSTEP_CAP_SAME_RESULT)
            .meanError(1e-6)
            .choice(
                {.key = "lie",
                 .label = "Lie",
                 .help = "what is not true of it",
                 .initial = "none",
                 .choices = {"none", "mean", "same", "parameters", "state", "repeatable", "finite",
                             "order", "exit", "_exit", "create_hangs", "create_crashes",
                             "save_hangs", "save_throws", "destroy_hangs", "slow", "unsupported"}});
    return description;
  }

  Lying(Host host, const Values& values) : WithHistory(host), lie_(values["lie"].text()) {
    if (lie_ == "unsupported" && host.size() > 2) {
      throw Error(LOCKSTEP_E_UNSUPPORTED, "it knows two ranks at most");
    }
    if (lie_ == "create_crashes" && host.rank() == 1) {
      std::abort();
    }
    while (lie_ == "create_hangs" && host.rank() == 1) {
      pause();
    }
  }
  ~Lying() {
    while (lie_ == "destroy_hangs" && host().rank() == 1) {
      pause();
    }
  }

  void run(Run run, Bucket bucket) {
    const bool early = run.rank() == 1 && bucket.step() == 3 && bucket.index() == 2;
    if (early && lie_ == "exit") {
      std::exit(3);
    }
    if (early && lie_ == "_exit") {
      _exit(3);
    }
    if (lie_ == "slow") {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
    divide(bucket);
    if (lie_ == "repeatable" && run.rank() == 0) {
      bucket.flat().front() += static_cast<float>(std::random_device()() % 1000) * 2e-10F;
    }
    if (early && lie_ == "order") {
      run.broadcast(bucket.buffer(), 0, [run] { run.complete(); });
      return;
    }
    run.allReduce(bucket.buffer(), LOCKSTEP_SUM, [this, run, bucket, early] {
      spoil(bucket, early);
      remember(bucket);
      run.complete();
    });
    run.noMore();
  }

  void afterOptimizer(Run run, Step step) {
    if (lie_ == "parameters" && run.rank() == 1 && step.step() == 50) {
      step.value(0).front() += 1;
    }
    run.complete();
  }

  static constexpr std::uint32_t kStateSchema = 1;
  void save(Writer& out) {
    while (lie_ == "save_hangs" && host().rank() == 1) {
      pause();
    }
    if (lie_ == "save_throws") {
      throw std::length_error("it has forgotten how");
    }
    out.number(static_cast<std::uint64_t>(last_.size()));
    for (const auto& [id, value] : last_) {
      out.number(id);
      out.number(lie_ == "state" && id == 5 ? 0.0F : value);
    }
  }
  void load(Reader& in, std::uint32_t, int) {
    for (auto count = in.number<std::uint64_t>(); count > 0; --count) {
      const auto id = in.number<std::uint32_t>();
      last_[id] = in.number<float>();
    }
  }

 private:
  void spoil(const Bucket& bucket, bool early) const {
    float& first = bucket.flat().front();
    if (lie_ == "mean") {
      first += 0.01F;
    } else if (lie_ == "same" && early) {
      first = std::nextafter(first, 1e9F);
    } else if (lie_ == "finite" && early) {
      first = std::numeric_limits<float>::quiet_NaN();
    }
  }

  const std::string lie_;
};

/// Has a history and no state.
class Forgetful : public WithHistory {
 public:
  static const Description& description() {
    static const Description description =
        Description("forgetful", "forgetful", "1.0", "Keeps something, and does not save it.");
    return description;
  }

  Forgetful(Host host, const Values&) : WithHistory(host) {}

  void run(Run run, Bucket bucket) {
    divide(bucket);
    run.allReduce(bucket.buffer(), LOCKSTEP_SUM, [this, run, bucket] {
      remember(bucket);
      run.complete();
    });
    run.noMore();
  }
};

}  // namespace

LOCKSTEP_HOOKS(Lying, Forgetful);
