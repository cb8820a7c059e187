#include "app/studio/Pictures.h"

#include <QEventLoop>
#include <QTimer>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "engine/analysis/RunAnalysis.h"
#include "engine/base/ExitCodes.h"
#include "engine/base/FreedMemory.h"
#include "engine/trace/RunFile.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"
#include "ui/shell/ViewPictures.h"

namespace lockstep::studio {
namespace {

constexpr int kLoadLimitMs = 120'000;

int refuse(const base::Error& error) {
  std::fprintf(stderr, "lockstep-studio: %s\n", error.message().c_str());
  return static_cast<int>(error.code);
}

/// Returns when the model has read its file.
base::Status load(ui::RunModel& model) {
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
  // The model reads on a thread of its own and says so on this one, whose event loop must run. A
  // file on a share that has gone away would keep it from ever answering.
  QTimer::singleShot(kLoadLimitMs, &loop, &QEventLoop::quit);
  loop.exec();
  if (loaded) {
    return {};
  }
  return failure.isEmpty() ? base::Error{base::ExitCode::kBadInput, "was not read within 120 s",
                                         model.path().string()}
                           : base::Error{base::ExitCode::kBadInput, failure.toStdString(), ""};
}

}  // namespace

int drawPictures(const Options& options) {
  // What is worked out of the events takes seconds for a long run.
  const bool analyses =
      options.ranks.outliers || std::ranges::any_of(options.pictures, [](const auto& picture) {
        return ui::pictureNeedsAnalysis(QString::fromStdString(picture.first));
      });
  std::vector<std::unique_ptr<ui::RunModel>> models;
  std::vector<ui::PicturedRun> runs;
  for (const std::string& path : options.runs) {
    // Opened here once more, so that a bad file ends with the code of its kind.
    if (const auto opened = trace::RunFileReader::open(path); !opened.ok()) {
      return refuse(opened.error());
    }
    models.push_back(std::make_unique<ui::RunModel>(path));
    if (const auto loaded = load(*models.back()); !loaded.ok()) {
      return refuse(loaded.error());
    }
    std::shared_ptr<ui::AnalysedRun> analysed;
    if (analyses) {
      analysed = std::make_shared<ui::AnalysedRun>();
      analysed->data = models.back()->snapshot();
      base::giveBackFreedMemory();
      analysed->analysis = analysis::analyse(analysed->data);
      base::giveBackFreedMemory();
      analysed->ranks = ui::placesOf(models.back()->ranks());
      analysed->hosts = models.back()->hosts();
    }
    runs.push_back({models.back().get(), std::move(analysed)});
  }
  // Light where nothing is asked for: a picture is for a page, and without a display there is no
  // desktop whose colours could be taken.
  const ui::Theme theme = options.theme == "dark" ? ui::Theme::kDark : ui::Theme::kLight;
  for (const auto& [view, file] : options.pictures) {
    const auto picture = ui::viewPicture(QString::fromStdString(view), runs, options.pictureSize,
                                         theme, std::nullopt, std::nullopt, options.ranks);
    if (!picture.ok()) {
      return refuse(picture.error());
    }
    base::giveBackFreedMemory();  // what it was made of, before there is an image of it
    if (const auto saved = ui::savePicture(picture.value(), QString::fromStdString(file));
        !saved.ok()) {
      return refuse(saved.error());
    }
  }
  return 0;
}

}  // namespace lockstep::studio
