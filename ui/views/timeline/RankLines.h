#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace lockstep::ui {

/// Where the ranks of a run of many lie, a line each, in a box whose height does not grow with
/// them: where lines would be too thin to be seen, one stands for several neighbours, and shows the
/// first of them that is unlike the rest, where there is one. y as in TimelineLayout.
class RankLines {
 public:
  struct Line {
    int rank = 0;           ///< that is drawn
    std::size_t first = 0;  ///< of those that it stands for, in `of()`
    std::size_t count = 0;
  };

  RankLines() = default;
  /// `of` from the top down; `room` is the most that the lines take.
  RankLines(std::vector<int> of, const std::vector<int>& unlike, double top, double room);

  [[nodiscard]] bool empty() const { return lines_.empty(); }
  [[nodiscard]] const std::vector<int>& of() const { return of_; }
  [[nodiscard]] const std::vector<int>& unlike() const { return unlike_; }
  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }
  /// Of the header above the lines.
  [[nodiscard]] double top() const { return top_; }
  /// Header and lines.
  [[nodiscard]] double height() const;
  [[nodiscard]] double lineHeight() const { return lineHeight_; }
  [[nodiscard]] double topOf(std::size_t line) const;

  /// The line at a height; null: none.
  [[nodiscard]] const Line* at(double y) const;
  /// The line in which a rank is, drawn or stood for.
  [[nodiscard]] std::optional<std::size_t> lineOf(int rank) const;
  [[nodiscard]] bool isUnlike(int rank) const;

 private:
  std::vector<int> of_;
  std::vector<int> unlike_;
  std::vector<Line> lines_;
  double top_ = 0;
  double lineHeight_ = 0;
};

}  // namespace lockstep::ui
