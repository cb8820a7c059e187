#include "ui/shell/RunEnding.h"

#include <cmath>

#include "ui/model/Format.h"
#include "ui/panels/ProblemsPanel.h"
#include "ui/panels/runs/RunEntry.h"
#include "ui/shell/RunSession.h"

namespace lockstep::ui {
namespace {

const QString kEndMessage = QStringLiteral("end");

std::optional<double> lastOf(const RunModel& model, const std::string& name) {
  const auto& points = model.metric(name, 0);
  return points.empty() || !std::isfinite(points.back().value) ? std::nullopt
                                                               : std::optional(points.back().value);
}

/// What an ended run comes to, in one line: "Finished: overlap 61 %, 3.80 ms exposed per step
/// (median, worst rank), accuracy 97.6 %, loss 0.081". Without `figures`, only what the run itself
/// reported.
QString reportOf(const RunModel& model, const QString& opening,
                 const RunFigures* figures = nullptr) {
  QStringList parts;
  if (figures != nullptr && figures->overlapPercent) {
    parts << RunEnding::tr("overlap %1").arg(formatPercent(*figures->overlapPercent, 0));
  }
  if (figures != nullptr && figures->exposedMs) {
    parts << RunEnding::tr("%1 ms exposed per step (median, worst rank)")
                 .arg(*figures->exposedMs, 0, 'f', 2);
  }
  if (const auto accuracy = lastOf(model, "test_accuracy")) {
    parts << RunEnding::tr("accuracy %1").arg(formatPercent(*accuracy * 100));
  }
  if (const auto loss = lastOf(model, "loss")) {
    parts << RunEnding::tr("loss %1").arg(*loss, 0, 'g', 3);
  }
  return parts.isEmpty() ? opening
                         : opening + QStringLiteral(": ") + parts.join(QStringLiteral(", "));
}

}  // namespace

RunEnding::RunEnding(RunSession& session, MessageBar& messages, ProblemsPanel& problems)
    : QObject(&session), session_(session), messages_(messages), problems_(problems) {
  connect(&session, &RunSession::stateChanged, this, &RunEnding::tell);
}

RunEnding::~RunEnding() {
  withdraw();
}

void RunEnding::withdraw() {
  messages_.dismiss(kEndMessage);
}

/// The comparison first, where there is one: the run was started for it.
std::vector<MessageBar::Button> RunEnding::withComparison(std::vector<MessageBar::Button> buttons) {
  if (!comparedWith_.isEmpty()) {
    buttons.insert(buttons.begin(), MessageBar::Button{tr("Compare with %1").arg(comparedWith_),
                                                       [this] { emit compareRequested(); }});
  }
  return buttons;
}

/// What follows "Stopped" and the like.
QString RunEnding::when() const {
  const auto last = session_.lastStep();
  return last ? tr("after iteration %1").arg(*last) : tr("before the first iteration");
}

// Note [What is said of an end]
//
//   state           said here                          when
//   finished        figures, [Show slowest iteration]  it was live while it was open here
//   stopped         after which iteration              it was live while it was open here
//   failed          after which iteration              always
//   diverged        after which iteration              always
//   recorder died   after which iteration; a problem   always
//
// That a run ended badly, and why, is the headline of the verdict (ui/panels/findings), folded or
// not, and is not said here again: here stands how far it came, and what can be done. Whoever opens
// an old run that ended well wants to look at it and needs no message. All but "stopped" and
// "finished" lead to the list of problems, all lead to another run of the same; those two also to
// the comparison with the run that this one was made from.
void RunEnding::tell(trace::RunState state) {
  const bool observed = session_.model()->info().kind == trace::RunKind::kObserved;
  const MessageBar::Button repeat{observed ? tr("Run again with…") : tr("Repeat"),
                                  [this] { emit repeatRequested(); }};
  const MessageBar::Button problems{tr("Show problems"), [this] { emit problemsRequested(); }};
  const auto tellError = [&](const QString& opening) {
    messages_.show(kEndMessage, MessageBar::Kind::kError, reportOf(*session_.model(), opening),
                   {problems, repeat});
  };
  switch (state) {
    case trace::RunState::kStarting:
    case trace::RunState::kRunning:
      sawLive_ = true;
      break;
    case trace::RunState::kFinished:
      if (sawLive_) {
        const MessageBar::Button slowest{tr("Show slowest iteration"), [this] {
                                           if (const auto step = session_.slowestStep()) {
                                             session_.showStep(*step);
                                           }
                                         }};
        const auto say = [this, slowest, repeat](const RunFigures* figures) {
          messages_.show(kEndMessage, MessageBar::Kind::kGood,
                         reportOf(*session_.model(), tr("Finished"), figures),
                         withComparison({slowest, repeat}));
        };
        // At once with what the run itself says; its figures, which take seconds, come into the
        // same sentence if that still stands then.
        say(nullptr);
        connect(&session_, &RunSession::analysed, this, [this, say](const RunFigures& figures) {
          if (messages_.shows(kEndMessage)) {
            say(&figures);
          }
        });
      }
      break;
    case trace::RunState::kStopped:
      if (sawLive_) {
        messages_.show(kEndMessage, MessageBar::Kind::kInfo,
                       reportOf(*session_.model(), tr("Stopped %1").arg(when())),
                       withComparison({repeat}));
      }
      break;
    case trace::RunState::kFailed:
    case trace::RunState::kDiverged:
      tellError(tr("Ended %1").arg(when()));
      break;
    case trace::RunState::kRecorderDied:
      // Nobody was left to write this into the run file.
      problems_.add({true, -1, session_.lastStep(),
                     tr("The recorder died %1: everything it had committed is here, the end of the "
                        "run is not.")
                         .arg(when())});
      tellError(tr("The record ends %1").arg(when()));
      break;
  }
  if (sawLive_ && !session_.model()->isLive()) {
    session_.analyse();  // for what is said here and in the list of runs
  }
}

}  // namespace lockstep::ui
