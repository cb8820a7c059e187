#include "ui/views/divergence/DivergenceRows.h"

#include <algorithm>
#include <array>
#include <limits>
#include <ranges>
#include <set>
#include <utility>

#include "engine/trace/Event.h"
#include "ui/model/Format.h"
#include "ui/panels/CurrentPalette.h"
#include "ui/views/divergence/BucketScene.h"
#include "ui/views/divergence/SequenceScene.h"
#include "ui/views/divergence/StripScene.h"

namespace lockstep::ui {
namespace {

using analysis::CallSequence;

QString text(std::string_view name) {
  return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
}

/// Rows with the facts they come from.
class FactRows : public TableRows {
 public:
  /// The first `names` columns are numbers that name a row, and rows stand in their order; none:
  /// a row is named by its place.
  explicit FactRows(std::shared_ptr<const DivergenceFacts> facts, std::size_t names = 0)
      : facts_(std::move(facts)), names_(names) {}
  /// Says whether a row tells of a difference: it is shown in the colour of warnings.
  [[nodiscard]] virtual bool warns(std::size_t) const { return false; }
  [[nodiscard]] QVariant look(std::size_t row, std::size_t, int role) const override {
    return role == Qt::ForegroundRole && warns(row) ? QVariant(currentPalette().warning)
                                                    : QVariant();
  }
  // News of the same run: another run, or another group, empties the table in between.
  [[nodiscard]] bool continues(const TableRows&) const override { return true; }
  // Of a live run, rows may come in between.
  [[nodiscard]] std::optional<std::size_t> placeOf(const TableRows& before,
                                                   std::size_t row) const override {
    if (names_ == 0) {
      return TableRows::placeOf(before, row);
    }
    const Name wanted = nameOf(before, row);
    const auto rows = std::views::iota(std::size_t{0}, size());
    const auto at = std::ranges::partition_point(
        rows, [&](std::size_t other) { return nameOf(*this, other) < wanted; });
    return at != rows.end() && nameOf(*this, *at) == wanted ? std::optional(*at) : std::nullopt;
  }

 protected:
  std::shared_ptr<const DivergenceFacts> facts_;

 private:
  using Name = std::array<double, 3>;

  [[nodiscard]] Name nameOf(const TableRows& rows, std::size_t row) const {
    Name name{};
    for (std::size_t column = 0; column < names_; ++column) {
      // What is in no bucket stands after all that are.
      name[column] = rows.number(row, column).value_or(std::numeric_limits<double>::infinity());
    }
    return name;
  }

  std::size_t names_;
};

class SequenceRows : public FactRows {
 public:
  SequenceRows(std::shared_ptr<const DivergenceFacts> facts, std::size_t sequence)
      : FactRows(std::move(facts), 1), sequence_(facts_->sequences[sequence]) {
    columns_ = {
        {QStringLiteral("Number"), QStringLiteral("Of the call in its group"), true},
        {QStringLiteral("Iteration"), QString(), true},
        {QStringLiteral("Side by side"), QStringLiteral("Whether the ranks made the same call"),
         false},
        {QStringLiteral("Bucket"), QString(), true},
        {QStringLiteral("Bytes"), QStringLiteral("Of the first rank that made the call"), true},
        {QStringLiteral("Data type"), QStringLiteral("Of the bucket, where it is known"), false}};
    for (const int rank : sequence_.ranks) {
      columns_.push_back(
          {QStringLiteral("Rank %1").arg(rank), QStringLiteral("What this rank called"), false});
    }
  }

  [[nodiscard]] std::size_t size() const override { return sequence_.rows.size(); }

  [[nodiscard]] QString text(std::size_t row, std::size_t column) const override {
    const trace::SpanRow& any = facts_->data().spans[sequence_.anyCallAt(row)];
    switch (column) {
      case kNumber:
        return formatCount(sequence_.rows[row].sequence);
      case kIteration:
        return formatCount(any.step);
      case kVerdict:
        return QString::fromLatin1(analysis::name(sequence_.rows[row].mismatch));
      case kBucket:
        return any.bucket == trace::kNoBucket ? QString() : QString::number(any.bucket);
      case kBytes:
        return formatCount(trace::collectiveBytes(any.value));
      case kDtype:
        return dtypeOf(*facts_, any);
      default:
        return callText(row, column - kFixed);
    }
  }

  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const override {
    const trace::SpanRow& any = facts_->data().spans[sequence_.anyCallAt(row)];
    switch (column) {
      case kNumber:
        return static_cast<double>(sequence_.rows[row].sequence);
      case kIteration:
        return any.step;
      case kBucket:
        return any.bucket == trace::kNoBucket ? std::nullopt : std::optional<double>(any.bucket);
      default:
        return static_cast<double>(trace::collectiveBytes(any.value));
    }
  }

  [[nodiscard]] bool warns(std::size_t row) const override {
    return analysis::differs(sequence_.rows[row].mismatch);
  }

 private:
  enum Fixed : std::size_t { kNumber, kIteration, kVerdict, kBucket, kBytes, kDtype, kFixed };

  [[nodiscard]] QString callText(std::size_t row, std::size_t column) const {
    const std::uint32_t call = sequence_.callAt(row, column);
    if (call == CallSequence::kNoCall) {
      return warns(row) ? QStringLiteral("no such call") : QStringLiteral("no record");
    }
    const trace::SpanRow& span = facts_->data().spans[call];
    QString words = ui::text(trace::name(trace::operationOf(span.detail)));
    if (span.bucket != trace::kNoBucket) {
      words += QStringLiteral(", bucket %1").arg(span.bucket);
    }
    words += QStringLiteral(", %1").arg(formatBytes(trace::collectiveBytes(span.value)));
    return span.kind == trace::EventKind::kCollectiveQueued
               ? words + QStringLiteral(", begun, not ended")
               : words;
  }

  const CallSequence& sequence_;
};

class BucketRows : public FactRows {
 public:
  BucketRows(std::shared_ptr<const DivergenceFacts> facts, std::optional<std::uint32_t> step)
      : FactRows(std::move(facts), 2), step_(step) {
    columns_ = {{QStringLiteral("Rank"), QString(), true},
                {QStringLiteral("Bucket"), QString(), true}};
    for (std::size_t i = 0; i < analysis::kBucketMeasures; ++i) {
      const auto measure = static_cast<analysis::BucketMeasure>(i);
      columns_.push_back({titleOf(measure) + QStringLiteral(" (ms)"), meaningOf(measure), true});
    }
    columns_.push_back(
        {QStringLiteral("Iterations"), QStringLiteral("Measured, the warm-up left out"), true});
  }

  [[nodiscard]] std::size_t size() const override { return facts_->delays.cells.size(); }

  [[nodiscard]] QString text(std::size_t row, std::size_t column) const override {
    const auto value = number(row, column);
    if (!value) {
      return QStringLiteral("unknown");
    }
    return isMeasure(column) ? QString::number(*value, 'f', 3)
                             : formatCount(static_cast<std::uint64_t>(*value));
  }

  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const override {
    const auto buckets = static_cast<std::size_t>(facts_->delays.buckets);
    if (column == 0) {
      return facts_->delays.ranks[row / buckets];
    }
    if (column == 1) {
      return static_cast<double>(row % buckets);
    }
    const analysis::BucketCell& cell = facts_->delays.cells[row];
    return isMeasure(column)
               ? valueOf(cell, static_cast<analysis::BucketMeasure>(column - 2), step_)
               : std::optional<double>(cell.measuredSteps);
  }

 private:
  static bool isMeasure(std::size_t column) {
    return column >= 2 && column < 2 + analysis::kBucketMeasures;
  }
  std::optional<std::uint32_t> step_;
};

class ParameterRows : public FactRows {
 public:
  explicit ParameterRows(std::shared_ptr<const DivergenceFacts> facts)
      : FactRows(std::move(facts)) {
    columns_ = {
        {QStringLiteral("Parameter"), QString(), false},
        {QStringLiteral("Shape"), QString(), false},
        {QStringLiteral("Compared"), QStringLiteral("Samples with at least two ranks"), true},
        {QStringLiteral("Differing"), QStringLiteral("Samples in which ranks differ"), true},
        {QStringLiteral("First iteration"), QStringLiteral("The first sample that differs"), true},
        {QStringLiteral("Ranks"), QStringLiteral("That differ there from the reference"), false},
        {QStringLiteral("Norms apart (%)"),
         QStringLiteral("The largest difference from the first rank's norm, over all samples"),
         true},
        {QStringLiteral("Not finite"),
         QStringLiteral("Samples with a number in it that is not finite"), true}};
    const analysis::ReplicaMatrix& replicas = facts_->divergence.replicas;
    rows_.resize(replicas.parameters);
    for (std::size_t sample = 0; sample < replicas.steps.size(); ++sample) {
      for (std::size_t parameter = 0; parameter < replicas.parameters; ++parameter) {
        Row& row = rows_[parameter];
        const analysis::ReplicaCell& cell = replicas.cell(sample, parameter);
        row.compared += cell.unknown() ? 0 : 1;
        row.differing += cell.differing > 0 ? 1 : 0;
        row.notFinite += cell.notFinite > 0 ? 1 : 0;
        if (cell.differing > 0 && !row.first) {
          row.first = sample;
        }
        row.apart = std::max(row.apart, normDifference(replicas, sample, parameter));
      }
    }
  }

  [[nodiscard]] std::size_t size() const override { return rows_.size(); }

  [[nodiscard]] QString text(std::size_t row, std::size_t column) const override {
    const Row& entry = rows_[row];
    const analysis::ReplicaMatrix& replicas = facts_->divergence.replicas;
    switch (column) {
      case 0:
        return nameOfParameter(*facts_, row);
      case 1:
        return shape(row);
      case 2:
        return formatCount(entry.compared);
      case 3:
        return formatCount(entry.differing);
      case 4:
        return entry.first ? formatCount(replicas.steps[*entry.first]) : QStringLiteral("none");
      case 5:
        return entry.first ? formatRanks(replicas.differingRanks(*entry.first, row)) : QString();
      case 7:
        return formatCount(entry.notFinite);
      default:
        return entry.apart < 0 ? QStringLiteral("unknown") : formatValue(entry.apart * 100);
    }
  }

  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const override {
    const Row& entry = rows_[row];
    switch (column) {
      case 2:
        return entry.compared;
      case 3:
        return entry.differing;
      case 4:
        return entry.first ? std::optional<double>(facts_->divergence.replicas.steps[*entry.first])
                           : std::nullopt;
      case 7:
        return entry.notFinite;
      default:
        return entry.apart < 0 ? std::nullopt : std::optional(entry.apart);
    }
  }

  [[nodiscard]] bool warns(std::size_t row) const override {
    return rows_[row].notFinite > 0 || (rows_[row].differing > 0 && !facts_->drifts);
  }

 private:
  struct Row {
    std::uint32_t compared = 0;
    std::uint32_t differing = 0;
    std::uint32_t notFinite = 0;
    std::optional<std::size_t> first;
    double apart = -1;
  };

  [[nodiscard]] QString shape(std::size_t row) const {
    const auto& parameters = facts_->data().parameters;
    return row < parameters.size() ? formatShape(parameters[row].shape) : QString();
  }

  std::vector<Row> rows_;
};

class FindingRows : public FactRows {
 public:
  explicit FindingRows(std::shared_ptr<const DivergenceFacts> facts)
      : FactRows(std::move(facts), 3) {
    columns_ = {
        {QStringLiteral("Iteration"), QString(), true},
        {QStringLiteral("Rank"), QStringLiteral("Whose own gradients held it"), true},
        {QStringLiteral("Bucket"), QString(), true},
        {QStringLiteral("NaN"), QStringLiteral("Elements that are not a number"), true},
        {QStringLiteral("Inf"), QStringLiteral("Elements that are infinite"), true},
        {QStringLiteral("First parameter"), QStringLiteral("The first that came with one"), false}};
  }

  [[nodiscard]] std::size_t size() const override { return facts_->divergence.findings.size(); }

  [[nodiscard]] QString text(std::size_t row, std::size_t column) const override {
    const analysis::SanityFinding& finding = facts_->divergence.findings[row];
    if (column == 5) {
      return finding.parameter ? nameOfParameter(*facts_, *finding.parameter) : QString();
    }
    const auto value = number(row, column);
    return value ? formatCount(static_cast<std::uint64_t>(*value))
                 : QStringLiteral("averaged apart");
  }

  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const override {
    const analysis::SanityFinding& finding = facts_->divergence.findings[row];
    switch (column) {
      case 0:
        return finding.step;
      case 1:
        return finding.rank;
      case 2:
        return finding.bucket == trace::kNoBucket ? std::nullopt
                                                  : std::optional<double>(finding.bucket);
      case 3:
        return static_cast<double>(finding.nans);
      default:
        return static_cast<double>(finding.infinities);
    }
  }

  [[nodiscard]] bool warns(std::size_t) const override { return true; }
};

class StripRows : public FactRows {
 public:
  explicit StripRows(std::shared_ptr<const DivergenceFacts> facts) : FactRows(std::move(facts), 1) {
    columns_ = {{QStringLiteral("Iteration"), QString(), true}};
    std::set<std::uint32_t> steps;
    for (const StripData& strip : facts_->strips) {
      for (const StepSeries& series : strip.series) {
        columns_.push_back(
            {QStringLiteral("%1, rank %2").arg(titleOf(strip.kind)).arg(series.rank()),
             meaningOf(strip), true});
        series_.push_back(&series);
        for (const StepSeries::Piece& piece : series.pieces()) {
          steps.insert(piece.step);
        }
        if (series.firstNotFinite()) {
          steps.insert(*series.firstNotFinite());
        }
      }
    }
    steps_.assign(steps.begin(), steps.end());
  }

  [[nodiscard]] std::size_t size() const override { return steps_.size(); }

  [[nodiscard]] QString text(std::size_t row, std::size_t column) const override {
    const auto value = number(row, column);
    if (column == 0) {
      return formatCount(steps_[row]);
    }
    if (value) {
      return formatValue(*value);
    }
    return series_[column - 1]->firstNotFinite() == steps_[row] ? QStringLiteral("not a number")
                                                                : QString();
  }

  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const override {
    if (column == 0) {
      return steps_[row];
    }
    const StepSeries& series = *series_[column - 1];
    const auto& pieces = series.pieces();
    const auto at = std::lower_bound(
        pieces.begin(), pieces.end(), steps_[row],
        [](const StepSeries::Piece& piece, std::uint32_t step) { return piece.step < step; });
    return at != pieces.end() && at->step == steps_[row] ? std::optional<double>(at->last)
                                                         : std::nullopt;
  }

 private:
  std::vector<const StepSeries*> series_;
  std::vector<std::uint32_t> steps_;
};

}  // namespace

std::shared_ptr<const TableRows> sequenceRows(std::shared_ptr<const DivergenceFacts> facts,
                                              std::size_t sequence) {
  return std::make_shared<SequenceRows>(std::move(facts), sequence);
}

std::shared_ptr<const TableRows> bucketRows(std::shared_ptr<const DivergenceFacts> facts,
                                            std::optional<std::uint32_t> step) {
  return std::make_shared<BucketRows>(std::move(facts), step);
}

std::shared_ptr<const TableRows> parameterRows(std::shared_ptr<const DivergenceFacts> facts) {
  return std::make_shared<ParameterRows>(std::move(facts));
}

std::shared_ptr<const TableRows> findingRows(std::shared_ptr<const DivergenceFacts> facts) {
  return std::make_shared<FindingRows>(std::move(facts));
}

std::shared_ptr<const TableRows> stripRows(std::shared_ptr<const DivergenceFacts> facts) {
  return std::make_shared<StripRows>(std::move(facts));
}

}  // namespace lockstep::ui
