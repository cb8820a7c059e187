#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lockstep::ui {

/// One number of one rank.
struct SeriesPoint {
  std::uint32_t step = 0;
  double value = 0;  ///< may be NaN or infinite
};

/// The numbers of one rank over the steps, in at most kPieces pieces of neighbours: a long run's
/// extremes stay, whatever is in between may go. A number that is added costs the same however many
/// there were.
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

  /// `points`: in any order.
  explicit StepSeries(int rank, std::vector<SeriesPoint> points = {});

  /// Adds a number; returns false, and adds none, where its step comes before one that is here.
  bool add(const SeriesPoint& point);

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }
  /// The first step whose value was not finite.
  [[nodiscard]] const std::optional<std::uint32_t>& firstNotFinite() const { return notFinite_; }
  /// Returns the latest finite value at or before a step that was kept: of a piece, the first and
  /// the last are.
  [[nodiscard]] std::optional<double> at(std::uint32_t step) const;

 private:
  int rank_;
  std::vector<Piece> pieces_;  // of finite numbers; all but the last of `each_`
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
