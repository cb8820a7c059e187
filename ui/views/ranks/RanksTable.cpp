#include "ui/views/ranks/RanksTable.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "ui/model/Format.h"
#include "ui/table/ColumnRows.h"

namespace lockstep::ui {
namespace {

using Content = std::shared_ptr<const RanksContent>;

class RankTable : public ColumnRows {
 public:
  explicit RankTable(Content content) : content_(std::move(content)) {
    figures(
        tr("Rank"), tr("The rank"),
        [this](std::size_t row) { return std::optional<double>(content_->table.ranks[row]); },
        [](double rank) { return QString::number(rank); });
    words({tr("Host"), tr("The host that it runs on")},
          [this](std::size_t row) { return content_->hosts[row]; });
    figures(
        tr("Alike"), tr("How many ranks look the same, this one included"),
        [this](std::size_t row) { return std::optional<double>(alikeOf(row)); }, inCount);
    if (content_ != nullptr && content_->last.steps > 0) {
      figures(
          tr("Last in"),
          tr("Iterations in which the rank came last to the collective that was waited for "
             "longest, of %1 in which that is known. One rank is always last: it is late only "
             "where it stands out.")
              .arg(formatCount(content_->last.steps)),
          [this](std::size_t row) {
            const auto of = content_->last.ranks.find(content_->table.ranks[row]);
            return std::optional<double>(of == content_->last.ranks.end() ? 0 : of->second.steps);
          },
          inCount);
    }
    for (std::size_t i = 0; i < analysis::kRankFigures; ++i) {
      const auto figure = static_cast<RankFigure>(i);
      if (content_ == nullptr || !content_->table.has(figure)) {
        continue;
      }
      figures(
          titleOf(figure), tr("%1 Mean over the measured iterations.").arg(definitionOf(figure)),
          [this, figure](std::size_t row) {
            const double mean = content_->of(figure).means[row];
            return std::isnan(mean) ? std::nullopt : std::optional(mean);
          },
          [figure](double mean) { return textOf(figure, mean); });
    }
    words(
        {tr("Stands out"), tr("In what the rank is unlike the rest, beyond chance")},
        [this](std::size_t row) {
          const auto unlike = unlikeOf(row);
          return unlike ? QString::fromStdString(
                              diagnosis::phraseOf(content_->likeness.unlike[*unlike]))
                        : QString();
        },
        // The largest first, then all that do not stand out.
        [this](std::size_t row) {
          const auto unlike = unlikeOf(row);
          return unlike ? std::optional(static_cast<double>(*unlike)) : std::nullopt;
        });
  }

  [[nodiscard]] std::size_t size() const override {
    return content_ == nullptr ? 0 : content_->table.ranks.size();
  }
  [[nodiscard]] bool continues(const TableRows& before) const override {
    return before.size() > 0 && size() >= before.size();
  }

 private:
  [[nodiscard]] std::optional<std::size_t> unlikeOf(std::size_t row) const {
    const auto& all = content_->likeness.unlike;
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& unlike) {
      return std::binary_search(unlike.ranks.begin(), unlike.ranks.end(),
                                content_->table.ranks[row]);
    });
    return found == all.end() ? std::nullopt
                              : std::optional(static_cast<std::size_t>(found - all.begin()));
  }
  [[nodiscard]] int alikeOf(std::size_t row) const {
    for (const diagnosis::AlikeRanks& alike : content_->likeness.classes) {
      if (std::binary_search(alike.ranks.begin(), alike.ranks.end(), content_->table.ranks[row])) {
        return static_cast<int>(alike.ranks.size());
      }
    }
    return 1;
  }

  const Content content_;
};

}  // namespace

std::shared_ptr<const TableRows> rankTable(std::shared_ptr<const RanksContent> content) {
  return std::make_shared<RankTable>(std::move(content));
}

}  // namespace lockstep::ui
