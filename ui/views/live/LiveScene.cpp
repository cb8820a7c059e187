#include "ui/views/live/LiveScene.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Card.h"
#include "ui/chart/LineChart.h"
#include "ui/model/Format.h"
#include "ui/model/ViewState.h"
#include "ui/views/timeline/TimelineRoom.h"
#include "ui/views/timeline/TimelineScene.h"

namespace lockstep::ui {
namespace {

constexpr double kMargin = 12;
constexpr double kGap = 10;
constexpr double kTileHeight = 92;
constexpr double kTileWidth = 148;  // at least
constexpr double kProblem = 30;
constexpr double kProblemLeft = 14;
constexpr double kProblemRight = 10;
constexpr double kCaption = 24;
constexpr double kBucketRow = 26;
constexpr double kRankName = 64;
constexpr double kLeastCharts = 150;
constexpr double kLeastTimeline = 130;
constexpr double kLeastLines = 60;
constexpr double kNamedLine = 14;     // a line of a rank
constexpr double kLowestCharts = 90;  // lower ones have no room for axes
constexpr std::size_t kBucketRows = 4;

QString stateOf(const LiveBucket& bucket) {
  return bucket.reduced    ? QStringLiteral("reduced")
         : bucket.launched ? QStringLiteral("being reduced")
         : bucket.ready == bucket.parameters && bucket.ready > 0
             ? QStringLiteral("ready, not launched yet")
             : QStringLiteral("filling");
}

}  // namespace

LiveScene::LiveScene(const RunModel& model, const LiveContent& content, const Palette& palette,
                     Frame frame)
    : model_(model), content_(content), palette_(palette), frame_(frame) {
  layOut();
}

void LiveScene::layOut() {
  const double width = frame_.size.width() - 2 * kMargin;
  double top = kMargin;
  if (frame_.alone && !content_.problem.isEmpty()) {
    problemLines_ =
        brokenInto(content_.problem, width - kProblemLeft - kProblemRight, FontRole::kBold);
    const double more = static_cast<double>(problemLines_.size() - 1) * lineHeight(FontRole::kBold);
    problem_ = QRectF(kMargin, top, width, kProblem + more);
    top = problem_.bottom() + kGap;
  }
  // 6, 3 or 2 in a row: all divide six, so that no row is half empty.
  const int inRow = width >= kLiveFigures * (kTileWidth + kGap) - kGap ? kLiveFigures
                    : width >= 3 * (kTileWidth + kGap) - kGap          ? 3
                                                                       : 2;
  const double tile = (width - kGap * (inRow - 1)) / inRow;
  for (int i = 0; i < kLiveFigures; ++i) {
    tiles_[static_cast<std::size_t>(i)] =
        QRectF(kMargin + (tile + kGap) * (i % inRow), top + (kTileHeight + kGap) * (i / inRow),
               tile, kTileHeight);
  }
  top += (kTileHeight + kGap) * (kLiveFigures / inRow);
  layOutRows();
  const double buckets =
      kCaption + kBucketRow * static_cast<double>(std::max<std::size_t>(1, rows_.size()));
  // A low frame keeps its charts, also when a problem takes room above them: first the lanes give
  // way, which the timeline shows as well, then the buckets.
  double below = frame_.size.height() - top - kMargin;
  const bool showsBuckets = below >= buckets + kGap + kLowestCharts;
  below -= showsBuckets ? buckets + kGap : 0;
  if (below >= kLeastTimeline + kGap + kLowestCharts) {
    // Charts get 150 px or 45 % of the rest, whichever is more; the timeline gets what they leave,
    // and at least 130 px, or what the lines of all ranks need while the charts keep theirs.
    const double rest = below - 2 * kGap;
    const double above = kCaption + timeline_metrics::kRulerHeight;
    const double lines = static_cast<std::size_t>(model_.rankCount()) <= kFewRanks
                             ? kNamedLine * model_.rankCount()
                             : timeline_metrics::kRankHeader + kLeastLines;
    const double share = std::max({kLeastTimeline, std::min(above + lines, rest - kLowestCharts),
                                   rest - std::max(kLeastCharts, rest * 0.45)});
    layOutLanes(share - above);
    // What the lanes leave is the charts'.
    const double timeline = std::clamp(above + lanes_.height() - lanesFrom_, kLeastTimeline, share);
    timeline_ = QRectF(kMargin, top, width, timeline);
    top = timeline_.bottom() + kGap;
  }
  if (showsBuckets) {
    buckets_ = QRectF(kMargin, top, width, buckets);
    top = buckets_.bottom() + kGap;
  }
  const double half = (width - kGap) / 2;
  const double height = std::max(40.0, frame_.size.height() - kMargin - top);
  loss_ = QRectF(kMargin, top, half, height);
  throughput_ = QRectF(kMargin + half + kGap, top, half, height);
  layOutCells();
}

// All ranks are in sight: with all lanes, as dense as that needs; else with a strip of phases and
// communication each, without World where that does not fit; else with a line each, as many have.
void LiveScene::layOutLanes(double room) {
  if (static_cast<std::size_t>(model_.rankCount()) > kFewRanks) {
    layOutLines(room);
    return;
  }
  // Start-up is long over and would only take room.
  TimelineLayout::Options options{.startUp = false};
  lanes_ = fittedLayout(model_, {}, options, room);
  if (lanes_.height() <= room || lanes_.ranks().empty()) {
    return;
  }
  std::set<int> collapsed;
  for (int rank = 0; rank < model_.rankCount(); ++rank) {
    collapsed.insert(rank);
  }
  lanes_ = TimelineLayout(model_, collapsed, {.startUp = false});
  lanesFrom_ = lanes_.height() > room ? lanes_.ranks().front().top : 0;
  if (lanes_.height() - lanesFrom_ > room) {
    layOutLines(room);
  }
}

void LiveScene::layOutLines(double room) {
  TimelineLayout::Options options{.unlike = content_.unlike, .lined = true, .startUp = false};
  lanes_ = TimelineLayout(model_, {}, options);
  lanesFrom_ = 0;
  if (lanes_.height() <= room || lanes_.lines().empty()) {
    return;
  }
  // World and what is said of all give way to the ranks.
  const double lines = lanes_.lines().height() - timeline_metrics::kRankHeader;
  const double beside = lanes_.height() - lines;
  const bool all = room - beside >= std::min(lines, kLeastLines);
  options.linesRoom = all ? room - beside : room;
  lanes_ = TimelineLayout(model_, {}, options);
  lanesFrom_ = all ? 0 : lanes_.lines().topOf(0);
}

// All where they fit, else those first that are unlike the rest.
void LiveScene::layOutRows() {
  rows_.resize(content_.ranks.size());
  std::iota(rows_.begin(), rows_.end(), std::size_t{0});
  if (rows_.size() > kBucketRows) {
    std::ranges::stable_sort(rows_, {}, [this](std::size_t at) {
      return std::ranges::find(content_.unlike, content_.ranks[at].rank) - content_.unlike.begin();
    });
    rows_.resize(kBucketRows);
  }
  rowsLeftOut_ = content_.ranks.size() - rows_.size();
}

// As wide as they have bytes, yet never too narrow to see.
void LiveScene::layOutCells() {
  constexpr double kNarrowest = 18;
  constexpr double kBetween = 3;
  const std::size_t rows = buckets_.isEmpty() ? 0 : rows_.size();
  for (std::size_t r = 0; r < rows; ++r) {
    const std::vector<LiveBucket>& buckets = content_.ranks[rows_[r]].buckets;
    if (buckets.empty()) {
      continue;
    }
    const auto count = static_cast<double>(buckets.size());
    const double room = buckets_.width() - kRankName - kBetween * (count - 1);
    // Where many buckets do not fit at 18 px, they share the row evenly.
    const double least = std::min(kNarrowest, room / count);
    double bytes = 0;
    for (const LiveBucket& bucket : buckets) {
      bytes += static_cast<double>(bucket.bytes);
    }
    double left = buckets_.left() + kRankName;
    const double top = buckets_.top() + kCaption + kBucketRow * static_cast<double>(r);
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      const double share = bytes > 0 ? static_cast<double>(buckets[b].bytes) / bytes : 1 / count;
      const double width = least + (room - least * count) * share;
      cells_.push_back({rows_[r], b, QRectF(left, top + 2, width, kBucketRow - 4)});
      left += width + kBetween;
    }
  }
}

std::optional<LiveFigure> LiveScene::tileAt(QPointF position) const {
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    if (tiles_[i].contains(position)) {
      return static_cast<LiveFigure>(i);
    }
  }
  return std::nullopt;
}

void LiveScene::draw(DisplayList& list) const {
  list.fill(QRectF(QPointF(0, 0), frame_.size), palette_.background);
  if (!problem_.isEmpty()) {
    list.fill(problem_, mixed(palette_.error, palette_.background, 0.12), 4);
    list.fill(QRectF(problem_.left(), problem_.top(), 4, problem_.height()), palette_.error, 2);
    QRectF line = problem_.adjusted(kProblemLeft, 0, -kProblemRight, 0);
    line.setHeight(kProblem);
    for (const QString& part : problemLines_) {
      list.text(line, part, palette_.error, FontRole::kBold);
      line.translate(0, lineHeight(FontRole::kBold));
    }
  }
  for (int i = 0; i < kLiveFigures; ++i) {
    drawTile(list, static_cast<LiveFigure>(i));
  }
  if (!timeline_.isEmpty()) {
    drawTimeline(list);
  }
  if (!buckets_.isEmpty()) {
    drawBuckets(list);
  }
  const auto titled = [&](const QString& title) {
    return content_.ranks.size() <= kFewRanks ? title
                                              : QStringLiteral("%1, extremes of %2 ranks")
                                                    .arg(title, formatCount(content_.ranks.size()));
  };
  drawLineChart(list, loss_,
                {titled(QStringLiteral("Loss")), QString(), QStringLiteral("iteration"),
                 QStringLiteral("No rank has reported a loss yet"), false},
                content_.loss, palette_, frame_.pointer, content_.lossBand);
  drawLineChart(list, throughput_,
                {titled(QStringLiteral("Throughput")), content_.throughputUnit, QStringLiteral("s"),
                 QStringLiteral("Appears with the second iteration"), true},
                content_.throughput, palette_, frame_.pointer, content_.throughputBand);
  drawCards(list);
}

void LiveScene::drawTile(DisplayList& list, LiveFigure figure) const {
  const LiveTile& tile = content_.tile(figure);
  const QRectF rect = tileRect(figure);
  const bool under = frame_.pointer && rect.contains(*frame_.pointer);
  ui::drawTile(list, rect, palette_, under);
  const QRectF inner = rect.adjusted(11, 6, -11, -8);
  list.note(QRectF(inner.left(), inner.top(), inner.width(), 16), tile.name, palette_);
  list.title(QRectF(inner.left(), inner.top() + 16, inner.width(), 21), tile.value, palette_);
  list.note(QRectF(inner.left(), inner.top() + 36, inner.width(), 15), tile.note, palette_);
  drawSparkline(list, QRectF(inner.left(), inner.top() + 54, inner.width(), inner.height() - 54),
                tile.course, palette_.measure);
}

void LiveScene::drawTimeline(DisplayList& list) const {
  const bool under = frame_.pointer && timeline_.contains(*frame_.pointer);
  QString caption = QStringLiteral("The last iterations");
  if (content_.iterations) {
    caption = content_.firstIteration == content_.lastIteration
                  ? QStringLiteral("Iteration %1").arg(content_.lastIteration)
                  : QStringLiteral("Iterations %1 to %2")
                        .arg(content_.firstIteration)
                        .arg(content_.lastIteration);
  }
  list.title(QRectF(timeline_.left(), timeline_.top(), timeline_.width() * 0.5, kCaption), caption,
             palette_);
  const QRectF body = timeline_.adjusted(0, kCaption, 0, 0);
  list.fill(body, palette_.surface, 4);
  if (!content_.iterations) {
    list.text(body,
              content_.live ? QStringLiteral("They appear as soon as every rank has ended one")
                            : QStringLiteral("No iteration was recorded"),
              palette_.textMuted, FontRole::kNormal, Qt::AlignCenter);
  } else {
    list.note(QRectF(timeline_.center().x(), timeline_.top(), timeline_.width() / 2, kCaption),
              QStringLiteral("a click opens the timeline there"), palette_, kToTheRight);
    TimelineFrame frame;
    frame.size = body.size();
    frame.range = *content_.iterations;
    frame.scrollY = lanesFrom_;
    list.clip(body);
    list.append(drawn(TimelineScene(model_, lanes_, palette_, frame)), body.topLeft());
    list.unclip();
  }
  list.outline(body, under && content_.iterations ? palette_.hover : palette_.gridStrong, 4);
}

void LiveScene::drawBuckets(DisplayList& list) const {
  list.title(QRectF(buckets_.left(), buckets_.top(), buckets_.width() * 0.5, kCaption),
             QStringLiteral("Buckets of the current iteration"), palette_);
  list.note(QRectF(buckets_.center().x(), buckets_.top(), buckets_.width() / 2, kCaption),
            rowsLeftOut_ > 0
                ? QStringLiteral("%1 more ranks in the table").arg(formatCount(rowsLeftOut_))
                : QStringLiteral("filling with gradients; hatched: being reduced; ticked: reduced"),
            palette_, kToTheRight);
  if (cells_.empty()) {
    const QRectF body = buckets_.adjusted(0, kCaption, 0, 0);
    list.fill(body, palette_.surface, 4);
    list.text(body, QStringLiteral("Buckets appear with the first backward pass"),
              palette_.textMuted, FontRole::kNormal, Qt::AlignCenter);
    return;
  }
  std::size_t named = content_.ranks.size();
  for (const Cell& cell : cells_) {
    if (cell.rank != named) {
      named = cell.rank;
      const LiveRank& rank = content_.ranks[cell.rank];
      const bool unlike = std::ranges::find(content_.unlike, rank.rank) != content_.unlike.end();
      list.text(QRectF(buckets_.left(), cell.rect.top(), kRankName - 6, cell.rect.height()),
                QStringLiteral("rank %1").arg(rank.rank),
                unlike ? palette_.warning : palette_.textMuted, FontRole::kSmall);
    }
    drawCell(list, cell);
  }
}

void LiveScene::drawCell(DisplayList& list, const Cell& cell) const {
  const LiveBucket& bucket = content_.ranks[cell.rank].buckets[cell.bucket];
  const QColor colour = palette_.bucket(static_cast<int>(cell.bucket));
  list.fill(cell.rect, palette_.surface, 3);
  // Launched is full, whatever was counted: marks of gradients may have been dropped.
  const double part = bucket.reduced || bucket.launched || bucket.parameters == 0
                          ? (bucket.launched || bucket.reduced ? 1.0 : 0.0)
                          : static_cast<double>(bucket.ready) / bucket.parameters;
  const QRectF filled(cell.rect.left(), cell.rect.top(), cell.rect.width() * part,
                      cell.rect.height());
  const bool flying = bucket.launched && !bucket.reduced;
  if (part > 0) {
    list.fill(filled, flying ? mixed(colour, palette_.background, 0.35) : colour, 3);
  }
  if (flying) {
    list.hatch(cell.rect, colour);
  }
  list.outline(cell.rect, part > 0 ? colour : palette_.gridStrong, 3);
  QString text = QString::number(cell.bucket);
  if (bucket.reduced && cell.rect.width() > 30) {
    const double x = cell.rect.right() - 14;
    const double y = cell.rect.center().y();
    list.polyline({{x, y}, {x + 3, y + 4}, {x + 9, y - 4}}, Palette::textOn(colour), 1.8);
  } else if (!bucket.launched && cell.rect.width() > 60) {
    text += QStringLiteral("  %1/%2").arg(bucket.ready).arg(bucket.parameters);
  }
  // The number is written where the filling may end: its colour suits what lies under most of it.
  const QColor ground = flying       ? mixed(colour, palette_.background, 0.35)
                        : part > 0.5 ? colour
                                     : palette_.surface;
  list.text(cell.rect.adjusted(4, 0, -2, 0), text, Palette::textOn(ground), FontRole::kSmall);
}

void LiveScene::drawCards(DisplayList& list) const {
  if (!frame_.pointer) {
    return;
  }
  if (const auto figure = tileAt(*frame_.pointer)) {
    const LiveTile& tile = content_.tile(*figure);
    const QString window = content_.live ? QStringLiteral("The curve: the last 60 s.")
                                         : QStringLiteral("The curve: the whole run, %1.")
                                               .arg(formatDuration(content_.window.lengthNs()));
    drawCard(list, frame_.size, *frame_.pointer,
             {tile.name + QStringLiteral(": ") + tile.value, {}, {}, {tile.definition, window}},
             palette_);
    return;
  }
  for (const Cell& cell : cells_) {
    if (!cell.rect.contains(*frame_.pointer)) {
      continue;
    }
    const LiveRank& rank = content_.ranks[cell.rank];
    const LiveBucket& bucket = rank.buckets[cell.bucket];
    std::vector<CardLine> lines{
        {QStringLiteral("state"), stateOf(bucket)},
        {QStringLiteral("gradients ready"),
         QStringLiteral("%1 of %2").arg(bucket.ready).arg(bucket.parameters)},
        {QStringLiteral("size"), formatBytes(bucket.bytes)}};
    if (bucket.ready == bucket.parameters && bucket.ready > 0) {
      lines.push_back(
          {QStringLiteral("last gradient"),
           QStringLiteral("%1 after the first of all").arg(formatDuration(bucket.readyNs))});
    }
    drawCard(list, frame_.size, *frame_.pointer,
             {QStringLiteral("bucket %1, rank %2, iteration %3")
                  .arg(cell.bucket)
                  .arg(rank.rank)
                  .arg(rank.step.value_or(0)),
              {},
              lines,
              {}},
             palette_);
  }
}

}  // namespace lockstep::ui
