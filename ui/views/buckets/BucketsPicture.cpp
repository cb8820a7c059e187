#include "ui/views/buckets/BucketsPicture.h"

#include <algorithm>

#include "ui/canvas/TextMetrics.h"
#include "ui/model/Format.h"
#include "ui/model/RunTitle.h"
#include "ui/views/buckets/BucketsScene.h"
#include "ui/views/buckets/BucketsSentence.h"
#include "ui/views/buckets/ShownTime.h"

namespace lockstep::ui {
namespace {

constexpr double kTitleHeight = 38;

// Room for all rows, and for 90 px of order a rank, so that nothing has to be scrolled.
double heightFor(const BucketStory& story) {
  const double rows = std::max(44.0, story.rankCount() * 6.0 + 10) *
                      static_cast<double>(story.layout.buckets.size());
  const double order =
      story.measured() ? buckets_metrics::kOrderHeader + story.rankCount() * 90.0 : 0;
  return buckets_metrics::kHeader + rows + order + 8;
}

}  // namespace

Picture bucketsPicture(const RunModel& model, const AnalysedRun* /*analysed*/, QSize size,
                       Theme theme, std::optional<std::uint32_t> step) {
  BucketStories stories(model);
  const std::uint32_t shown =
      step.value_or(typicalStep(model).value_or(model.firstStep().value_or(0)));
  auto story = stories.ofStep(shown);
  // As in the view: without events the buckets are computed from the shapes of the parameters.
  if (story == nullptr) {
    story = stories.preview(true);
  }
  const Palette& palette = Palette::of(theme);
  Picture picture;
  picture.title = titleOfRun(model);
  picture.size = QSizeF(size.width(), size.height() > 0  ? size.height()
                                      : story != nullptr ? kTitleHeight + heightFor(*story)
                                                         : 240);
  DisplayList& list = picture.list;
  list.fill(QRectF(QPointF(0, 0), picture.size), palette.background);
  const double width = textWidth(picture.title, FontRole::kBold);
  list.text(QRectF(12, 0, width + 4, kTitleHeight), picture.title, palette.text, FontRole::kBold);
  if (story == nullptr) {
    list.text(
        QRectF(12, kTitleHeight, picture.size.width() - 24, picture.size.height() - kTitleHeight),
        whyNoBuckets(&model, stories), palette.textMuted, FontRole::kNormal, Qt::AlignCenter);
    return picture;
  }
  const QString more =
      story->preview
          ? QStringLiteral("buckets, computed from the shapes of the parameters")
          : QStringLiteral("buckets of iteration %1  ·  %2")
                .arg(story->step)
                .arg(formatCounted(static_cast<std::uint64_t>(model.rankCount()), "rank"));
  list.text(QRectF(12 + width + 16, 0, picture.size.width() - width - 40, kTitleHeight), more,
            palette.textMuted, FontRole::kSmall);
  BucketsFrame frame;
  frame.size = QSizeF(picture.size.width(), picture.size.height() - kTitleHeight);
  frame.shown = wholeTime(*story);
  DisplayList body;
  BucketsScene(*story, palette, frame).draw(body);
  list.append(body, QPointF(0, kTitleHeight));
  return picture;
}

}  // namespace lockstep::ui
