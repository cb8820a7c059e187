#include "ui/shell/CurrentRun.h"

#include <QFileInfo>
#include <QTimer>
#include <QUndoStack>

#include "ui/model/StartingLarge.h"
#include "ui/panels/runs/RunLabel.h"
#include "ui/shell/Frame.h"
#include "ui/shell/InspectorOpening.h"
#include "ui/shell/RunEnding.h"
#include "ui/shell/RunSession.h"

namespace lockstep::ui {

CurrentRun::CurrentRun(Frame& frame, Settings& settings, QObject* parent)
    : QObject(parent), frame_(frame), settings_(settings) {}

CurrentRun::~CurrentRun() = default;

bool CurrentRun::known() const {
  return session_ && !session_->model()->info().runId.empty();
}

void CurrentRun::open(const QString& path) {
  const QString absolute = QFileInfo(path).absoluteFilePath();
  if (!known() || session_->path() != absolute) {
    frame_.messages->dismissAll();
    take(absolute);
  }
  frame_.pages->turnTo(Pages::Page::kViews);
}

void CurrentRun::openAll(const QStringList& paths) {
  if (paths.isEmpty()) {
    return;
  }
  open(paths.front());
  if (paths.size() == 1) {
    return;
  }
  frame_.views.compare->clearOthers();
  for (const QString& other : paths.mid(1)) {
    frame_.views.compare->addRun(QFileInfo(other).absoluteFilePath());
  }
  frame_.pages->showView(QStringLiteral("compare"));
}

// Note [One run after another]
//
// Everything that shows a run lets go of the one before while that is still there (close), and only
// then is the new session made. Its reader begins to read at once, on a thread of its own; what it
// finds comes by the event loop, so all that is connected below hears of the run from its start.
//
//   clear log and problems ─▶ close ─▶ RunSession ─▶ followNews ─▶ views, panels, status
void CurrentRun::take(const QString& path) {
  settings_.addRecentRun(path);
  frame_.panels.log->clear();
  frame_.panels.problems->clear();
  // After the lists were cleared: an export of events that this cuts off is reported in them.
  close();
  session_ = std::make_unique<RunSession>(path);
  toldLeftOut_ = false;
  followNews();
  frame_.stages->setRun(session_->open());
  frame_.findings->setRun(session_->model(), session_->diagnoser());
  frame_.panels.inspector->setRun(session_->model(), session_->state());
  frame_.inspectorOpening->follow(session_->state());
  frame_.panels.events->setRun(session_->model(), session_->state());
  frame_.panels.statistics->setRun(session_->model(), session_->state());
  frame_.status->setSession(session_.get());
  frame_.panels.runs->setCurrentRun(path);
  emit follows(session_->state()->followsLive());
  emit changed();
  emit iterationChanged();
}

// Who selects the slowest iteration reads there, too, why it was.
void CurrentRun::judgeIteration() {
  for (const diagnosis::Remark& remark : session_->diagnoser()->latest()->verdict) {
    if (remark.topic == diagnosis::Topic::kSlowest && remark.place.step) {
      frame_.panels.inspector->setVerdict(*remark.place.step, startingLarge(remark.text));
    }
  }
}

void CurrentRun::close() {
  if (!session_) {
    return;
  }
  frame_.stages->setRun({});
  frame_.findings->setRun(nullptr, nullptr);
  frame_.panels.inspector->setRun(nullptr, nullptr);
  frame_.inspectorOpening->follow(nullptr);
  frame_.panels.events->setRun(nullptr, nullptr);
  frame_.panels.statistics->setRun(nullptr, nullptr);
  frame_.panels.log->setTimes({});
  frame_.status->setSession(nullptr);
  frame_.strip->end();
  session_.reset();
  emit iterationChanged();
}

void CurrentRun::offerComparison(const QString& other) {
  const auto summary = trace::readRunSummary(other.toStdString());
  if (ending_ && summary.ok()) {
    ending_->offerComparison(shownName(other.toStdString(), summary.value().info.name));
  }
}

// What the run has to say, as long as it is open.
void CurrentRun::followNews() {
  RunSession* run = session_.get();
  const Panels& panels = frame_.panels;
  connect(run->model(), &RunModel::failed, this, &CurrentRun::fileFailed);
  connect(run->model(), &RunModel::infoChanged, this, [this, &panels] {
    panels.log->setWorldSize(session_->model()->rankCount());
    tellLeftOut();
    emit changed();
  });
  connect(run->model(), &RunModel::changed, this, &CurrentRun::iterationChanged);
  connect(run->state(), &ViewState::iterationChanged, this, &CurrentRun::iterationChanged);
  connect(run->state(), &ViewState::selectionChanged, this, &CurrentRun::changed);
  connect(run->state(), &ViewState::followLiveChanged, this, &CurrentRun::follows);
  connect(&run->state()->undoStack(), &QUndoStack::indexChanged, this, &CurrentRun::changed);
  connect(run->diagnoser(), &RunDiagnoser::ready, this, &CurrentRun::judgeIteration);
  // Before the first span the model knows no beginning to count from.
  panels.log->setTimes([model = run->model()](std::uint64_t ticks) {
    return model->spanCount() > 0 ? std::optional(model->toNs(ticks)) : std::nullopt;
  });
  connect(run, &RunSession::logGrew, panels.log, &LogPanel::append);
  connect(run, &RunSession::problemsGrew, panels.problems,
          [problems = panels.problems](std::span<const trace::ProblemRow> rows) {
            for (const trace::ProblemRow& row : rows) {
              problems->add(
                  {row.severity == "error", row.rank, row.step, QString::fromStdString(row.text)});
            }
          });
  connect(run, &RunSession::startupChanged, frame_.strip,
          [run, strip = frame_.strip](const StartupProgress& progress) {
            // Of a run that was started here the strip is there already, and goes on.
            if (strip->isHidden()) {
              strip->begin(run->model()->info().kind);
            }
            strip->setProgress(progress);
          });
  connect(run, &RunSession::startupEnded, frame_.strip, &StepStrip::end);
  connect(run, &RunSession::analysed, panels.runs,
          [run, runs = panels.runs](const RunFigures& figures) {
            emit runs->figuresKnown(run->path(), figures);
          });
  connect(run, &RunSession::stateChanged, run, [run] {
    if (!run->model()->isLive()) {
      // Later: the timeline has still to follow to the last iteration.
      QTimer::singleShot(0, run->state(), [state = run->state()] { state->setFollowLive(false); });
    }
  });
  auto* ending = new RunEnding(*run, *frame_.messages, *panels.problems);
  ending_ = ending;
  connect(ending, &RunEnding::repeatRequested, this,
          [this, run] { emit repeatRequested(run->path()); });
  connect(ending, &RunEnding::problemsRequested, this,
          [this] { frame_.docks.bring(frame_.panels.problems); });
  connect(ending, &RunEnding::compareRequested, this, [this] {
    ending_->withdraw();  // the comparison has its room
    frame_.pages->showView(QStringLiteral("compare"));
  });
  connect(run, &RunSession::stateChanged, this, [this] {
    frame_.panels.runs->refresh();
    emit changed();
  });
}

// Above every view, since each of them shows less for it; once closed it stays away.
void CurrentRun::tellLeftOut() {
  const auto& environment = session_->model()->info().environment;
  const auto text = environment.find(trace::kLeftOut);
  const QString key = QStringLiteral("leftOut");
  if (text == environment.end() || (toldLeftOut_ && !frame_.messages->shows(key))) {
    return;
  }
  toldLeftOut_ = true;
  frame_.messages->show(
      key, MessageBar::Kind::kInfo,
      tr("The run file does not hold all events: %1. Figures of steps are of all; "
         "what is said of buckets, waiting and causes is of the steps that are "
         "there.")
          .arg(QString::fromStdString(text->second)));
}

void CurrentRun::fileFailed(const QString& sentence) {
  frame_.panels.problems->report(true, sentence);
  frame_.messages->show(QStringLiteral("file"), MessageBar::Kind::kError, sentence);
  if (known()) {
    return;
  }
  // The sender goes with the session: leave its signal first.
  QTimer::singleShot(0, this, [this, run = session_.get()] {
    if (session_.get() == run) {
      close();
      frame_.pages->turnTo(Pages::Page::kStart);
      emit changed();
    }
  });
}

void CurrentRun::showStep(std::uint32_t step, int rank) {
  if (session_ && !session_->showStep(step, rank)) {
    frame_.say(tr("The run file holds no iteration %1").arg(step), 5000);
  }
}

void CurrentRun::keep() {
  Settings::LastSession last;
  if (session_ && frame_.pages->page() == Pages::Page::kViews) {
    const TimeRange range = session_->state()->range();
    last = {session_->path(), frame_.stages->current(), range.startNs, range.endNs};
  }
  settings_.setLastSession(last);
}

void CurrentRun::restore(bool always) {
  const Settings::LastSession last = settings_.lastSession();
  const bool wanted = always || settings_.restoresSession();
  if (!wanted || last.run.isEmpty() || !QFileInfo::exists(last.run)) {
    return;
  }
  frame_.stages->setCurrent(last.stage);
  open(last.run);
  // The timeline moves to its first look when the run is loaded: the kept range comes after that.
  connect(session_->model(), &RunModel::loaded, session_.get(), [run = session_.get(), last] {
    const TimeRange range{last.startNs, last.endNs};
    if (!range.empty() && !run->model()->isLive()) {
      run->state()->setRange(range, ViewState::RangeChange::kSilent);
    }
  });
}

}  // namespace lockstep::ui
