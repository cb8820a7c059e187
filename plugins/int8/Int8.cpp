#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "engine/kernels/Kernels.h"
#include "plugins/averaging/Mean.h"
#include "plugins/exchange/Gather.h"
#include "plugins/exchange/Servers.h"

using namespace lockstep::plugin;
using lockstep::kernels::kernels;

namespace {

constexpr std::size_t kChannel = 512;  // as PyTorch's quantization_perchannel_hook

/// Bytes for rows of floats: a scale and a zero point a row, then a byte an element.
class Codec {
 public:
  /// `row`: elements that share a scale; 0 = all.
  Codec(std::size_t count, std::size_t row)
      : count_(count),
        row_(row == 0 ? std::max<std::size_t>(count, 1) : row),
        rows_((count + row_ - 1) / row_) {}

  [[nodiscard]] std::size_t bytes() const { return rows_ * 2 * sizeof(float) + count_; }

  void encode(const float* in, std::uint8_t* out) const {
    std::uint8_t* const elements = out + rows_ * 2 * sizeof(float);
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::size_t first = i * row_;
      const std::size_t count = std::min(row_, count_ - first);
      float least = 0;
      float greatest = 0;
      kernels().range(in + first, count, &least, &greatest);
      if (std::isnan(least)) {  // one NaN makes all of the row NaN, as its scale
        const float facts[2] = {least, 0};
        std::memcpy(out + i * sizeof facts, facts, sizeof facts);
        std::fill_n(elements + first, count, std::uint8_t{0});
        continue;
      }
      least = std::min(least, 0.0F);  // zero is always representable
      greatest = std::max(greatest, 0.0F);
      // No smaller than float's epsilon, as with PyTorch's observers: a row of zeros has some
      // scale.
      const float scale = std::max((greatest - least) / 255.0F, 1.1920929e-7F);
      const float zero = std::clamp(std::nearbyint(-least / scale), 0.0F, 255.0F);
      const float facts[2] = {scale, zero};
      std::memcpy(out + i * sizeof facts, facts, sizeof facts);
      kernels().quantize(in + first, elements + first, count, 1.0F / scale, zero);
    }
  }

  /// out += decoded
  void addTo(const std::uint8_t* in, float* out) const {
    const std::uint8_t* const elements = in + rows_ * 2 * sizeof(float);
    for (std::size_t i = 0; i < rows_; ++i) {
      float facts[2];
      std::memcpy(facts, in + i * sizeof facts, sizeof facts);
      const std::size_t first = i * row_;
      kernels().addQuantized(elements + first, out + first, std::min(row_, count_ - first),
                             facts[0], facts[1]);
    }
  }

 private:
  std::size_t count_;
  std::size_t row_;
  std::size_t rows_;
};

/// Averages 8-bit gradients. By allgather as PyTorch's quantization hooks do, or by all-to-all:
/// each rank averages one part of the bucket and sends it, quantized again, to all.
class Int8 : public Hook {
 public:
  static Description description() {
    return Description("int8", "int8", "1.0", "Sends a byte for each gradient, with scales.")
        .caps(LOCKSTEP_CAP_SAME_RESULT | LOCKSTEP_CAP_JOIN)
        .meanError(0.05)
        .choice({.key = "scales",
                 .label = "Scales",
                 .help = "one for the bucket, or one for each 512 gradients",
                 .initial = "tensor",
                 .choices = {"tensor", "channel"}})
        .choice({.key = "exchange",
                 .label = "Exchange",
                 .help = "allgather rounds once and grows with the ranks; all_to_all rounds "
                         "twice and does not",
                 .initial = "all_to_all",
                 .choices = {"all_to_all", "allgather"}});
  }

  Int8(Host host, const Values& values)
      : Hook(host),
        row_(values["scales"].text() == "channel" ? kChannel : 0),
        gathers_(values["exchange"].text() == "allgather") {}

  void run(Run run, Bucket bucket) {
    if (gathers_) {
      gather(run, bucket);
    } else {
      exchange(run, bucket);
    }
  }

 private:
  void gather(const Run& run, const Bucket& bucket) const {
    const Codec codec(bucket.flat().size(), row_);
    const auto own = run.scratch<std::uint8_t>(codec.bytes());
    codec.encode(bucket.flat().data(), own.data());
    lockstep::plugin::gather(run, own, [run, bucket, codec](auto all) {
      average(bucket.flat(), codec, all, run.size(), bucket.divisor());
    });
  }

  void exchange(const Run& run, const Bucket& bucket) const {
    const auto ranks = static_cast<std::size_t>(run.size());
    const auto flat = bucket.flat();
    const std::size_t part = (flat.size() + ranks - 1) / ranks;
    // Every part is encoded by itself, with scales of its own: each goes to another rank.
    const Codec codec(part, row_);
    const auto padded = run.scratch<float>(part * ranks);
    std::copy(flat.begin(), flat.end(), padded.begin());
    std::fill(padded.begin() + static_cast<long>(flat.size()), padded.end(), 0.0F);
    const auto sent = run.scratch<std::uint8_t>(codec.bytes() * ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      codec.encode(padded.data() + rank * part, sent.data() + rank * codec.bytes());
    }
    throughServers(
        run, sent,
        [run, bucket, codec, own = padded.subspan(0, part)](auto received, auto answer) {
          average(own, codec, received, run.size(), bucket.divisor());
          codec.encode(own.data(), answer.data());
        },
        [bucket, codec, part, padded](auto answers) {
          join(bucket.flat(), codec, part, padded, answers);
        });
  }

  /// out = the sum of what all ranks sent over `divisor`
  static void average(std::span<float> out, const Codec& codec, std::span<const std::uint8_t> all,
                      int ranks, double divisor) {
    std::fill(out.begin(), out.end(), 0.0F);
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
      codec.addTo(all.data() + rank * codec.bytes(), out.data());
    }
    divide(out, divisor);
  }

  static void join(std::span<float> flat, const Codec& codec, std::size_t part,
                   std::span<float> padded, std::span<const std::uint8_t> all) {
    std::fill(padded.begin(), padded.end(), 0.0F);
    for (std::size_t rank = 0; rank * part < padded.size(); ++rank) {
      codec.addTo(all.data() + rank * codec.bytes(), padded.data() + rank * part);
    }
    std::copy_n(padded.begin(), flat.size(), flat.begin());
  }

  const std::size_t row_;
  const bool gathers_;
};

}  // namespace

LOCKSTEP_HOOKS(Int8);
