#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "engine/kernels/Kernels.h"
#include "plugins/exchange/Servers.h"

using namespace lockstep::plugin;
using lockstep::kernels::kernels;

namespace {

/// signSGD with majority vote (Bernstein et al., ICML 2018): each rank sends the sign of each
/// gradient, one rank counts the votes of each part of the bucket, and the sign that most ranks
/// sent is what all get. Zero and ties count as positive.
class Sign : public Hook {
 public:
  static Description description() {
    return Description(
               "sign", "sign, majority vote", "1.0",
               "Sends one bit for each gradient; the result is the sign that most ranks sent.")
        .caps(LOCKSTEP_CAP_SAME_RESULT)
        .real("magnitude", "Magnitude",
              {.initial = 1, .min = 1e-12, .max = 1e12, .flags = LOCKSTEP_PARAM_LOG_SCALE},
              "of each averaged gradient; the learning rate multiplies it");
  }

  Sign(Host host, const Values& values)
      : Hook(host), magnitude_(static_cast<float>(values["magnitude"].real())) {}

  void run(Run run, Bucket bucket) {
    const auto ranks = static_cast<std::size_t>(run.size());
    const auto flat = bucket.flat();
    const std::size_t part = ((flat.size() + 7) / 8 + ranks - 1) / ranks;  // bytes a rank counts
    const auto sent = run.scratch<std::uint8_t>(part * ranks);
    std::fill(sent.begin(), sent.end(), std::uint8_t{0});
    kernels().packSigns(flat.data(), sent.data(), flat.size());
    throughServers(
        run, sent, [ranks](auto received, auto votes) { count(received, votes, ranks); },
        [flat, this](auto majority) {
          std::fill(flat.begin(), flat.end(), 0.0F);
          kernels().addSigns(majority.data(), flat.data(), flat.size(), magnitude_);
        });
  }

 private:
  /// Bit by bit, whether at least half of the ranks have it set; 64 bits at a time, whose counts
  /// stand across words: bit p of each in word p.
  ///
  /// For three ranks, of whom two must agree (binary 10):
  ///
  ///                       numbers  0  1  2  3
  ///    rank 0                      1  1  0  0
  ///    rank 1                      1  0  1  0
  ///    rank 2                      1  0  0  0
  ///    counts[1]                   1  0  0  0     twos
  ///    counts[0]                   1  1  1  0     ones
  ///    enough                      1  0  0  0
  ///
  /// A count is compared with what is wanted from its lowest digit on: a higher digit that differs
  /// overrules all below it.
  static void count(std::span<const std::uint8_t> all, std::span<std::uint8_t> votes,
                    std::size_t ranks) {
    const int digits = std::bit_width(ranks);
    const std::size_t least = (ranks + 1) / 2;
    for (std::size_t first = 0; first < votes.size(); first += sizeof(std::uint64_t)) {
      const std::size_t size = std::min(sizeof(std::uint64_t), votes.size() - first);
      std::array<std::uint64_t, 64> counts{};
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        std::uint64_t carry = 0;
        std::memcpy(&carry, all.data() + rank * votes.size() + first, size);
        for (int p = 0; p < digits; ++p) {
          carry = std::exchange(counts[p], counts[p] ^ carry) & carry;
        }
      }
      std::uint64_t enough = ~std::uint64_t{0};  // by the digits below p
      for (int p = 0; p < digits; ++p) {
        const std::uint64_t wanted = (least >> p & 1U) != 0 ? ~std::uint64_t{0} : 0;
        enough = (counts[p] & ~wanted) | (enough & ~(counts[p] ^ wanted));
      }
      std::memcpy(votes.data() + first, &enough, size);
    }
  }

  const float magnitude_;
};

}  // namespace

LOCKSTEP_HOOKS(Sign);
