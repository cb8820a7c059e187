#include <algorithm>

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
  const auto tile = [this](const QString& label, auto valueOf, const QString& tip) {
    Tile& made = tiles_.emplace_back(Tile{label, {}, tip, {}});
    for (const HookSide& side : content_.sides) {
      made.values << valueOf(side);
    }
  };
  tile(
      tr("Hook"),
      [](const HookSide& side) {
        return side.run->values.isEmpty()
                   ? side.run->hook
                   : side.run->hook + QStringLiteral("   ") + side.run->values;
      },
      tr("The communication hook of the run, and the values its experiment gives it."));
  tile(
      tr("Own work a step"),
      [](const HookSide& side) {
        return side.step.workMs > 0 ? formatMs(side.step.workMs) : tr("none");
      },
      tr("Encode and decode of all buckets and around the step: what the hook itself costs. "
         "Median over steps and ranks."));
  tile(
      tr("Exposed communication a step"),
      [](const HookSide& side) { return orUnknown(side.run->exposedMs); },
      tr("In flight while the rank did not compute: median over steps of the rank that has most."));
  tile(
      tr("Step"), [](const HookSide& side) { return orUnknown(side.run->stepMs); },
      tr("Median over the measured steps of all ranks."));
  tile(
      tr("Gradients → collectives, a step"),
      [](const HookSide& side) {
        return payloadText(side.step.gradientBytes, side.step.payloadBytes);
      },
      tr("Bytes of all buckets, and bytes of the tensors that a rank hands to collectives for "
         "them; median over steps and ranks."));
  tile(
      tr("On the wire a step, rank %1").arg(content_.rank.value_or(0)),
      [this](const HookSide& side) { return wireText(*side.run, content_.rank); },
      tr("What the backend counted as sent over the whole run, start-up and evaluation included, "
         "over the number of steps. An allreduce over a ring of n ranks sends 2 (n - 1) / n times "
         "its tensor."));
  const double width = frame_.size.width() - 2 * kMargin;
  // So many in a row that no row is half empty.
  const auto room = static_cast<int>((width + kGap) / (kTileWidth + kGap));
  const int columns = room >= 6 ? 6 : room >= 3 ? 3 : room >= 2 ? 2 : 1;
  const int rows = (static_cast<int>(tiles_.size()) + columns - 1) / columns;
  const double tileHeight =
      kTileLabel + kTileValue * static_cast<double>(content_.sides.size()) + 6;
  // In one row, those that say more get more.
  constexpr double kWeights[] = {1.55, 0.8, 1.05, 0.65, 1.35, 0.9};
  double sum = 0;
  for (const double weight : kWeights) {
    sum += weight;
  }
  double left = kMargin;
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    const auto row = static_cast<int>(i) / columns;
    left = static_cast<int>(i) % columns == 0 ? kMargin : left;
    const double filled = width - kGap * (columns - 1);
    const double tileWidth = rows == 1 ? filled * kWeights[i] / sum : filled / columns;
    tiles_[i].rect =
        QRectF(left, height_ + row * (tileHeight + kGap) - frame_.scrollY, tileWidth, tileHeight);
    left += tileWidth + kGap;
  }
  height_ += rows * (tileHeight + kGap);
}

void HooksScene::drawTiles(DisplayList& list) const {
  for (const Tile& tile : tiles_) {
    drawTile(list, tile.rect, palette_);
    const QRectF inner = tile.rect.adjusted(10, 4, -8, -4);
    list.note(QRectF(inner.left(), inner.top(), inner.width(), kTileLabel - 4), tile.label,
              palette_);
    for (int i = 0; i < tile.values.size(); ++i) {
      double left = inner.left();
      const double top = inner.top() + kTileLabel - 4 + i * kTileValue;
      if (content_.compares()) {
        const auto side = static_cast<std::size_t>(i);
        list.text(QRectF(left, top, 16, kTileValue), sideName(side), palette_.textMuted,
                  FontRole::kBold);
        list.fill(QRectF(left + 13, top + 4, 3, kTileValue - 8), sideColour(palette_, side));
        left += 22;
      }
      list.title(QRectF(left, top, inner.right() - left, kTileValue), tile.values[i], palette_);
    }
  }
}

}  // namespace lockstep::ui
