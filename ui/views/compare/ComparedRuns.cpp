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

void ComparedRuns::setOpen(const OpenRun& run) {
  // Signals of the run before must not come after this.
  follow(openModel_, run.model, this);
  follow(openAnalyser_, run.analyser, this);
  if (openModel_ != nullptr) {
    // The owner may end the model at any time; the comparison with it goes, too.
    connect(openModel_, &QObject::destroyed, this, &ComparedRuns::forget);
    connect(openModel_, &RunModel::loaded, this, &ComparedRuns::reconsider);
  }
  if (openAnalyser_ != nullptr) {
    connect(openAnalyser_, &RunAnalyser::ready, this, &ComparedRuns::reconsider);
  }
  hasBaseline_ = false;
  // A run is not compared with itself.
  std::erase_if(others_, [&](const auto& other) {
    return openModel_ != nullptr && isSameFile(openModel_, other->model->path());
  });
  // What was compared is of another A.
  forget();
  want();
}

void ComparedRuns::add(const QString& path) {
  const std::filesystem::path file = path.toStdString();
  if (isSameFile(openModel_, file)) {
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

void ComparedRuns::setBaseline(const QString& path) {
  clear();
  add(path);
  hasBaseline_ = !others_.empty();
  emit runsChanged();
}

std::size_t ComparedRuns::openPlace() const {
  return hasBaseline_ && !others_.empty() && openModel_ != nullptr ? 1 : 0;
}

const ComparedRuns::Other& ComparedRuns::otherOf(std::size_t run) const {
  return *others_[run < openPlace() ? run : run - 1];
}

RunModel* ComparedRuns::model(std::size_t run) const {
  return run == openPlace() ? openModel_.get() : otherOf(run).model.get();
}

std::shared_ptr<const AnalysedRun> ComparedRuns::analysed(std::size_t run) const {
  if (run != openPlace()) {
    return otherOf(run).analyser->latest();
  }
  return openAnalyser_ == nullptr ? nullptr : openAnalyser_->latest();
}

void ComparedRuns::drop(RunModel* model, const QString& sentence) {
  for (std::size_t i = 0; i < others_.size(); ++i) {
    if (others_[i]->model.get() == model) {
      // The model is still telling us; it goes when it has.
      others_[i]->analyser.release()->deleteLater();
      others_[i]->model.release()->deleteLater();
      model->disconnect(this);
      others_.erase(others_.begin() + static_cast<std::ptrdiff_t>(i));
      hasBaseline_ = hasBaseline_ && i > 0;
      forget();
      reconsider();
      emit refused(sentence);
      return;
    }
  }
}

void ComparedRuns::remove(std::size_t other) {
  if (other < others_.size()) {
    // With a baseline the first beside A is the open run, and A the first of the others.
    hasBaseline_ = hasBaseline_ && other > 0;
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
    hasBaseline_ = false;
    forget();
  }
}

void ComparedRuns::want() {
  if (others_.empty()) {
    return;
  }
  if (openAnalyser_ != nullptr) {
    openAnalyser_->want();
  }
  for (const auto& other : others_) {
    other->analyser->want();
  }
  reconsider();
}

QString ComparedRuns::waiting() const {
  if (openModel_ == nullptr || others_.empty() || result_ != nullptr) {
    return {};
  }
  for (std::size_t run = 0; run <= others_.size(); ++run) {
    if (analysed(run) == nullptr) {
      return tr("Run %1 is read…").arg(letterOf(run));
    }
  }
  return tr("The runs are compared…");
}

std::vector<std::shared_ptr<const AnalysedRun>> ComparedRuns::analyses() const {
  if (others_.empty()) {
    return {};
  }
  std::vector<std::shared_ptr<const AnalysedRun>> all;
  for (std::size_t run = 0; run <= others_.size(); ++run) {
    const RunModel* of = model(run);
    all.push_back(of != nullptr && of->isLoaded() ? analysed(run) : nullptr);
  }
  const bool complete = std::ranges::find(all, nullptr) == all.end();
  return complete ? all : std::vector<std::shared_ptr<const AnalysedRun>>{};
}

void ComparedRuns::reconsider() {
  const auto all = analyses();
  // The same analyses as in the latest comparison, or in the one that is being made.
  if (all.empty() || job_.busy() || all == comparedFrom_) {
    return;
  }
  comparedFrom_ = all;
  std::vector<CompareInput> inputs;
  for (std::size_t run = 0; run < all.size(); ++run) {
    inputs.push_back(compareInput(*model(run), all[run]));
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
