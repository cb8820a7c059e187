#include "ui/panels/events/EventsExport.h"

#include <QFile>
#include <QFileInfo>
#include <QSaveFile>
#include <algorithm>
#include <atomic>

#include "ui/panels/TableText.h"
#include "ui/panels/events/StepStarts.h"

namespace lockstep::ui {
namespace {

// Spans come from all over the run: fewer at a time keep the UI thread free.
constexpr std::size_t kShare = 4;

}  // namespace

class EventsExport::Job : public SpanWalk::Job {
 public:
  Job(const QString& path, EventTerms terms) : path_(path), terms_(std::move(terms)) {}

  bool take(const SpanChunk& chunk) override {
    if (!file_) {
      begin();
    }
    QString text;
    for (std::size_t i = 0; i < chunk.spans.size(); ++i) {
      line(text, [&](EventColumn column) {
        return fileTextOf(column, terms_, chunk.spans[i], chunk.stepStartNs[i]);
      });
    }
    write(text);
    return mistake.isEmpty();
  }

  void finish() override {
    if (!file_) {
      begin();
    }
    auto* whole = qobject_cast<QSaveFile*>(file_.get());
    if (mistake.isEmpty() && moved) {
      mistake = QObject::tr("%1 was not written: events of the run came late meanwhile. Write them "
                            "again, best when the run has ended.")
                    .arg(path_);
    }
    if (mistake.isEmpty() && !dropped() && whole != nullptr && !whole->commit()) {
      fail();
    }
    file_.reset();
  }

  QString mistake;
  std::atomic<bool> moved{false};  // the numbers of events are no longer theirs

 private:
  template <typename Cell>
  static void line(QString& text, Cell cell) {
    for (int column = 0; column < kEventColumns; ++column) {
      text += (column > 0 ? QStringLiteral(",") : QString()) +
              csvCell(cell(static_cast<EventColumn>(column)));
    }
    text += QStringLiteral("\r\n");
  }

  void begin() {
    // A device or a pipe is written to, and no file put in its place.
    const QFileInfo there(path_);
    if (there.exists() && !there.isFile() && !there.isDir()) {
      file_ = std::make_unique<QFile>(path_);
    } else {
      file_ = std::make_unique<QSaveFile>(path_);
    }
    if (!file_->open(QIODevice::WriteOnly)) {
      fail();
      return;
    }
    QString titles;
    line(titles, [](EventColumn column) { return fileTitleOf(column); });
    write(titles);
  }

  void write(const QString& text) {
    const QByteArray bytes = text.toUtf8();
    // Flushed, so that a full disk is told when it is full and not at the end.
    if (mistake.isEmpty() && (file_->write(bytes) != bytes.size() || !file_->flush())) {
      fail();
    }
  }

  void fail() {
    mistake = QObject::tr("%1 cannot be written: %2.").arg(path_, file_->errorString());
  }

  QString path_;
  EventTerms terms_;
  std::unique_ptr<QFileDevice> file_;
};

EventsExport::EventsExport(QObject* parent) : QObject(parent) {
  connect(&walk_, &SpanWalk::progressed, this, &EventsExport::progressed);
  connect(&walk_, &SpanWalk::finished, this, [this] {
    const std::shared_ptr<Job> job = std::move(job_);
    emit ended(path_, job->mistake);
  });
}

void EventsExport::start(const QString& path, const RunModel& model,
                         std::shared_ptr<const EventRows> rows) {
  path_ = path;
  count_ = rows->numbers.size();
  job_ = std::make_shared<Job>(path, EventTerms(model));
  walk_.start(
      [&model, job = job_, rows = std::move(rows), next = std::size_t{0},
       starts = StepStarts()](SpanChunk& chunk) mutable {
        if (!rows->slices.stand(model)) {
          job->moved = true;
          return false;
        }
        const std::size_t last =
            std::min(rows->numbers.size(), next + SpanWalk::kChunkSpans / kShare);
        for (; next < last; ++next) {
          if (const auto span = rows->slices.spanAt(model, rows->numbers[next])) {
            chunk.spans.push_back(*span);
            chunk.stepStartNs.push_back(starts.of(model, *span));
          }
        }
        return !chunk.spans.empty();
      },
      job_);
}

void EventsExport::cancel() {
  walk_.cancel();
  job_.reset();
}

double EventsExport::progress() const {
  return count_ == 0 ? 1 : static_cast<double>(walk_.handedOver()) / static_cast<double>(count_);
}

}  // namespace lockstep::ui
