#include "ui/shell/ExportController.h"

#include <QDesktopServices>
#include <QElapsedTimer>
#include <QFileInfo>
#include <QPointer>
#include <QUrl>
#include <utility>

#include "engine/export/ChromeTrace.h"
#include "engine/export/Tables.h"
#include "ui/model/BackgroundJob.h"
#include "ui/model/Format.h"
#include "ui/shell/MessageBar.h"
#include "ui/shell/RunSession.h"

namespace lockstep::ui {
namespace {

const QString kMessage = QStringLiteral("export");
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

ExportController::ExportController(Host host, QObject* parent)
    : QObject(parent), host_(std::move(host)) {}

ExportController::~ExportController() {
  cancel();
}

void ExportController::cancel() {
  if (cancelled_ != nullptr) {
    cancelled_->store(true);
  }
}

void ExportController::ask() {
  if (busy()) {
    tellRunning();
    return;
  }
  RunSession* session = host_.session();
  if (session == nullptr) {
    return;
  }
  const QString folder = folder_.isEmpty() ? QFileInfo(session->path()).absolutePath() : folder_;
  ExportSubject subject{session->path(), host_.viewTitle(), session->state()->filter(), {}};
  if (subject.marked) {
    subject.markedTicks = {session->model()->toTicks(subject.marked->startNs),
                           session->model()->toTicks(subject.marked->endNs)};
  }
  auto* dialog = new ExportDialog(std::move(subject), folder, host_.window);
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
    RunSession* session = host_.session();
    if (session == nullptr || session->path() != request.run) {
      take(base::Error{base::ExitCode::kBadInput, "is not shown any more, and has no picture",
                       request.run.toStdString()},
           request.path);
      return;
    }
    const auto saved =
        host_.savePicture(request.path, request.range.value_or(session->state()->range()));
    take(saved.ok() ? base::Result<QString>(exportText("Saved %1.").arg(request.path))
                    : saved.error(),
         request.path);
    return;
  }
  cancelled_ = std::make_shared<std::atomic<bool>>(false);
  path_ = request.path;
  tellRunning();
  const QPointer<ExportController> self(this);
  const QString shown = folder ? request.path : QFileInfo(request.path).absolutePath();
  pool_.start([self, request, shown, cancelled = cancelled_] {
    QElapsedTimer sinceTold;
    const auto progress = [&](double part) {
      if (!sinceTold.isValid() || sinceTold.elapsed() >= kTellEveryMs) {
        sinceTold.start();
        onUiThread(self, [self, part] { emit self->progressed(part); });
      }
      return !cancelled->load();
    };
    const auto result = write(request, progress);
    onUiThread(self, [self, result, shown] { self->take(result, shown); });
  });
}

void ExportController::tellRunning() {
  host_.messages->show(kMessage, MessageBar::Kind::kInfo,
                       exportText("Exporting into %1…").arg(path_),
                       {{exportText("Cancel"), [this] {
                           cancel();
                           host_.messages->show(kMessage, MessageBar::Kind::kInfo,
                                                exportText("Cancelling the export…"));
                         }}});
}

void ExportController::take(const base::Result<QString>& sentence, const QString& path) {
  cancelled_.reset();
  if (sentence.ok()) {
    host_.messages->show(kMessage, MessageBar::Kind::kGood, sentence.value(),
                         {{exportText("Show folder"), [path] {
                             const QFileInfo info(path);
                             QDesktopServices::openUrl(
                                 QUrl::fromLocalFile(info.isDir() ? path : info.absolutePath()));
                           }}});
  } else if (sentence.error().code == base::ExitCode::kInterrupted) {
    host_.messages->show(kMessage, MessageBar::Kind::kInfo,
                         exportText("The export was cancelled; nothing was written."));
  } else {
    host_.messages->show(kMessage, MessageBar::Kind::kError,
                         QString::fromStdString(sentence.error().message()));
  }
  emit ended();
}

}  // namespace lockstep::ui
