#pragma once

#include <vector>

namespace lockstep::ui {

/// What one timeline keeps of a run of many ranks, beside the shown ones that all views share
/// (ViewState): which are pinned, which are unlike the rest, and whether all are listed.
class ManyRanks {
 public:
  /// Keeps the lanes of a rank in sight whatever else is shown, or lets go of it.
  void togglePin(int rank);
  [[nodiscard]] bool isPinned(int rank) const;
  [[nodiscard]] const std::vector<int>& pinned() const { return pinned_; }

  /// The lanes of all ranks stand below each other, in place of their lines.
  void setListed(bool listed) { listed_ = listed; }
  [[nodiscard]] bool listed() const { return listed_; }

  /// Those that are unlike the rest, the first of them most; each with ranks to set it against.
  void setUnlike(std::vector<std::vector<int>> ranks);
  [[nodiscard]] const std::vector<int>& unlike() const { return unlike_; }
  /// The rank that comes after the first shown one among them, or before it (-1), and those to set
  /// it against; of the first of all, where none of them is shown. Nothing: there is none.
  [[nodiscard]] std::vector<int> unlikeAfter(const std::vector<int>& shown, int direction) const;

 private:
  std::vector<int> pinned_;
  std::vector<int> unlike_;
  std::vector<std::vector<int>> besides_;  // of unlike_
  bool listed_ = false;
};

}  // namespace lockstep::ui
