#pragma once

#include <memory>

#include "engine/trace/Event.h"
#include "ui/canvas/Palette.h"
#include "ui/table/ColumnRows.h"
#include "ui/views/compare/CompareResult.h"

namespace lockstep::ui {

/// What a table shows of a comparison. Null: nothing is compared.
struct Compared {
  std::shared_ptr<const CompareResult> result;
  std::size_t other = 1;  ///< the run that is set against A where only one is
  Theme theme = Theme::kLight;
};

/// Rows of a comparison, in the order of CompareResult.
class CompareRows : public ColumnRows {
 public:
  [[nodiscard]] bool continues(const TableRows& before) const override {
    const Compared& then = static_cast<const CompareRows&>(before).shown_;
    return then.result == shown_.result && then.other == shown_.other;
  }

 protected:
  explicit CompareRows(Compared shown, const QString& unknown = {})
      : ColumnRows(unknown), shown_(std::move(shown)) {}
  [[nodiscard]] const CompareResult& result() const { return *shown_.result; }
  [[nodiscard]] bool any() const { return shown_.result != nullptr; }

  Compared shown_;
};

/// The keys of the experiments that differ: key, and the value of each run.
class KeyRows : public CompareRows {
 public:
  explicit KeyRows(Compared shown);
  [[nodiscard]] std::size_t size() const override {
    return any() ? result().comparison.keys.size() : 0;
  }
  [[nodiscard]] QString tip(std::size_t row, std::size_t column) const override;
};

/// The delta table: metric, A, the other run, difference, per cent, verdict, the interval.
class MetricRows : public CompareRows {
 public:
  enum Cell : std::size_t { kMetric, kA, kOther, kDifference, kPercent, kVerdict, kInterval };

  explicit MetricRows(Compared shown);
  [[nodiscard]] std::size_t size() const override {
    return any() ? result().comparison.metrics.size() : 0;
  }
  [[nodiscard]] QString tip(std::size_t row, std::size_t column) const override;
  [[nodiscard]] QVariant look(std::size_t row, std::size_t column, int role) const override;

 private:
  [[nodiscard]] const analysis::MetricRow& of(std::size_t row) const {
    return result().comparison.metrics[row];
  }
  [[nodiscard]] const analysis::Delta& delta(std::size_t row) const {
    return of(row).deltas[shown_.other - 1];
  }
};

/// Why the other run's step is longer or shorter: milliseconds and a sentence, ranked.
class WhyRows : public CompareRows {
 public:
  enum Cell : std::size_t { kDelta, kSentence };

  explicit WhyRows(Compared shown);
  [[nodiscard]] std::size_t size() const override {
    return any() ? result().comparison.why[shown_.other - 1].reasons.size() : 0;
  }
  [[nodiscard]] QString tip(std::size_t row, std::size_t column) const override;
  [[nodiscard]] QVariant look(std::size_t row, std::size_t column, int role) const override;
  [[nodiscard]] const analysis::Reason& reason(std::size_t row) const {
    return result().comparison.why[shown_.other - 1].reasons[row];
  }
};

/// The table twin of the histogram: count and percentiles of each run.
class PercentileRows : public CompareRows {
 public:
  enum Cell : std::size_t { kRun, kCount, kP50, kP90, kP99, kMaximum };

  PercentileRows(std::shared_ptr<const CompareResult> result, trace::EventKind kind);
  [[nodiscard]] std::size_t size() const override { return any() ? result().runs.size() : 0; }
  [[nodiscard]] QString tip(std::size_t, std::size_t) const override { return {}; }
  [[nodiscard]] bool continues(const TableRows&) const override { return false; }
};

}  // namespace lockstep::ui
