#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "plugins/feedback/PerParameter.h"
#include "plugins/optimizer/Update.h"

using namespace lockstep::plugin;

namespace {

/// A sharded optimizer (Rajbhandari et al., ZeRO, SC 2020) that steps while the backward goes on:
/// each rank gets the mean of its slice of every parameter, steps it, and gives it to the others.
/// Slices are of parameters, not of buckets, so that what is kept for them stays with its rank
/// when buckets are rebuilt.
class ZeroRs : public Hook {
 public:
  static Description description() {
    return Description("zero_rs", "ZeRO reduce-scatter", "1.0",
                       "Each rank averages and steps its slice of every parameter during the "
                       "backward; the optimizer's memory is shared out among the ranks.")
        .caps(LOCKSTEP_CAP_LOCAL_RESULT);
  }

  ZeroRs(Host host, const Values&) : Hook(host) {}

  void configure(const lockstep_optimizer_info& optimizer) { optimizer_ = optimizer; }

  void beforeForward(Run run, Step step) {
    for (std::uint32_t i = 0; i < step.parameters(); ++i) {
      values_[step.parameter(i).id] = step.value(i);
    }
    run.complete();
  }

  // An allreduce is a reduce-scatter and an allgather. Stepping between the two costs no byte more:
  // what is gathered are new values in place of mean gradients.
  void run(Run run, Bucket bucket) {
    if (optimizer_.kind == 0) {
      throw Error(LOCKSTEP_E_ARGUMENT, "it owns the update and was told of no optimizer");
    }
    const std::vector<Slice> slices = slicesOf(bucket, run.size());
    const std::size_t part = slices.empty() ? 0 : slices.back().at + slices.back().size;
    const auto all = run.scratch<float>(part * static_cast<std::size_t>(run.size()));
    const auto own = run.scratch<float>(part);
    pack(bucket, slices, all, part, run.size());
    run.reduceScatter(bufferOf(all), bufferOf(own), LOCKSTEP_SUM, [=, this] {
      step(bucket, slices, own, run.rank());
      run.allGather(bufferOf(own), bufferOf(all), [=] {
        for (int rank = 0; rank < run.size(); ++rank) {
          const auto from = all.subspan(static_cast<std::size_t>(rank) * part, part);
          for (const Slice& slice : slices) {
            const auto to = slice.ofRank(slice.values, rank);
            std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(slice.at), to.size(),
                        to.begin());
          }
        }
        run.complete();
      });
      run.noMore();
    });
  }

  /// Every bucket has stepped its parameters.
  void update(Run run, Step) { run.complete(); }

  static constexpr std::uint32_t kStateSchema = 1;
  void save(Writer& out) {
    saveWorld(out, host());
    out.number(static_cast<std::uint64_t>(moments_.size()));
    for (const auto& [id, moments] : moments_) {
      out.number(id);
      out.number(moments.steps);
      out.vector(moments.first);
      out.vector(moments.second);
    }
  }
  void load(Reader& in, std::uint32_t, int) {
    requireSameWorld(in, host());
    moments_.clear();
    for (auto count = in.number<std::uint64_t>(); count > 0; --count) {
      Moments& moments = moments_[in.number<std::uint32_t>()];
      moments.steps = in.number<std::uint64_t>();
      moments.first = in.vector<float>();
      moments.second = in.vector<float>();
    }
  }

 private:
  /// One parameter cut into equal parts, one a rank; the last ones may be shorter or empty.
  struct Slice {
    std::uint32_t id;
    std::size_t size;         // of a part
    std::size_t at;           // where it stands in a rank's share of the bucket
    std::span<float> values;  // the whole parameter

    [[nodiscard]] std::span<float> ofRank(std::span<float> whole, int rank) const {
      const std::size_t first = std::min(whole.size(), static_cast<std::size_t>(rank) * size);
      return whole.subspan(first, std::min(size, whole.size() - first));
    }
  };

  std::vector<Slice> slicesOf(const Bucket& bucket, int ranks) const {
    std::vector<Slice> slices;
    std::size_t at = 0;
    for (std::uint32_t i = 0; i < bucket.parameters(); ++i) {
      const auto found = values_.find(bucket.id(i));
      const auto length = static_cast<std::size_t>(bucket.length(i));
      if (found == values_.end() || found->second.size() != length) {
        throw Error(LOCKSTEP_E_ARGUMENT, "before_forward did not show it parameter " +
                                             std::to_string(bucket.id(i)) + " of " +
                                             std::to_string(length) + " elements");
      }
      const std::size_t size =
          (length + static_cast<std::size_t>(ranks) - 1) / static_cast<std::size_t>(ranks);
      slices.push_back({bucket.id(i), size, at, found->second});
      at += size;
    }
    return slices;
  }

  /// Puts each rank's slices of the bucket beside each other, divided, so that their sum is the
  /// mean.
  static void pack(const Bucket& bucket, const std::vector<Slice>& slices, std::span<float> all,
                   std::size_t part, int ranks) {
    const auto divisor = static_cast<float>(bucket.divisor());
    for (int rank = 0; rank < ranks; ++rank) {
      float* to = all.data() + static_cast<std::size_t>(rank) * part;
      for (std::size_t i = 0; i < slices.size(); ++i) {
        const auto from = slices[i].ofRank(bucket.gradient(static_cast<std::uint32_t>(i)), rank);
        for (const float gradient : from) {
          *to++ = gradient / divisor;
        }
        to = std::fill_n(to, slices[i].size - from.size(), 0.0F);
      }
    }
  }

  /// Steps this rank's slices by their mean gradients, which give way to the new values in `own`
  /// and stand in the bucket, with zeros for what other ranks know.
  void step(const Bucket& bucket, const std::vector<Slice>& slices, std::span<float> own,
            int rank) {
    const auto flat = bucket.flat();
    std::fill(flat.begin(), flat.end(), 0.0F);
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const Slice& slice = slices[i];
      const auto values = slice.ofRank(slice.values, rank);
      const auto gradients = own.subspan(slice.at, values.size());
      const auto shown = slice.ofRank(bucket.gradient(static_cast<std::uint32_t>(i)), rank);
      std::copy(gradients.begin(), gradients.end(), shown.begin());
      stepElements(optimizer_, values, gradients, moments_[slice.id]);
      std::copy(values.begin(), values.end(), gradients.begin());
    }
  }

  lockstep_optimizer_info optimizer_{};
  std::map<std::uint32_t, std::span<float>> values_;  // of this step, by parameter
  std::map<std::uint32_t, Moments> moments_;          // of this rank's slices
};

}  // namespace

LOCKSTEP_HOOKS(ZeroRs);
