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
#include "ui/table/ColumnRows.h"
#include "ui/views/divergence/SequenceScene.h"
#include "ui/views/divergence/StripScene.h"

namespace lockstep::ui {
namespace {

using analysis::CallSequence;
using Shown = std::shared_ptr<const DivergenceFacts>;

std::optional<double> bucketOf(std::uint16_t bucket) {
  return bucket == trace::kNoBucket ? std::nullopt : std::optional<double>(bucket);
}

/// Rows with the facts they come from.
class FactRows : public ColumnRows {
 public:
  /// The first `names` columns are numbers that name a row, and rows stand in their order; 0: a row
  /// is named by its place.
  FactRows(Shown facts, const QString& unknown, std::size_t names)
      : ColumnRows(unknown), facts_(std::move(facts)), names_(names) {}
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
  void count(const QString& title, const QString& tip, Number number) {
    figures(title, tip, std::move(number), inCount);
  }

  const Shown facts_;

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

  const std::size_t names_;
};

class SequenceRows : public FactRows {
 public:
  SequenceRows(Shown facts, std::size_t sequence)
      : FactRows(std::move(facts), {}, 1), sequence_(facts_->sequences[sequence]) {
    count(tr("Number"), tr("Of the call in its group"),
          [this](std::size_t row) { return static_cast<double>(sequence_.rows[row].sequence); });
    count(tr("Iteration"), {}, [this](std::size_t row) { return any(row).step; });
    words({tr("Side by side"), tr("Whether the ranks made the same call")},
          [this](std::size_t row) {
            return QString::fromLatin1(analysis::name(sequence_.rows[row].mismatch));
          });
    figures(
        tr("Bucket"), {}, [this](std::size_t row) { return bucketOf(any(row).bucket); },
        [](double bucket) { return QString::number(bucket); });
    count(tr("Bytes"), tr("Of the first rank that made the call"), [this](std::size_t row) {
      return static_cast<double>(trace::collectiveBytes(any(row).value));
    });
    words({tr("Data type"), tr("Of the bucket, where it is known")},
          [this](std::size_t row) { return dtypeOf(*facts_, any(row)); });
    for (std::size_t rank = 0; rank < sequence_.ranks.size(); ++rank) {
      words({tr("Rank %1").arg(sequence_.ranks[rank]), tr("What this rank called")},
            [this, rank](std::size_t row) { return callText(row, rank); });
    }
  }
  [[nodiscard]] std::size_t size() const override { return sequence_.rows.size(); }
  [[nodiscard]] bool warns(std::size_t row) const override {
    return analysis::differs(sequence_.rows[row].mismatch);
  }

 private:
  [[nodiscard]] const trace::SpanRow& any(std::size_t row) const {
    return sequence_.anyCallAt(row);
  }
  [[nodiscard]] QString callText(std::size_t row, std::size_t column) const {
    const trace::SpanRow* call = sequence_.callAt(row, column);
    if (call == nullptr) {
      return warns(row) ? QStringLiteral("no such call") : QStringLiteral("no record");
    }
    const trace::SpanRow& span = *call;
    QStringList parts{nameOfOperation(span)};
    if (span.bucket != trace::kNoBucket) {
      parts << QStringLiteral("bucket %1").arg(span.bucket);
    }
    parts << formatBytes(trace::collectiveBytes(span.value));
    if (span.kind == trace::EventKind::kCollectiveQueued) {
      parts << QStringLiteral("begun, not ended");
    }
    return parts.join(QStringLiteral(", "));
  }

  const CallSequence& sequence_;
};

class ParameterRows : public FactRows {
 public:
  explicit ParameterRows(Shown facts) : FactRows(std::move(facts), QStringLiteral("unknown"), 0) {
    measure();
    words({tr("Parameter")}, [this](std::size_t row) { return nameOfParameter(*facts_, row); });
    words({tr("Shape")}, [this](std::size_t row) {
      const auto& parameters = facts_->data().parameters;
      return row < parameters.size() ? formatShape(parameters[row].shape) : QString();
    });
    count(tr("Compared"), tr("Samples with at least two ranks"),
          [this](std::size_t row) { return rows_[row].compared; });
    count(tr("Differing"), tr("Samples in which ranks differ"),
          [this](std::size_t row) { return rows_[row].differing; });
    words(
        {tr("First iteration"), tr("The first sample that differs"), true},
        [this](std::size_t row) {
          const auto step = firstStep(row);
          return step ? inCount(*step) : QStringLiteral("none");
        },
        [this](std::size_t row) { return firstStep(row); });
    words({tr("Ranks"), tr("That differ there from the reference")}, [this](std::size_t row) {
      const auto& first = rows_[row].first;
      return first ? formatRanks(facts_->divergence.replicas.differingRanks(*first, row))
                   : QString();
    });
    figures(
        tr("Norms apart (%)"),
        tr("The largest difference from the first rank's norm, over all samples"),
        [this](std::size_t row) {
          return rows_[row].apart < 0 ? std::nullopt : std::optional(rows_[row].apart);
        },
        [](double apart) { return formatValue(apart * 100); });
    count(tr("Not finite"), tr("Samples with a number in it that is not finite"),
          [this](std::size_t row) { return rows_[row].notFinite; });
  }
  [[nodiscard]] std::size_t size() const override { return rows_.size(); }
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

  // All at once when the table is made: a cell is asked for by row, and each row is a column of the
  // matrix from its first sample to its last.
  void measure() {
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
  [[nodiscard]] std::optional<double> firstStep(std::size_t row) const {
    const auto& first = rows_[row].first;
    return first ? std::optional<double>(facts_->divergence.replicas.steps[*first]) : std::nullopt;
  }

  std::vector<Row> rows_;
};

class FindingRows : public FactRows {
 public:
  explicit FindingRows(Shown facts)
      : FactRows(std::move(facts), QStringLiteral("averaged apart"), 3) {
    const auto add = [this](const QString& title, const QString& tip, auto figure) {
      count(title, tip, [this, figure](std::size_t row) {
        return static_cast<double>(facts_->divergence.findings[row].*figure);
      });
    };
    using Finding = analysis::SanityFinding;
    add(tr("Iteration"), {}, &Finding::step);
    add(tr("Rank"), tr("Whose own gradients held it"), &Finding::rank);
    count(tr("Bucket"), {},
          [this](std::size_t row) { return bucketOf(facts_->divergence.findings[row].bucket); });
    add(tr("NaN"), tr("Elements that are not a number"), &Finding::nans);
    add(tr("Inf"), tr("Elements that are infinite"), &Finding::infinities);
    words({tr("First parameter"), tr("The first that came with one")}, [this](std::size_t row) {
      const auto& parameter = facts_->divergence.findings[row].parameter;
      return parameter ? nameOfParameter(*facts_, *parameter) : QString();
    });
  }
  [[nodiscard]] std::size_t size() const override { return facts_->divergence.findings.size(); }
  [[nodiscard]] bool warns(std::size_t) const override { return true; }
};

class StripRows : public FactRows {
 public:
  explicit StripRows(Shown facts) : FactRows(std::move(facts), {}, 1) {
    count(tr("Iteration"), {}, [this](std::size_t row) { return steps_[row]; });
    std::set<std::uint32_t> steps;
    for (const StripData& strip : facts_->strips) {
      for (const StepSeries& series : strip.series) {
        add(strip, series);
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

 private:
  void add(const StripData& strip, const StepSeries& series) {
    // A strip has values at the steps of its own pieces, and not at those of the others.
    const Number number = [this, &series](std::size_t row) {
      const StepSeries::Pieces& pieces = series.pieces();
      const std::size_t at = pieces.firstFrom(steps_[row]);
      return at < pieces.size() && pieces[at].step == steps_[row]
                 ? std::optional<double>(pieces[at].first)
                 : std::nullopt;
    };
    words(
        {tr("%1, rank %2").arg(titleOf(strip.kind)).arg(series.rank()), meaningOf(strip), true},
        [this, &series, number](std::size_t row) {
          const auto value = number(row);
          return value                                    ? formatValue(*value)
                 : series.firstNotFinite() == steps_[row] ? QStringLiteral("not a number")
                                                          : QString();
        },
        number);
  }

  std::vector<std::uint32_t> steps_;
};

}  // namespace

std::shared_ptr<const TableRows> sequenceRows(Shown facts, std::size_t sequence) {
  return std::make_shared<SequenceRows>(std::move(facts), sequence);
}

std::shared_ptr<const TableRows> parameterRows(Shown facts) {
  return std::make_shared<ParameterRows>(std::move(facts));
}

std::shared_ptr<const TableRows> findingRows(Shown facts) {
  return std::make_shared<FindingRows>(std::move(facts));
}

std::shared_ptr<const TableRows> stripRows(Shown facts) {
  return std::make_shared<StripRows>(std::move(facts));
}

}  // namespace lockstep::ui
