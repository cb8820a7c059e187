#include "ui/views/live/LivePicture.h"

#include <utility>

#include "ui/model/RunTitle.h"
#include "ui/views/live/LiveContent.h"
#include "ui/views/live/LiveScene.h"

namespace lockstep::ui {
namespace {

constexpr int kHeight = 760;

}  // namespace

Picture livePicture(const RunModel& model, std::shared_ptr<const AnalysedRun> run, QSize size,
                    Theme theme) {
  LiveFeed feed;
  feed.setModel(&model);
  if (run != nullptr) {
    feed.setUnlike(run->likeness().outliers());
  }
  feed.update(std::move(run));
  const LiveContent content = liveContent(model, feed, presentOf(model));
  Picture picture;
  picture.title = titleOfRun(model);
  picture.size = QSizeF(size.width(), size.height() > 0 ? size.height() : kHeight);
  LiveScene(model, content, Palette::of(theme), {picture.size, std::nullopt, true})
      .draw(picture.list);
  return picture;
}

}  // namespace lockstep::ui
