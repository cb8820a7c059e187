#include "ui/panels/events/EventsExport.h"

#include <QFile>
#include <algorithm>
#include <atomic>
#include <optional>

#include "engine/export/EventTable.h"
#include "engine/export/OutputFile.h"
#include "ui/panels/events/StepStarts.h"

namespace lockstep::ui {
namespace {

// Spans come from all over the run: fewer at a time keep the UI thread free.
constexpr std::size_t kShare = 4;

exports::EventRow rowOf(const Span& span, std::string_view thread, double stepStartNs) {
  exports::EventRow row;
  row.id = span.id;
  row.rank = span.rank();
  row.thread = thread;
  row.kind = span.kind;
  row.startNs = span.startNs;
  row.durationNs = span.durationNs;
  row.stepStartNs = stepStartNs;
  row.step = span.step;
  row.bucket = span.bucket;
  row.detail = span.detail;
  row.value = span.value;
  return row;
}

}  // namespace

// Note [Events that move]
//
// EventRows holds numbers of spans, and a number is that of its span only as long as no other comes
// late into the row before it (SpanSlices::stand). Writing millions of lines takes a while, in
// which a live run goes on. So the source asks before each chunk, and where numbers have moved it
// ends the walk:
//
//   start ─▶ write ─▶ chunk, chunk, … ─▶ finish: commit ─▶ ended(path, "")
//              ▲         └─ moved ─────▶ finish: no commit
//              │                           │ kSearches times, then ended(path, why)
//              └─ found(rows) ◀─ search ◀──┘
//
// A file without its commit leaves nothing, and the one that was there before stays (OutputFile).
// Both the source and the end run on the UI thread; `moved` is read by the job on another.
class EventsExport::Job : public SpanWalk::Job {
 public:
  Job(const QString& path, EventTerms terms) : path_(path), terms_(std::move(terms)) {}

  bool take(const SpanChunk& chunk) override {
    if (!begin()) {
      return false;
    }
    for (std::size_t i = 0; i < chunk.spans.size(); ++i) {
      const Span& span = chunk.spans[i];
      const std::string thread = terms_.threads.value(span.track).toStdString();
      exports::write(*csv_, rowOf(span, thread, chunk.stepStartNs[i]), terms_.parameters);
    }
    return file_->ok();  // a full disk is told when it is full and not at the end
  }

  void finish() override {
    // begin() again: a list of no events makes a file that has its titles.
    if (mistake.isEmpty() && !moved && !dropped() && begin()) {
      note(file_->commit());
    }
    csv_.reset();
    file_.reset();
  }

  QString mistake;
  std::atomic<bool> moved{false};  // the numbers of events are no longer theirs

 private:
  bool begin() {
    // Created here and not in the constructor, for this runs on the pool: a slow disk holds nobody.
    if (!file_ && mistake.isEmpty()) {
      auto created = exports::OutputFile::create(QFile::encodeName(path_).toStdString());
      if (!created.ok()) {
        note(created.error());
      } else {
        file_ = std::move(created.value());
        csv_.emplace(*file_, exports::eventTitles());
      }
    }
    return mistake.isEmpty();
  }

  void note(const base::Status& status) {
    if (!status.ok()) {
      mistake = QString::fromStdString(status.error().message()) + u'.';
    }
  }

  QString path_;
  EventTerms terms_;
  std::unique_ptr<exports::OutputFile> file_;
  std::optional<exports::Csv> csv_;
};

EventsExport::EventsExport(QObject* parent) : QObject(parent) {
  connect(&walk_, &SpanWalk::progressed, this, &EventsExport::progressed);
  connect(&walk_, &SpanWalk::finished, this, &EventsExport::written);
  connect(&search_, &EventSearch::progressed, this, &EventsExport::progressed);
  connect(&search_, &EventSearch::found, this, &EventsExport::write);
}

void EventsExport::written() {
  const std::shared_ptr<Job> job = std::move(job_);
  const bool moved = job->moved && job->mistake.isEmpty();
  if (moved && searches_ < kSearches) {
    ++searches_;
    search_.start(*model_, order_);
    emit searchedAnew(searches_);
    return;
  }
  emit ended(path_, moved ? tr("%1 was not written: late events of the run moved what was found %2 "
                               "times. Write it again, best when the run has ended.")
                                .arg(path_)
                                .arg(searches_ + 1)
                          : job->mistake);
}

void EventsExport::start(const QString& path, const RunModel& model, const EventOrder& order,
                         std::shared_ptr<const EventRows> rows) {
  search_.cancel();
  path_ = path;
  model_ = &model;
  order_ = order;
  searches_ = 0;
  write(std::move(rows));
}

void EventsExport::write(std::shared_ptr<const EventRows> rows) {
  count_ = rows->numbers.size();
  job_ = std::make_shared<Job>(path_, EventTerms(*model_));
  walk_.start(
      [&model = *model_, job = job_, rows = std::move(rows), next = std::size_t{0},
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
  search_.cancel();
  walk_.cancel();
  job_.reset();
}

double EventsExport::progress() const {
  if (search_.busy()) {
    return 0;
  }
  return count_ == 0 ? 1 : static_cast<double>(walk_.handedOver()) / static_cast<double>(count_);
}

}  // namespace lockstep::ui
