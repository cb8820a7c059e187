#include "app/studio/Pictures.h"

#include <QEventLoop>
#include <QTimer>
#include <cstdio>

#include "engine/base/ExitCodes.h"
#include "engine/trace/RunFile.h"
#include "ui/model/RunModel.h"
#include "ui/views/timeline/TimelinePicture.h"

namespace lockstep::studio {
namespace {

constexpr int kLoadLimitMs = 120'000;

int refuse(base::ExitCode code, const std::string& sentence) {
  std::fprintf(stderr, "lockstep-studio: %s\n", sentence.c_str());
  return static_cast<int>(code);
}

}  // namespace

int drawPictures(const Options& options) {
  // Opened here once more, so that a bad file ends with the code of its kind.
  if (const auto opened = trace::RunFileReader::open(options.runs.front()); !opened.ok()) {
    return refuse(opened.error().code, opened.error().message());
  }
  ui::RunModel model(options.runs.front());
  QEventLoop loop;
  QString failure;
  bool loaded = false;
  QObject::connect(&model, &ui::RunModel::loaded, &loop, [&] {
    loaded = true;
    loop.quit();
  });
  QObject::connect(&model, &ui::RunModel::failed, &loop, [&](const QString& sentence) {
    failure = sentence;
    loop.quit();
  });
  QTimer::singleShot(kLoadLimitMs, &loop, &QEventLoop::quit);
  loop.exec();
  if (!loaded) {
    return refuse(base::ExitCode::kBadInput,
                  failure.isEmpty() ? options.runs.front() + ": was not read within 120 s"
                                    : failure.toStdString());
  }
  const ui::Theme theme = options.theme == "dark" ? ui::Theme::kDark : ui::Theme::kLight;
  for (const auto& [view, file] : options.pictures) {
    const auto saved =
        ui::saveTimeline(model, QString::fromStdString(file), options.pictureSize, theme);
    if (!saved.ok()) {
      return refuse(saved.error().code, saved.error().message());
    }
  }
  return 0;
}

}  // namespace lockstep::studio
