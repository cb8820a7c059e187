#include "ui/model/Annotations.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>
#include <QUndoCommand>
#include <algorithm>

namespace lockstep::ui {
namespace {

constexpr int kVersion = 1;
constexpr qint64 kLargestFile = 16'000'000;
constexpr qsizetype kLongestText = 10'000;

bool before(const Mark& a, const Mark& b) {
  return a.ns < b.ns;
}

// A note is known by what it is about: its span, else its time to the ns.
bool samePlace(const Mark& a, const Mark& b) {
  return a.kind == b.kind && a.span == b.span && (a.span >= 0 ? a.lane == b.lane : a.ns == b.ns);
}

}  // namespace

class Annotations::Change : public QUndoCommand {
 public:
  Change(Annotations* of, const QString& text, Values before, Values after)
      : QUndoCommand(text), of_(of), before_(std::move(before)), after_(std::move(after)) {}

  void undo() override { go(before_); }
  void redo() override { go(after_); }

 private:
  void go(const Values& to) {
    if (of_ != nullptr) {
      of_->apply(to);
    }
  }

  QPointer<Annotations> of_;
  Values before_;
  Values after_;
};

Annotations::Annotations(QObject* parent) : QObject(parent) {}

std::filesystem::path Annotations::fileOf(const std::filesystem::path& run) {
  return run.empty() ? run : std::filesystem::path(run.string() + ".notes.json");
}

void Annotations::open(const std::filesystem::path& run, QUndoStack* undo) {
  file_ = fileOf(run);
  undo_ = undo;
  values_ = {};
  readable_ = true;
  failed_ = false;
  read();
  emit changed();
}

void Annotations::toggleBookmark(double ns) {
  Values next = values_;
  const auto there = std::find_if(next.marks.begin(), next.marks.end(), [ns](const Mark& mark) {
    return mark.kind == Mark::Kind::kBookmark && mark.ns == ns;
  });
  if (there != next.marks.end()) {
    next.marks.erase(there);
    push(tr("remove a bookmark"), std::move(next));
    return;
  }
  Mark mark;
  mark.ns = ns;
  next.marks.insert(std::upper_bound(next.marks.begin(), next.marks.end(), mark, before), mark);
  push(tr("bookmark"), std::move(next));
}

// There is one note a place, so setting, changing and removing are the same: the old one goes, and
// the new one comes where it has a text.
void Annotations::setNote(const Mark& note) {
  Values next = values_;
  std::erase_if(next.marks, [&](const Mark& mark) { return samePlace(mark, note); });
  Mark kept = note;
  kept.text = note.text.trimmed().left(kLongestText);
  if (!kept.text.isEmpty()) {
    next.marks.insert(std::upper_bound(next.marks.begin(), next.marks.end(), kept, before), kept);
  }
  if (next != values_) {
    push(kept.text.isEmpty() ? tr("remove a note") : tr("note"), std::move(next));
  }
}

void Annotations::remove(const Mark& mark) {
  Values next = values_;
  std::erase(next.marks, mark);
  if (next != values_) {
    push(mark.kind == Mark::Kind::kNote ? tr("remove a note") : tr("remove a bookmark"),
         std::move(next));
  }
}

void Annotations::storeView(int digit, TimeRange range) {
  Values next = values_;
  next.views[static_cast<std::size_t>(digit)] = range;
  if (next != values_) {
    push(tr("store view %1").arg(digit), std::move(next));
  }
}

// Marks are sorted by time.
std::optional<Mark> Annotations::bookmarkFrom(double ns, int direction) const {
  std::optional<Mark> found;
  for (const Mark& mark : values_.marks) {
    if (mark.kind != Mark::Kind::kBookmark) {
      continue;
    }
    if (direction > 0 && mark.ns > ns) {
      return mark;
    }
    if (direction < 0 && mark.ns < ns) {
      found = mark;
    }
  }
  return found;
}

void Annotations::push(const QString& text, Values next) {
  if (undo_ != nullptr) {
    // Pushing calls redo(), and so apply().
    undo_->push(new Change(this, text, values_, std::move(next)));
  } else {
    apply(next);
  }
}

void Annotations::apply(const Values& values) {
  values_ = values;
  write();
  emit changed();
}

// Once until a write succeeds: a full disk would else be announced with every note.
void Annotations::fail(const QString& sentence) {
  if (!failed_) {
    failed_ = true;
    emit failed(sentence);
  }
}

void Annotations::read() {
  QFile file(QString::fromStdString(file_.string()));
  if (file_.empty() || !file.exists()) {
    return;
  }
  std::optional<Values> values;
  QString why = tr("it is not what this program writes");
  if (!file.open(QIODevice::ReadOnly)) {
    why = file.errorString();
  } else if (file.size() <= kLargestFile) {
    values = fromJson(file.readAll());
  }
  if (values) {
    values_ = std::move(*values);
    return;
  }
  // What somebody else may have put there is kept: from here on nothing is written (write()).
  readable_ = false;
  fail(tr("The notes of this run cannot be read from %1 (%2); new ones are not saved.")
           .arg(file.fileName(), why));
}

void Annotations::write() {
  if (file_.empty() || !readable_) {
    return;
  }
  const QString name = QString::fromStdString(file_.string());
  // Without notes there is no file: nobody wants one beside each run that was looked at.
  if (values_ == Values{}) {
    if (QFile file(name); file.exists() && !file.remove()) {
      fail(tr("The notes of this run cannot be removed from %1 (%2).")
               .arg(name, file.errorString()));
    }
    return;
  }
  // QSaveFile: a crash leaves the old notes or the new ones, never half of them.
  QSaveFile file(name);
  const QByteArray json = toJson();
  if (!file.open(QIODevice::WriteOnly) || file.write(json) != json.size() || !file.commit()) {
    fail(tr("The notes of this run cannot be saved in %1 (%2); they last until it is closed.")
             .arg(name, file.errorString()));
    return;
  }
  failed_ = false;
}

QByteArray Annotations::toJson() const {
  QJsonArray marks;
  for (const Mark& mark : values_.marks) {
    QJsonObject object{{QStringLiteral("ns"), mark.ns}};
    object.insert(QStringLiteral("kind"), mark.kind == Mark::Kind::kNote
                                              ? QStringLiteral("note")
                                              : QStringLiteral("bookmark"));
    if (!mark.text.isEmpty()) {
      object.insert(QStringLiteral("text"), mark.text);
    }
    if (mark.span >= 0) {
      object.insert(QStringLiteral("span"), static_cast<qint64>(mark.span));
      object.insert(QStringLiteral("lane"), mark.lane);
    }
    marks.append(object);
  }
  QJsonObject views;
  for (int digit = 0; digit < kViews; ++digit) {
    if (const auto& range = view(digit)) {
      views.insert(QString::number(digit), QJsonArray{range->startNs, range->endNs});
    }
  }
  return QJsonDocument(QJsonObject{{QStringLiteral("lockstep_notes"), kVersion},
                                   {QStringLiteral("marks"), marks},
                                   {QStringLiteral("views"), views}})
      .toJson(QJsonDocument::Indented);
}

std::optional<Annotations::Values> Annotations::fromJson(const QByteArray& json) {
  const QJsonObject root = QJsonDocument::fromJson(json).object();
  if (root.value(QStringLiteral("lockstep_notes")).toInt() != kVersion) {
    return std::nullopt;
  }
  Values values;
  for (const QJsonValue& value : root.value(QStringLiteral("marks")).toArray()) {
    // A damaged entry makes the whole file unreadable: leaving it out would lose it at the next
    // write.
    const QJsonObject object = value.toObject();
    if (!object.value(QStringLiteral("ns")).isDouble()) {
      return std::nullopt;
    }
    Mark mark;
    mark.ns = object.value(QStringLiteral("ns")).toDouble();
    mark.kind = object.value(QStringLiteral("kind")).toString() == QLatin1String("note")
                    ? Mark::Kind::kNote
                    : Mark::Kind::kBookmark;
    mark.text = object.value(QStringLiteral("text")).toString().left(kLongestText);
    mark.span = object.value(QStringLiteral("span")).toInteger(-1);
    mark.lane = object.value(QStringLiteral("lane")).toInt(-1);
    values.marks.push_back(std::move(mark));
  }
  std::stable_sort(values.marks.begin(), values.marks.end(), before);
  const QJsonObject views = root.value(QStringLiteral("views")).toObject();
  for (int digit = 0; digit < kViews; ++digit) {
    const QJsonArray range = views.value(QString::number(digit)).toArray();
    const TimeRange stored{range.at(0).toDouble(), range.at(1).toDouble()};
    // Views that make no sense are left out: they are quickly stored again.
    if (range.size() == 2 && !stored.empty()) {
      values.views[static_cast<std::size_t>(digit)] = stored;
    }
  }
  return values;
}

}  // namespace lockstep::ui
