#include "ui/views/compare/ComparedRuns.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "ui/model/BackgroundJob.h"
#include "ui/model/Follow.h"

namespace lockstep::ui {
namespace {

// By the file itself: a path may be relative, or a link.
bool isSameFile(const RunModel* model, const std::filesystem::path& path) {
  std::error_code error;
  return model != nullptr && !model->path().empty() &&
         std::filesystem::equivalent(model->path(), path, error) && !error;
}

}  // namespace

ComparedRuns::ComparedRuns(QObject* parent) : QObject(parent) {}

ComparedRuns::~ComparedRuns() = default;

void ComparedRuns::setFirst(const OpenRun& run) {
  // Signals of the run before must not come after this.
  follow(firstModel_, run.model, this);
  follow(firstAnalyser_, run.analyser, this);
  if (firstModel_ != nullptr) {
    // The owner may end the model at any time; the comparison with it goes, too.
    connect(firstModel_, &QObject::destroyed, this, &ComparedRuns::forget);
    connect(firstModel_, &RunModel::loaded, this, &ComparedRuns::reconsider);
  }
  if (firstAnalyser_ != nullptr) {
    connect(firstAnalyser_, &RunAnalyser::ready, this, &ComparedRuns::reconsider);
  }
  // A run is not compared with itself.
  std::erase_if(others_, [&](const auto& other) {
    return firstModel_ != nullptr && isSameFile(firstModel_, other->model->path());
  });
  // What was compared is of another A.
  forget();
  want();
}

void ComparedRuns::add(const QString& path) {
  const std::filesystem::path file = path.toStdString();
  if (isSameFile(firstModel_, file)) {
    emit refused(tr("%1 is the open run already; add another to compare it with.").arg(path));
    return;
  }
  for (const auto& other : others_) {
    if (isSameFile(other->model.get(), file)) {
      emit refused(tr("%1 is compared already.").arg(path));
      return;
    }
  }
  auto other = std::make_unique<Other>();
  other->model = std::make_unique<RunModel>(file);
  other->analyser = std::make_unique<RunAnalyser>(*other->model);
  RunModel* model = other->model.get();
  connect(model, &RunModel::failed, this,
          [this, model](const QString& sentence) { drop(model, sentence); });
  connect(model, &RunModel::loaded, this, &ComparedRuns::reconsider);
  connect(other->analyser.get(), &RunAnalyser::ready, this, &ComparedRuns::reconsider);
  others_.push_back(std::move(other));
  forget();
  want();
}

void ComparedRuns::drop(RunModel* model, const QString& sentence) {
  for (std::size_t i = 0; i < others_.size(); ++i) {
    if (others_[i]->model.get() == model) {
      // The model is still telling us; it goes when it has.
      others_[i]->analyser.release()->deleteLater();
      others_[i]->model.release()->deleteLater();
      model->disconnect(this);
      others_.erase(others_.begin() + static_cast<std::ptrdiff_t>(i));
      forget();
      reconsider();
      emit refused(sentence);
      return;
    }
  }
}

void ComparedRuns::remove(std::size_t other) {
  if (other < others_.size()) {
    // Ends after the signals: until then the panes still show its model.
    const auto gone = std::move(others_[other]);
    others_.erase(others_.begin() + static_cast<std::ptrdiff_t>(other));
    forget();
    reconsider();
  }
}

void ComparedRuns::clear() {
  if (!others_.empty()) {
    const auto gone = std::exchange(others_, {});
    forget();
  }
}

void ComparedRuns::want() {
  if (others_.empty()) {
    return;
  }
  if (firstAnalyser_ != nullptr) {
    firstAnalyser_->want();
  }
  for (const auto& other : others_) {
    other->analyser->want();
  }
  reconsider();
}

QString ComparedRuns::waiting() const {
  if (firstModel_ == nullptr || others_.empty() || result_ != nullptr) {
    return {};
  }
  if (firstAnalyser_ == nullptr || firstAnalyser_->latest() == nullptr) {
    return tr("Run A is read…");
  }
  for (std::size_t i = 0; i < others_.size(); ++i) {
    if (others_[i]->analyser->latest() == nullptr) {
      return tr("Run %1 is read…").arg(letterOf(i + 1));
    }
  }
  return tr("The runs are compared…");
}

std::vector<std::shared_ptr<const AnalysedRun>> ComparedRuns::analyses() const {
  std::vector<std::shared_ptr<const AnalysedRun>> all;
  // Where A is not there the list is one too short, which `complete` sees.
  if (firstModel_ != nullptr && firstAnalyser_ != nullptr && firstModel_->isLoaded()) {
    all.push_back(firstAnalyser_->latest());
  }
  for (const auto& other : others_) {
    all.push_back(other->model->isLoaded() ? other->analyser->latest() : nullptr);
  }
  const bool complete = all.size() == others_.size() + 1 && all.size() > 1 &&
                        std::find(all.begin(), all.end(), nullptr) == all.end();
  return complete ? all : std::vector<std::shared_ptr<const AnalysedRun>>{};
}

void ComparedRuns::reconsider() {
  const auto all = analyses();
  // The same analyses as in the latest comparison, or in the one that is being made.
  if (all.empty() || job_.busy() || all == comparedFrom_) {
    return;
  }
  comparedFrom_ = all;
  std::vector<CompareInput> inputs{compareInput(*firstModel_, all[0])};
  for (std::size_t i = 0; i < others_.size(); ++i) {
    inputs.push_back(compareInput(*others_[i]->model, all[i + 1]));
  }
  job_.start([inputs = std::move(inputs)]() mutable { return compareRuns(std::move(inputs)); },
             [this](std::shared_ptr<const CompareResult> result) {
               result_ = std::move(result);
               emit compared();
               // Analyses may have come meanwhile.
               reconsider();
             });
}

void ComparedRuns::forget() {
  job_.drop();  // what is under way is of other runs
  result_.reset();
  comparedFrom_.clear();
  emit runsChanged();
  emit compared();
}

}  // namespace lockstep::ui
