#include "ui/shell/ExportController.h"

#include <QDesktopServices>
#include <QElapsedTimer>
#include <QFileDialog>
#include <QFileInfo>
#include <QMainWindow>
#include <QPointer>
#include <QRegularExpression>
#include <QStatusBar>
#include <QUrl>
#include <utility>

#include "engine/export/ChromeTrace.h"
#include "engine/export/Tables.h"
#include "engine/report/WriteHtml.h"
#include "ui/model/BackgroundJob.h"
#include "ui/model/Format.h"
#include "ui/panels/LocalFiles.h"
#include "ui/shell/Appearance.h"
#include "ui/shell/CurrentRun.h"
#include "ui/shell/Frame.h"
#include "ui/shell/RunSession.h"
#include "ui/shell/TableInSight.h"
#include "ui/shell/ViewPictures.h"
#include "ui/table/TableText.h"
#include "ui/table/TableView.h"

namespace lockstep::ui {
namespace {

constexpr qint64 kTellEveryMs = 100;

QString exportText(const char* text) {
  return QCoreApplication::translate("ExportController", text);
}

QString sentenceOf(const QString& path, const exports::TraceReport& report) {
  QString sentence = exportText("Saved %1: %2 of %3, %4.")
                         .arg(path, formatCounted(report.events, "event"),
                              formatCounted(report.ranks, "rank"), formatBytes(report.bytes));
  for (const exports::RankOverlap& rank : report.overlaps) {
    if (rank.percent) {
      sentence +=
          exportText(" Rank %1: overlap %2.").arg(rank.rank).arg(formatPercent(*rank.percent, 2));
    }
  }
  if (!report.others.empty()) {
    sentence += exportText(" The folder also holds %1, which readers take for a rank of this run.")
                    .arg(QString::fromStdString(report.others.front().filename().string()));
  }
  return sentence;
}

/// Does the work; any thread.
base::Result<QString> write(const ExportRequest& request, const exports::Progress& progress) {
  const std::filesystem::path path = request.path.toStdString();
  const std::filesystem::path run = request.run.toStdString();
  if (request.what == ExportRequest::What::kTable) {
    const auto written =
        exports::writeTable(run, request.table.toStdString(), path, request.selection, progress);
    if (!written.ok()) {
      return written.error();
    }
    return exportText("Saved %1: %2, %3.")
        .arg(request.path, formatCounted(written.value().rows, "row"),
             formatBytes(written.value().bytes));
  }
  if (request.what == ExportRequest::What::kReport) {
    const auto bytes = report::writeHtml(run, path, progress);
    return bytes.ok() ? base::Result<QString>(exportText("Saved %1: %2, opens in any browser.")
                                                  .arg(request.path, formatBytes(bytes.value())))
                      : bytes.error();
  }
  exports::TraceOptions options;
  options.selection = request.selection;
  const bool hta = request.what == ExportRequest::What::kHtaTraces;
  options.reader = hta ? exports::TraceReader::kHta : exports::TraceReader::kAny;
  const auto written = hta ? exports::writeTracePerRank(run, path, options, progress)
                           : exports::writeTrace(run, path, options, progress);
  return written.ok() ? base::Result<QString>(sentenceOf(request.path, written.value()))
                      : written.error();
}

}  // namespace

// Note [An export and its three messages]
//
// A trace or a table is written from the run file on a thread of the pool, whatever the window
// shows meanwhile. One flag is shared by both threads (cancelled_); that it is there means that an
// export runs.
//
//   begin ─▶ "Exporting into …" [Cancel] ─▶ write(request, progress)
//                     │ cancel: the flag     progress: every 100 ms to the status bar;
//                     ▼                      false once the flag is set
//            "Cancelling the export…" ─────▶ kInterrupted
//   take  ─▶ "Saved …" [Show folder], or what went wrong, or that it was cancelled
//
// All have one key in the message bar, so that each takes the place of the one before.
ExportController::ExportController(const Frame& frame, const CurrentRun& run,
                                   const Appearance& appearance, QObject* parent)
    : QObject(parent), frame_(frame), run_(run), appearance_(appearance) {}

ExportController::~ExportController() {
  // The pool waits for its work when it goes, and the work ends at its next look at this.
  cancel();
}

void ExportController::cancel() {
  if (cancelled_ != nullptr) {
    cancelled_->store(true);
  }
}

void ExportController::ask() {
  RunSession* session = runToExport();
  if (session == nullptr) {
    return;
  }
  const QString folder = folder_.isEmpty() ? QFileInfo(session->path()).absolutePath() : folder_;
  ExportSubject subject{session->path(),
                        frame_.stages->titleOf(frame_.stages->current()),
                        session->state()->filter(),
                        {}};
  // As ticks of the file, and now: the dialog may outlive the run that is open.
  if (subject.marked) {
    subject.markedTicks = {session->model()->toTicks(subject.marked->startNs),
                           session->model()->toTicks(subject.marked->endNs)};
  }
  auto* dialog = new ExportDialog(std::move(subject), folder, &frame_.window);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QDialog::accepted, this, [this, dialog] { begin(dialog->request()); });
  dialog->open();
}

void ExportController::begin(const ExportRequest& request) {
  if (busy()) {
    return;
  }
  const bool folder = request.what == ExportRequest::What::kHtaTraces;
  folder_ = QFileInfo(request.path).absolutePath();
  if (request.what == ExportRequest::What::kPicture) {
    RunSession* session = run_.session();
    if (session == nullptr || session->path() != request.run) {
      take(base::Error{base::ExitCode::kBadInput, "is not shown any more, and has no picture",
                       request.run.toStdString()},
           request.path);
      return;
    }
    // Drawn here, since the model is this thread's; the other exports read the file on one of their
    // own.
    const auto saved = savePicture(request.path, request.range);
    take(saved.ok() ? base::Result<QString>(exportText("Saved %1.").arg(request.path))
                    : saved.error(),
         request.path);
    return;
  }
  cancelled_ = std::make_shared<std::atomic<bool>>(false);
  path_ = request.path;
  tellRunning();
  // The work may look at the request and its flag; this object only on its own thread.
  const QPointer<ExportController> self(this);
  const QString shown = folder ? request.path : QFileInfo(request.path).absolutePath();
  pool_.start([self, request, shown, cancelled = cancelled_] {
    QElapsedTimer sinceTold;
    const auto progress = [&](double part) {
      if (!sinceTold.isValid() || sinceTold.elapsed() >= kTellEveryMs) {
        sinceTold.start();
        onUiThread(self, [self, part] { self->tellProgress(part); });
      }
      return !cancelled->load();
    };
    const auto result = write(request, progress);
    onUiThread(self, [self, result, shown] { self->take(result, shown); });
  });
}

RunSession* ExportController::runToExport() {
  if (busy()) {
    tellRunning();
    return nullptr;
  }
  return run_.session();
}

void ExportController::tellRunning() {
  say(MessageBar::Kind::kInfo, exportText("Exporting into %1…").arg(path_),
      {{exportText("Cancel"), [this] {
          cancel();
          say(MessageBar::Kind::kInfo, exportText("Cancelling the export…"));
        }}});
}

void ExportController::tellProgress(double part) const {
  frame_.window.statusBar()->showMessage(
      exportText("Export: %1 %").arg(static_cast<int>(100 * part)));
}

void ExportController::take(const base::Result<QString>& sentence, const QString& path) {
  cancelled_.reset();
  if (sentence.ok()) {
    saySaved(sentence.value(), path);
  } else if (sentence.error().code == base::ExitCode::kInterrupted) {
    say(MessageBar::Kind::kInfo, exportText("The export was cancelled; nothing was written."));
  } else {
    say(MessageBar::Kind::kError, QString::fromStdString(sentence.error().message()));
  }
  frame_.window.statusBar()->clearMessage();
}

void ExportController::say(MessageBar::Kind kind, const QString& sentence,
                           std::vector<MessageBar::Button> buttons) const {
  frame_.messages->show(QStringLiteral("export"), kind, sentence, std::move(buttons));
}

void ExportController::saySaved(const QString& sentence, const QString& path) const {
  say(MessageBar::Kind::kGood, sentence,
      {{exportText("Show folder"), [path] {
          const QFileInfo info(path);
          QDesktopServices::openUrl(QUrl::fromLocalFile(info.isDir() ? path : info.absolutePath()));
        }}});
}

/// A file called after the run and what is saved of it, that is not there yet.
QString ExportController::freshBeside(const QString& what, const QString& ending) const {
  static const QRegularExpression kOthers(QStringLiteral("[^a-z0-9]+"));
  const QString run = run_.session() == nullptr
                          ? frame_.panels.runs->folder() + QStringLiteral("/lockstep")
                          : run_.session()->path();
  const QString name = '-' + what.toLower().replace(kOthers, QStringLiteral("-"));
  QString path = fileBeside(run, name + ending);
  for (int again = 2; QFileInfo::exists(path); ++again) {
    path = fileBeside(run, name + '-' + QString::number(again) + ending);
  }
  return path;
}

void ExportController::savePictureNow() {
  if (run_.session() == nullptr) {
    return;
  }
  const QString path = freshBeside(frame_.stages->current(), QStringLiteral(".png"));
  const auto saved = savePicture(path, {});
  if (saved.ok()) {
    saySaved(exportText("Saved %1.").arg(path), path);
  } else {
    say(MessageBar::Kind::kError, QString::fromStdString(saved.error().message()));
  }
}

void ExportController::saveTableNow() {
  TableView* table = tableInSight(frame_);
  if (table == nullptr) {
    say(MessageBar::Kind::kInfo,
        exportText("No table is in sight: open a view or a panel that has one."));
    return;
  }
  const QString path = freshBeside(table->accessibleName(), QStringLiteral(".csv"));
  if (frame_.panels.events->isAncestorOf(table)) {
    frame_.panels.events->exportTo(path);  // all of them, where the table has a page; it says so
    return;
  }
  const QString mistake = writeTable(*table->model(), path);
  if (mistake.isEmpty()) {
    saySaved(exportText("Saved %1: %2.")
                 .arg(path,
                      formatCounted(static_cast<std::uint64_t>(table->model()->rowCount()), "row")),
             path);
  } else {
    say(MessageBar::Kind::kError, mistake);
  }
}

void ExportController::askPicture(const std::optional<TimeRange>& range) {
  if (run_.session() == nullptr) {
    return;
  }
  QString chosen;
  QString path = QFileDialog::getSaveFileName(
      &frame_.window, exportText("Export picture"), fileBeside(run_.session()->path(), ".png"),
      exportText("PNG (*.png);;SVG (*.svg);;PDF (*.pdf)"), &chosen);
  if (path.isEmpty()) {
    return;
  }
  if (QFileInfo(path).suffix().isEmpty()) {
    path += '.' + chosen.section(' ', 0, 0).toLower();
  }
  const auto saved = savePicture(path, range);
  if (saved.ok()) {
    frame_.say(exportText("Saved %1").arg(path));
  } else {
    say(MessageBar::Kind::kError, QString::fromStdString(saved.error().message()));
  }
}

void ExportController::askReport() {
  RunSession* session = runToExport();
  if (session == nullptr) {
    return;
  }
  QString path = QFileDialog::getSaveFileName(&frame_.window, exportText("Export report"),
                                              fileBeside(session->path(), ".html"),
                                              exportText("Web pages (*.html)"));
  if (path.isEmpty()) {
    return;
  }
  if (QFileInfo(path).suffix().isEmpty()) {
    path += QStringLiteral(".html");
  }
  begin({ExportRequest::What::kReport, {}, path, session->path()});
}

base::Status ExportController::savePicture(const QString& path,
                                           const std::optional<TimeRange>& range) const {
  RunSession& session = *run_.session();
  std::vector<PicturedRun> runs{{session.model(), session.analyser()->latest()}};
  const CompareView& compare = *frame_.views.compare;
  if (frame_.stages->currentView() == &compare && compare.runs().count() > 0) {
    const ComparedRuns& compared = compare.runs();
    runs = {{compared.model(0), compared.analysed(0)},
            {compared.model(compare.other()), compared.analysed(compare.other())}};
  }
  const auto picture =
      viewPicture(frame_.stages->current(), runs, QSize(frame_.stages->width(), 0),
                  appearance_.theme(), range.value_or(session.state()->range()),
                  session.state()->iteration(), {.ranks = session.state()->shownRanks()});
  return picture.ok() ? ui::savePicture(picture.value(), path) : base::Status(picture.error());
}

}  // namespace lockstep::ui
