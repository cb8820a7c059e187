#include "ui/shell/JobEnding.h"

#include <QCoreApplication>

namespace lockstep::ui {

// Note [Reading the end of a job]
//
// There is no run file to ask, only what `lockstep record` printed, mixed with what its command
// did:
//
//   Traceback (most recent call last):
//   ModuleNotFoundError: No module named 'x'              last
//   lockstep: python3 ended with exit code 1              complaints, the one before the last: why
//   lockstep: nothing was recorded, since no process …    complaints, the last: the command did run
//
// So it is read from its end: the recorder's own lines first, then the one line before them.
// Without "nothing was recorded" the command did not come to run, and the last line of all is the
// reason.
QString whyNothingWasRecorded(const QStringList& output, int exitCode, bool stopped) {
  const auto tr = [](const char* text) { return QCoreApplication::translate("JobEnding", text); };
  const QString own = QStringLiteral("lockstep: ");
  QStringList complaints;  // the last lines, which are of `lockstep record`
  QString last;            // of the command
  for (auto line = output.crbegin(); line != output.crend() && last.isEmpty(); ++line) {
    if (line->startsWith(own)) {
      complaints.prepend(line->mid(own.size()));
    } else {
      last = line->trimmed();
    }
  }
  if (stopped) {
    return tr("Stopped before any process of the command had attached: nothing was recorded");
  }
  const bool ran =
      !complaints.isEmpty() && complaints.back().startsWith(QStringLiteral("nothing was recorded"));
  if (!ran) {  // it was not started, or the recorder is gone
    return !complaints.isEmpty() ? complaints.back()
           : !last.isEmpty()
               ? last
               : tr("lockstep record ended with exit code %1 and said nothing").arg(exitCode);
  }
  if (exitCode == 0) {
    return tr(
        "The command ended well, but no process of it attached, so nothing was recorded: "
        "does it train with DistributedDataParallel, and is its model watched?");
  }
  const QString failure = complaints.size() > 1
                              ? complaints.at(complaints.size() - 2)
                              : tr("the command ended with exit code %1").arg(exitCode);
  return last.isEmpty()
             ? tr("%1 before any process of it had attached: nothing was recorded").arg(failure)
             : tr("%1 before any process of it had attached: nothing was recorded. Its last line: "
                  "%2")
                   .arg(failure, last);
}

}  // namespace lockstep::ui
