#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/store/Store.h"

namespace lockstep::store::detail {

/// A process, as it signs in a store.
struct Signature {
  std::string host;
  std::int64_t pid = 0;
  std::string nonce;  ///< tells two threads of one process apart

  /// Signs for this process.
  static Signature own();

  /// Returns "host H pid P".
  [[nodiscard]] std::string who() const;

  /// Returns whether the process ran on this host and has ended.
  [[nodiscard]] bool hasEnded() const;

  [[nodiscard]] std::string toText() const;
  static Signature fromText(const std::string& text);
};

/// Ranks that sign a list in a store: who is there already, who is missing. Each rank's entry is
/// a key of its own, beside the count of them.
class RollCall {
 public:
  /// `prefix` stands before its keys.
  RollCall(Store& store, std::string prefix, int worldSize);

  struct Entry {
    std::optional<Signature> holder;  ///< who signed for this rank before; then we did not
    bool last = false;                ///< all ranks have signed now
  };
  /// Signs for `rank`; the first to do so holds it.
  Entry sign(int rank, const Signature& signature);

  /// Returns the ranks that have not signed.
  [[nodiscard]] std::vector<int> absent() const;

  [[nodiscard]] std::string rankKey(int rank) const;

 private:
  Store& store_;
  const std::string prefix_;
  const int worldSize_;
};

/// How many of the ranks that did not come are named.
inline constexpr std::size_t kRanksNamed = 16;

}  // namespace lockstep::store::detail
