#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "plugins/averaging/Mean.h"

using namespace lockstep::plugin;

namespace {

/// How long a checkpoint waits for the means that are on their way.
constexpr std::chrono::seconds kSaveLimit{60};

/// The gradients of a bucket on their way to their mean, in memory of their own. `landed` is
/// written by the strand under Delayed::mutex_.
struct Flight {
  std::vector<float> values;
  bool landed = false;
};

/// Where the mean of one parameter's gradient is or will be.
struct Kept {
  std::shared_ptr<Flight> flight;
  std::size_t offset = 0;
  std::size_t size = 0;
  [[nodiscard]] std::span<const float> mean() const {
    return std::span(flight->values).subspan(offset, size);
  }
};

/// Delayed averaging: each step applies the mean of the last step's gradients, whose allreduce may
/// take as long as a whole step.
class Delayed : public Hook {
 public:
  static Description description() {
    return Description(
               "delayed", "delayed allreduce", "1.0",
               "Applies the last step's mean, so that communication hides behind a whole step.")
        .caps(LOCKSTEP_CAP_SAME_RESULT)
        .integer("delay", "Delay", {.initial = 1, .min = 0, .max = 1},
                 "steps between a gradient and its use; 0 is plain allreduce");
  }

  Delayed(Host host, const Values& values) : Hook(host), delays_(values["delay"].integer() > 0) {}

  // A step uses the mean that was sent a step before. In the first there is none, and parameters
  // stay as they are:
  //
  //    step        1               2                    3
  //    computes    g1              g2                   g3
  //    applies     0               mean of g1           mean of g2
  //    on the way        g1 ------------->    g2 ------------->
  //
  // Means are looked up by parameter, not by bucket: the buckets are rebuilt after the first step,
  // so that a bucket of step 2 may need means from several of step 1.
  void run(Run run, Bucket bucket) {
    if (!delays_) {
      averageBucket(run, bucket);
      return;
    }
    const auto flat = bucket.flat();
    const auto own = std::make_shared<Flight>();
    own->values.assign(flat.begin(), flat.end());
    Delivery& delivery = open_.emplace_back(Delivery{run, bucket, own, {}, false});
    for (std::uint32_t i = 0; i < bucket.parameters(); ++i) {
      const auto size = static_cast<std::size_t>(bucket.length(i));
      Kept& kept = kept_[bucket.id(i)];
      delivery.last.push_back(kept.size == size ? kept : Kept{});
      kept = {own, static_cast<std::size_t>(bucket.offset(i)), size};
    }
    average(run, run.world(), own->values, bucket.divisor(), [this, own] {
      {
        std::lock_guard lock(mutex_);
        own->landed = true;
      }
      landed_.notify_all();
      advance();
    });
    run.noMore();
    advance();
  }

  /// Lets the last step's means land, so that nothing is on its way when the run is over.
  void endOfRun(Run run, Step) {
    ending_ = run;
    advance();
  }

  void cancel(Run run) {
    std::erase_if(open_,
                  [run](const Delivery& delivery) { return delivery.run.raw() == run.raw(); });
    if (ending_.has_value() && ending_->raw() == run.raw()) {
      ending_.reset();
    }
  }

  static constexpr std::uint32_t kStateSchema = 1;
  /// On the step thread, while the last step's means may still be on their way.
  void save(Writer& out) {
    std::unique_lock lock(mutex_);
    const auto all = [this] {
      return std::all_of(kept_.begin(), kept_.end(),
                         [](const auto& entry) { return entry.second.flight->landed; });
    };
    if (!landed_.wait_for(lock, kSaveLimit, all)) {
      throw Error(LOCKSTEP_E_COMM, "the last step's means did not arrive within " +
                                       std::to_string(kSaveLimit.count()) + " s");
    }
    out.number(static_cast<std::uint64_t>(kept_.size()));
    for (const auto& [id, kept] : kept_) {
      const auto mean = kept.mean();
      out.number(id);
      out.vector(std::vector<float>(mean.begin(), mean.end()));
    }
  }
  void load(Reader& in, std::uint32_t, int) {
    kept_.clear();
    for (auto count = in.number<std::uint64_t>(); count > 0; --count) {
      const auto id = in.number<std::uint32_t>();
      const auto flight = std::make_shared<Flight>(Flight{in.vector<float>(), true});
      kept_[id] = {flight, 0, flight->values.size()};
    }
  }

 private:
  /// A bucket of this step that waits for the last step's means of its parameters, and then for
  /// its own allreduce.
  struct Delivery {
    Run run;
    Bucket bucket;
    std::shared_ptr<Flight> own;
    std::vector<Kept> last;  // of each parameter of the bucket; without a flight: none, zeros
    bool delivered = false;
  };

  static bool hasLanded(const Kept& kept) { return kept.flight == nullptr || kept.flight->landed; }

  static void deliver(Delivery& delivery) {
    for (std::uint32_t i = 0; i < delivery.bucket.parameters(); ++i) {
      const auto gradient = delivery.bucket.gradient(i);
      if (const Kept& kept = delivery.last[i]; kept.flight == nullptr) {
        std::fill(gradient.begin(), gradient.end(), 0.0F);
      } else {
        const auto mean = kept.mean();
        std::copy(mean.begin(), mean.end(), gradient.begin());
      }
    }
    delivery.last.clear();
    delivery.delivered = true;
    // The step goes on with this, while the bucket's own gradients still travel: its run ends
    // later.
    delivery.run.resultReady();
  }

  /// Delivers what has landed, and ends the runs that have delivered and landed.
  void advance() {
    for (std::size_t i = 0; i < open_.size();) {
      Delivery& delivery = open_[i];
      if (!delivery.delivered &&
          std::all_of(delivery.last.begin(), delivery.last.end(), hasLanded)) {
        deliver(delivery);
      }
      if (delivery.delivered && delivery.own->landed) {
        const Run over = delivery.run;
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
        over.complete();
      } else {
        ++i;
      }
    }
    if (open_.empty() && ending_.has_value()) {
      const Run over = *std::exchange(ending_, std::nullopt);
      over.complete();
    }
  }

  const bool delays_;
  std::map<std::uint32_t, Kept> kept_;  // of each parameter, the last step's
  std::vector<Delivery> open_;          // of at most two steps, in the order of their buckets
  std::optional<Run> ending_;
  std::mutex mutex_;  // for save(), which is not on the strand
  std::condition_variable landed_;
};

}  // namespace

LOCKSTEP_HOOKS(Delayed);
