#include "ui/views/hooks/HooksScene.h"

#include <QStringList>
#include <algorithm>

#include "ui/views/hooks/HookCharts.h"
#include "ui/views/hooks/HookWords.h"

namespace lockstep::ui {
namespace {

using namespace hook_words;
using analysis::HookPhase;

constexpr double kCardHead = 58;  // title and legend
constexpr double kAxis = 24;
constexpr double kLabelWidth = 138;
constexpr double kFiguresWidth = 176;  // "12.3 ms, P90 45.6 ms" beside a bar
constexpr double kBytesWidth = 330;
constexpr double kWideEnoughForBytes = 900;
constexpr double kWideEnoughForTwo = 860;  // charts beside each other
constexpr double kChartHeight = 236;

// Medians of phases do not add up to the median of a call. So a bar is as long as the median call,
// and divided as the time of all calls is.
double barMs(const analysis::HookBucket& bucket, HookPhase phase) {
  const auto index = static_cast<std::size_t>(phase);
  return bucket.share > 0 ? bucket.total.p50 * bucket.shares[index] / bucket.share : 0;
}

constexpr HookPhase kPhases[] = {HookPhase::kEncode, HookPhase::kQueued, HookPhase::kWaiting,
                                 HookPhase::kTransfer, HookPhase::kDecode};

}  // namespace

HooksScene::HooksScene(const HooksContent& content, const Palette& palette, const HooksFrame& frame)
    : content_(content), palette_(palette), frame_(frame) {
  height_ = kMargin;
  layTiles();
  layRows();
  layCharts();
}

double HooksScene::contentHeight() const {
  return height_;
}

void HooksScene::layRows() {
  const double width = frame_.size.width() - 2 * kMargin;
  // Bytes are left out before bars get too short to compare; the table has them.
  const bool bytes = width >= kWideEnoughForBytes;
  const double sides = static_cast<double>(std::max<std::size_t>(1, content_.sides.size()));
  const double rowHeight = sides * (kBar + 2) - 2 + 2 * kRowPad;
  const std::vector<std::uint16_t> buckets = content_.buckets();
  const double rowsHeight = buckets.empty() ? 40 : rowHeight * static_cast<double>(buckets.size());
  phases_ = QRectF(kMargin, height_ - frame_.scrollY, width, kCardHead + rowsHeight + kAxis + 8);
  height_ += phases_.height() + kGap;

  const double right = phases_.right() - 10;
  bytesLeft_ = bytes ? right - kBytesWidth : right;
  barsLeft_ = phases_.left() + kLabelWidth;
  // The room beside the bars is for their figures.
  barsRight_ = std::max(barsLeft_ + 40, bytesLeft_ - kFiguresWidth);
  maxMs_ = 0;
  maxBytes_ = 1;
  // One scale of time and one of bytes for all rows and both runs.
  for (const HookSide& side : content_.sides) {
    for (const analysis::HookBucket& bucket : side.buckets) {
      maxMs_ = std::max({maxMs_, bucket.total.p50, bucket.total.p90});
      maxBytes_ = std::max(
          {maxBytes_, bucket.payloadBytes, static_cast<double>(bucket.gradientBytes.value_or(0))});
    }
  }
  maxMs_ = maxMs_ > 0 ? maxMs_ : 1;

  double top = phases_.top() + kCardHead;
  for (const std::uint16_t bucket : buckets) {
    rows_.push_back({bucket, QRectF(phases_.left(), top, width, rowHeight)});
    for (std::size_t side = 0; side < content_.sides.size(); ++side) {
      const analysis::HookBucket* of = content_.sides[side].find(bucket);
      double ms = 0;
      // Phases follow each other in the order of a call.
      for (const HookPhase phase : kPhases) {
        const double length = of == nullptr ? 0 : barMs(*of, phase);
        if (length > 0) {
          bars_.push_back({{bucket, phase},
                           side,
                           QRectF(barX(ms), top + kRowPad + static_cast<double>(side) * (kBar + 2),
                                  barX(ms + length) - barX(ms), kBar)});
        }
        ms += length;
      }
    }
    top += rowHeight;
  }
}

void HooksScene::layCharts() {
  const double width = frame_.size.width() - 2 * kMargin;
  const double curves = curvesHeight(content_);
  const bool counts = curves > 0;  // a hook that counts nothing has no card of curves
  const bool beside = counts && width >= kWideEnoughForTwo;
  const double below = counts && !beside ? curves + kGap : 0;
  const double needed = beside ? std::max(kChartHeight, curves) : kChartHeight;
  // What is left of the canvas goes to the charts, within reason.
  const double left = frame_.size.height() - height_ - kMargin - below;
  const double tall = std::clamp(left, needed, 2 * needed);
  if (beside) {
    const double each = (width - kGap) / 2;
    histogram_ = QRectF(kMargin, height_ - frame_.scrollY, each, tall);
    curves_ = histogram_.translated(each + kGap, 0);
    height_ += tall + kMargin;
  } else {
    histogram_ = QRectF(kMargin, height_ - frame_.scrollY, width, tall);
    if (counts) {
      curves_ = QRectF(kMargin, histogram_.bottom() + kGap, width, curves);
    }
    height_ += tall + below + kMargin;
  }
}

double HooksScene::barX(double ms) const {
  return barsLeft_ + ms / maxMs_ * (barsRight_ - barsLeft_);
}

std::optional<HookPick> HooksScene::pickAt(QPointF at) const {
  for (const Bar& bar : bars_) {
    // A sliver is as wide as a finger's reach on either side.
    if (bar.rect.adjusted(-1, 0, 1, 0).contains(at)) {
      return bar.pick;
    }
  }
  for (const Row& row : rows_) {
    if (row.rect.contains(at)) {
      return HookPick{row.bucket, std::nullopt};
    }
  }
  return std::nullopt;
}

QString HooksScene::figureOf(const HookPick& pick) const {
  QStringList lines;
  for (std::size_t i = 0; i < content_.sides.size(); ++i) {
    const HookSide& side = content_.sides[i];
    const analysis::Durations* durations = side.durations(pick);
    QString line = content_.compares()
                       ? sideName(i) + QStringLiteral(": ") + side.run->hook + QStringLiteral(", ")
                       : QString();
    if (durations == nullptr || durations->count() == 0) {
      lines << line + tr("no call");
      continue;
    }
    const analysis::HookBucket* bucket = side.find(pick.bucket);
    const double share =
        pick.phase ? bucket->shares[static_cast<std::size_t>(*pick.phase)] : bucket->share;
    lines << line + tr("%1 calls: median %2, P90 %3, longest %4; %5 of the hook's time")
                        .arg(formatCount(durations->count()), formatMs(durations->p50),
                             formatMs(durations->p90), formatMs(durations->max),
                             formatPercent(100 * share));
    if (!pick.phase) {
      lines << tr("a call: %1").arg(payloadText(bucket->gradientBytes, bucket->payloadBytes));
    }
  }
  return lines.join(QLatin1Char('\n'));
}

QString HooksScene::tipAt(QPointF at) const {
  for (const Tile& tile : tiles_) {
    if (tile.rect.contains(at)) {
      QStringList said{tile.labels.front()};
      for (const QStringList& lines : tile.values) {
        said << lines.join(QLatin1Char(' '));
      }
      return (said << tile.tip).join(QLatin1Char('\n'));
    }
  }
  const auto pick = pickAt(at);
  if (!pick) {
    return {};
  }
  QString tip = bucketTitle(pick->bucket) + QStringLiteral(", ") + phaseTitle(pick->phase) +
                QLatin1Char('\n') + figureOf(*pick);
  if (pick->phase) {
    tip += QLatin1Char('\n') + phaseMeaning(*pick->phase);
  }
  return tip + QLatin1Char('\n') + tr("Click: its durations below, and its longest everywhere");
}

QRectF HooksScene::rectOf(const HookPick& pick, std::size_t side) const {
  QRectF united;
  for (const Bar& bar : bars_) {
    if (bar.side == side && bar.pick.bucket == pick.bucket &&
        (!pick.phase || bar.pick.phase == pick.phase)) {
      united = united.isNull() ? bar.rect : united.united(bar.rect);
    }
  }
  return united;
}

QRectF HooksScene::rowOf(std::uint16_t bucket) const {
  const auto at = std::ranges::find(rows_, bucket, &Row::bucket);
  return at == rows_.end() ? QRectF() : at->rect;
}

void HooksScene::draw(DisplayList& list) const {
  list.fill(QRectF(QPointF(0, 0), frame_.size), palette_.background);
  drawTiles(list);
  drawPhases(list);
  // Before a choice the heaviest is shown, as the view itself picks it.
  const auto picked = frame_.picked ? frame_.picked : content_.heaviest();
  drawTile(list, histogram_, palette_);
  drawHookHistogram(list, histogram_, content_, picked.value_or(HookPick{}), palette_);
  if (!curves_.isEmpty()) {
    drawTile(list, curves_, palette_);
    drawCurves(list, curves_, content_, palette_);
  }
}

}  // namespace lockstep::ui
