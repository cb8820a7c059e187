#include "ui/views/buckets/BucketsPicture.h"

#include <algorithm>

#include "ui/model/Format.h"
#include "ui/model/RunTitle.h"
#include "ui/views/buckets/BucketFacts.h"
#include "ui/views/buckets/BucketsScene.h"

namespace lockstep::ui {
namespace {

double heightFor(const BucketStory& story) {
  const double rows = std::max(44.0, story.rankCount() * 6.0 + 10) *
                      static_cast<double>(story.layout.buckets.size());
  const double order =
      story.measured() ? buckets_metrics::kOrderHeader + story.rankCount() * 90.0 : 0;
  return buckets_metrics::kHeader + rows + order + 8;
}

}  // namespace

Picture bucketsPicture(const RunModel& model, QSize size, Theme theme,
                       std::optional<std::uint32_t> step, const std::vector<int>& ranks) {
  BucketStories stories(model);
  const std::uint32_t shown =
      step.value_or(typicalStep(model).value_or(model.firstStep().value_or(0)));
  auto story = stories.ofStep(shown, ranks);
  // As in the view: without events the buckets are computed from the shapes of the parameters.
  if (story == nullptr) {
    story = stories.preview(true);
  }
  const Palette& palette = Palette::of(theme);
  Picture picture;
  picture.title = titleOfRun(model);
  picture.size = QSizeF(size.width(), size.height() > 0  ? size.height()
                                      : story != nullptr ? kPictureHead + heightFor(*story)
                                                         : 240);
  DisplayList& list = picture.list;
  if (story == nullptr) {
    drawPictureHead(picture, {}, palette);
    list.text(
        QRectF(12, kPictureHead, picture.size.width() - 24, picture.size.height() - kPictureHead),
        whyNoBuckets(&model, stories), palette.textMuted, FontRole::kNormal, Qt::AlignCenter);
    return picture;
  }
  const QString more =
      story->preview
          ? QStringLiteral("buckets, computed from the shapes of the parameters")
          : QStringLiteral("buckets of iteration %1  ·  %2")
                .arg(story->step)
                .arg(formatCounted(static_cast<std::uint64_t>(model.rankCount()), "rank"));
  drawPictureHead(picture, more, palette);
  BucketsFrame frame;
  frame.size = QSizeF(picture.size.width(), picture.size.height() - kPictureHead);
  frame.shown = wholeTime(*story);
  list.append(drawn(BucketsScene(*story, palette, frame)), QPointF(0, kPictureHead));
  return picture;
}

}  // namespace lockstep::ui
