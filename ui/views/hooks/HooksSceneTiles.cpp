#include <algorithm>
#include <array>

#include "ui/canvas/TextMetrics.h"
#include "ui/views/hooks/HookCharts.h"
#include "ui/views/hooks/HookWords.h"
#include "ui/views/hooks/HooksScene.h"

// The figures on top.
namespace lockstep::ui {
namespace {

using namespace hook_words;
constexpr double kTileWidth = 170;  // at least
constexpr double kTileLabel = 26;
constexpr double kTileValue = 20;
constexpr double kTilePadding = 20;  // left and right of what it says, and what rounding takes
constexpr double kSideName = 22;

QString orUnknown(const std::optional<double>& ms) {
  return ms ? formatMs(*ms) : tr("not known");
}

QString wireText(const HookRun& run, std::optional<int> rank) {
  // Wire bytes are counted by rank; without a choice that of rank 0 stands for all, as the title
  // says.
  const int wanted = rank.value_or(0);
  const auto at = std::ranges::find(run.wire, wanted, &HookWire::rank);
  // The backend tells at the end of the run.
  if (at == run.wire.end() || run.steps == 0) {
    return tr("known at the end");
  }
  return formatBytes(static_cast<double>(at->bytes) / run.steps);
}

}  // namespace

void HooksScene::layTiles() {
  const auto tile = [this](const QStringList& labels, auto valueOf, const QString& tip) {
    Tile& made = tiles_.emplace_back(Tile{labels, {}, tip, {}});
    for (const HookSide& side : content_.sides) {
      made.values.push_back({valueOf(side)});
    }
  };
  tile(
      {tr("Hook")},
      [](const HookSide& side) {
        return side.run->values.isEmpty()
                   ? side.run->hook
                   : side.run->hook + QStringLiteral("   ") + side.run->values;
      },
      tr("The communication hook of the run, and the values its experiment gives it."));
  tile(
      {tr("Own work a step")},
      [](const HookSide& side) {
        return side.step.workMs > 0 ? formatMs(side.step.workMs) : tr("none");
      },
      tr("Encode and decode of all buckets and around the step: what the hook itself costs. "
         "Median over steps and ranks."));
  tile(
      {tr("Exposed communication a step"), tr("Exposed a step")},
      [](const HookSide& side) { return orUnknown(side.run->exposedMs); },
      tr("In flight while the rank did not compute: median over steps of the rank that has most."));
  tile(
      {tr("Step")}, [](const HookSide& side) { return orUnknown(side.run->stepMs); },
      tr("Median over the measured steps of all ranks."));
  tile(
      {tr("Gradients → collectives, a step")},
      [](const HookSide& side) {
        return payloadText(side.step.gradientBytes, side.step.payloadBytes);
      },
      tr("Bytes of all buckets, and bytes of the tensors that a rank hands to collectives for "
         "them; median over steps and ranks."));
  tile(
      {tr("On the wire a step, rank %1").arg(content_.rank.value_or(0)),
       tr("Wire a step, rank %1").arg(content_.rank.value_or(0))},
      [this](const HookSide& side) { return wireText(*side.run, content_.rank); },
      tr("What the backend counted as sent over the whole run, start-up and evaluation included, "
         "over the number of steps. An allreduce over a ring of n ranks sends 2 (n - 1) / n times "
         "its tensor."));
  const double width = frame_.size.width() - 2 * kMargin;
  // So many in a row that no row is half empty.
  const auto room = static_cast<int>((width + kGap) / (kTileWidth + kGap));
  const std::size_t columns = room >= 6 ? 6 : room >= 3 ? 3 : room >= 2 ? 2 : 1;
  if (hookFits(columns)) {
    for (std::size_t first = 0; first < tiles_.size(); first += columns) {
      layTileRow(first, columns, columns == tiles_.size());
    }
    return;
  }
  // Parameters are not cut off: the hook has a row of its own, in as many lines as it needs.
  for (QStringList& lines : tiles_.front().values) {
    lines = brokenInto(lines.front(), width - kTilePadding - besideValues(), FontRole::kBold);
  }
  layTileRow(0, 1, false);
  const std::size_t others = tiles_.size() - 1;
  const std::size_t beside = static_cast<std::size_t>(room) >= others ? others : columns;
  for (std::size_t first = 1; first < tiles_.size(); first += beside) {
    layTileRow(first, std::min(beside, tiles_.size() - first), beside == others);
  }
}

/// Before a value, where two runs are compared: which one it is of.
double HooksScene::besideValues() const {
  return content_.compares() ? kSideName : 0;
}

double HooksScene::weightOf(std::size_t tile, bool weighed) {
  // Those that say more get more.
  constexpr std::array kWeights{1.55, 0.8, 1.05, 0.65, 1.35, 0.9};
  return weighed ? kWeights[tile] : 1;
}

/// Whether the first tile, with so many in a row, shows the hook with its parameters.
bool HooksScene::hookFits(std::size_t columns) const {
  double sum = 0;
  for (std::size_t tile = 0; tile < columns; ++tile) {
    sum += weightOf(tile, columns == tiles_.size());
  }
  const double filled = frame_.size.width() - 2 * kMargin - kGap * static_cast<double>(columns - 1);
  const double least = filled * weightOf(0, columns == tiles_.size()) / sum - kTilePadding;
  return std::ranges::all_of(tiles_.front().values, [&](const QStringList& lines) {
    return textWidth(lines.front(), FontRole::kBold) + besideValues() <= least;
  });
}

/// Places tiles beside each other, all as high as the one with most lines.
void HooksScene::layTileRow(std::size_t first, std::size_t count, bool weighed) {
  double sum = 0;
  qsizetype most = 1;
  for (std::size_t tile = first; tile < first + count; ++tile) {
    sum += weightOf(tile, weighed);
    qsizetype lines = 0;
    for (const QStringList& value : tiles_[tile].values) {
      lines += value.size();
    }
    most = std::max(most, lines);
  }
  const double filled = frame_.size.width() - 2 * kMargin - kGap * static_cast<double>(count - 1);
  const double height = kTileLabel + kTileValue * static_cast<double>(most) + 6;
  double left = kMargin;
  for (std::size_t tile = first; tile < first + count; ++tile) {
    const double width = filled * weightOf(tile, weighed) / sum;
    tiles_[tile].rect = QRectF(left, height_ - frame_.scrollY, width, height);
    left += width + kGap;
  }
  height_ += height + kGap;
}

void HooksScene::drawTiles(DisplayList& list) const {
  for (const Tile& tile : tiles_) {
    drawTile(list, tile.rect, palette_);
    const QRectF inner = tile.rect.adjusted(10, 4, -8, -4);
    const auto fits = std::ranges::find_if(tile.labels, [&](const QString& label) {
      return textWidth(label, FontRole::kSmall) <= inner.width();
    });
    list.note(QRectF(inner.left(), inner.top(), inner.width(), kTileLabel - 4),
              fits == tile.labels.end() ? tile.labels.back() : *fits, palette_);
    double top = inner.top() + kTileLabel - 4;
    for (std::size_t side = 0; side < tile.values.size(); ++side) {
      if (content_.compares()) {
        list.text(QRectF(inner.left(), top, 16, kTileValue), sideName(side), palette_.textMuted,
                  FontRole::kBold);
        list.fill(QRectF(inner.left() + 13, top + 4, 3, kTileValue - 8),
                  sideColour(palette_, side));
      }
      const double left = inner.left() + besideValues();
      for (const QString& line : tile.values[side]) {
        list.title(QRectF(left, top, inner.right() - left, kTileValue), line, palette_);
        top += kTileValue;
      }
    }
  }
}

}  // namespace lockstep::ui
