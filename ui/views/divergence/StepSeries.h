#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/run/Grown.h"

namespace lockstep::ui {

/// One number of one rank.
struct SeriesPoint {
  std::uint32_t step = 0;
  double value = 0;  ///< may be NaN or infinite
};

/// The numbers of one rank over the steps, in at most kPieces pieces of neighbours: a long run's
/// extremes stay, whatever is in between may go. A number that is added costs the same however many
/// there were, and so does a copy.
class StepSeries {
 public:
  static constexpr std::size_t kPieces = 4096;

  struct Piece {
    std::uint32_t step = 0;  ///< of its first point
    std::uint32_t lastStep = 0;
    float least = 0;  ///< of its finite values
    float most = 0;
    float first = 0;
    float last = 0;
  };

  /// Some of them, by step: all but the last are shared with copies.
  class Pieces {
   public:
    using value_type = Piece;
    using Iterator = run::IndexIterator<Pieces, Piece>;
    using const_iterator = Iterator;

    [[nodiscard]] std::size_t size() const { return whole_.size() + (any_ ? 1 : 0); }
    [[nodiscard]] bool empty() const { return !any_; }
    [[nodiscard]] const Piece& operator[](std::size_t index) const {
      return index < whole_.size() ? whole_[index] : last_;
    }
    [[nodiscard]] const Piece& front() const { return (*this)[0]; }
    [[nodiscard]] const Piece& back() const { return last_; }
    [[nodiscard]] Iterator begin() const { return {this, 0}; }
    [[nodiscard]] Iterator end() const { return {this, size()}; }
    /// The first of them that begins at a step or after it; size(): none does.
    [[nodiscard]] std::size_t firstFrom(std::uint64_t step) const;

    /// Adds one behind the last, which changes no more.
    void push_back(const Piece& piece);
    /// The last takes one in that follows it.
    void joinLast(const Piece& piece);

   private:
    run::Grown<Piece> whole_;
    Piece last_;
    bool any_ = false;  // else there is no last one
  };

  /// `points`: in any order.
  explicit StepSeries(int rank, std::vector<SeriesPoint> points = {});

  /// Adds a number; returns false, and adds none, where its step comes before one that is here.
  bool add(const SeriesPoint& point);

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] const Pieces& pieces() const { return pieces_; }
  /// The first step whose value was not finite.
  [[nodiscard]] const std::optional<std::uint32_t>& firstNotFinite() const { return notFinite_; }
  /// Returns the latest finite value at or before a step that was kept: of a piece, the first and
  /// the last are.
  [[nodiscard]] std::optional<double> at(std::uint32_t step) const;

 private:
  int rank_;
  Pieces pieces_;  // of finite numbers; all but the last of `each_`
  std::size_t each_ = 1;
  std::size_t inLast_ = 0;
  std::optional<std::uint32_t> notFinite_;
};

/// One strip: a measure over the steps, a line a rank.
struct StripData {
  enum class Kind : std::uint8_t { kLoss, kGradientNorm, kConsensus };

  Kind kind = Kind::kLoss;
  std::vector<StepSeries> series;  ///< by rank
  bool fromHook = false;           ///< of kConsensus: as the communication hook counted it
};

}  // namespace lockstep::ui
