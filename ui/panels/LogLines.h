#pragma once

#include <QRegularExpression>
#include <QString>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/trace/RunFile.h"
#include "ui/table/TableRows.h"

namespace lockstep::ui {

/// How much a line of the log matters, as its writer said (base::logLine); what a program printed
/// of itself says nothing of it.
enum class LineLevel { kNone, kDebug, kInfo, kWarning, kError };

/// The lines that ranks and supervisor wrote, in the order of arrival.
class LogLines : public TableRows {
 public:
  enum Cell : std::size_t { kTime, kRank, kLevel, kText };

  struct Line {
    int rank = -1;            ///< -1: the supervisor
    std::uint64_t ticks = 0;  ///< 0: no time
    LineLevel level = LineLevel::kNone;
    QString text;
  };

  /// Gives the time of a tick in ns since the run began, or nothing while that is not known.
  using Times = std::function<std::optional<double>(std::uint64_t ticks)>;

  LogLines();
  /// The same lines, which show their time where `times` is set. It is asked when a line is shown,
  /// for the clock may become known after it.
  LogLines(const LogLines& before, Times times);
  /// Those of before with others after them.
  LogLines(const LogLines& before, std::span<const trace::LogRow> rows);

  [[nodiscard]] const Times& times() const { return times_; }
  [[nodiscard]] const Line& line(std::size_t row) const;

  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] QString text(std::size_t row, std::size_t column) const override;
  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const override;
  [[nodiscard]] bool before(const QString& a, const QString& b, std::size_t) const override {
    return a.compare(b, Qt::CaseInsensitive) < 0;
  }
  [[nodiscard]] QString tip(std::size_t row, std::size_t column) const override {
    return column == kText ? line(row).text : QString();
  }
  [[nodiscard]] QVariant look(std::size_t row, std::size_t column, int role) const override;
  [[nodiscard]] bool continues(const TableRows& before) const override {
    return size() >= before.size();
  }

 private:
  using Block = std::vector<Line>;

  Times times_;
  // Note [Blocks of a log] in the .cpp.
  std::vector<std::shared_ptr<const Block>> blocks_;
  std::size_t size_ = 0;
};

/// Keeps the lines of one rank, of a level and above, that contain a text (case does not matter)
/// or match a pattern.
struct LogFilter {
  std::optional<int> rank;              ///< nullopt: every rank; -1: the supervisor
  LineLevel lowest = LineLevel::kNone;  ///< kNone: every line, also those that say nothing of it
  QString text;
  std::optional<QRegularExpression> pattern;  ///< one that is none lets every line through

  void setText(const QString& wanted, bool isPattern);
  /// What is wrong with the pattern; empty when nothing is.
  [[nodiscard]] QString mistake() const;
  /// [any-thread]
  [[nodiscard]] bool accepts(const LogLines::Line& line) const;
};

}  // namespace lockstep::ui
