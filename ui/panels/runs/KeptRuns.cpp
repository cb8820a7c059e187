#include "ui/panels/runs/KeptRuns.h"

#include <QDataStream>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QList>
#include <QSaveFile>
#include <QStandardPaths>
#include <optional>
#include <utility>

namespace lockstep::ui {
namespace {

// Another number when an entry holds something else, or an analysis comes to other figures.
constexpr quint32 kKeptVersion = 1;
constexpr quint32 kKeptMagic = 0x4c6b5275;
constexpr qsizetype kMostKept = 20'000;  // runs; then those that were not asked for are forgotten
constexpr qint64 kLargestKept = 256 << 20;

QString keyOf(const std::filesystem::path& run) {
  return QString::fromStdString(std::filesystem::absolute(run).string());
}

// Both directions of a part, so that one list of them serves for both.
class Writing {
 public:
  explicit Writing(QDataStream& stream) : stream_(stream) {}
  template <typename Part>
  void operator()(const Part& part) {
    stream_ << part;
  }
  void operator()(const std::optional<double>& figure) {
    stream_ << figure.has_value() << figure.value_or(0);
  }
  void operator()(const std::vector<float>& course) {
    stream_ << QList<float>(course.begin(), course.end());
  }

 private:
  QDataStream& stream_;
};

class Reading {
 public:
  explicit Reading(QDataStream& stream) : stream_(stream) {}
  template <typename Part>
  void operator()(Part& part) {
    stream_ >> part;
  }
  void operator()(std::optional<double>& figure) {
    bool known = false;
    double value = 0;
    stream_ >> known >> value;
    figure = known ? std::optional(value) : std::nullopt;
  }
  void operator()(std::vector<float>& course) {
    QList<float> values;
    stream_ >> values;
    course.assign(values.begin(), values.end());
  }

 private:
  QDataStream& stream_;
};

// All parts but those of a moment: path, label, subtitle, and what of a run that cannot be read.
template <typename Way, typename Kept>
void passParts(Way way, Kept& kept) {
  auto& entry = kept.entry;
  way(kept.stamp);
  way(kept.analysed);
  way(entry.name);
  way(entry.state);
  way(entry.kind);
  way(entry.model);
  way(entry.worldSize);
  way(entry.backend);
  way(entry.hook);
  way(entry.bucketCapMb);
  way(entry.sweep);
  way(entry.stepsPerSecond);
  way(entry.overlapPercent);
  way(entry.exposedMs);
  way(entry.stepMs);
  way(entry.course);
  way(entry.drops);
  way(entry.started);
  way(entry.failure);
  way(entry.settings);
}

bool plausible(const RunEntry& entry) {
  return entry.state <= trace::RunState::kRecorderDied && entry.kind <= trace::RunKind::kSimulated;
}

}  // namespace

KeptRuns::KeptRuns(QString file) : file_(std::move(file)) {}

QString KeptRuns::defaultFile() {
  return QStandardPaths::writableLocation(QStandardPaths::GenericCacheLocation) +
         QStringLiteral("/lockstep/runs.list");
}

const KeptRuns::Kept* KeptRuns::find(const std::filesystem::path& run, const QString& stamp) {
  read();
  const QString key = keyOf(run);
  const auto at = runs_.constFind(key);
  if (at == runs_.constEnd() || at->stamp != stamp) {
    return nullptr;
  }
  used_.insert(key);
  return &*at;
}

void KeptRuns::keep(const std::filesystem::path& run, Kept kept) {
  read();
  const QString key = keyOf(run);
  used_.insert(key);
  runs_.insert(key, std::move(kept));
  news_ = true;
}

void KeptRuns::dropUnused() {
  if (runs_.size() > kMostKept) {
    runs_.removeIf(
        [this](const QHash<QString, Kept>::iterator& run) { return !used_.contains(run.key()); });
  }
}

void KeptRuns::write() {
  if (!news_) {
    return;
  }
  news_ = false;
  dropUnused();
  QDir().mkpath(QFileInfo(file_).absolutePath());
  QSaveFile file(file_);
  if (!file.open(QIODevice::WriteOnly)) {
    return;  // no more than a cache: runs are read again
  }
  QDataStream stream(&file);
  stream.setVersion(QDataStream::Qt_6_0);
  stream << kKeptMagic << kKeptVersion << static_cast<quint32>(runs_.size());
  for (auto at = runs_.constBegin(); at != runs_.constEnd(); ++at) {
    stream << at.key();
    passParts(Writing(stream), *at);
  }
  file.commit();
}

void KeptRuns::read() {
  if (std::exchange(known_, true)) {
    return;
  }
  QFile file(file_);
  if (file.size() > kLargestKept || !file.open(QIODevice::ReadOnly)) {
    return;
  }
  const QByteArray bytes = file.readAll();
  QDataStream stream(bytes);
  stream.setVersion(QDataStream::Qt_6_0);
  quint32 magic = 0;
  quint32 version = 0;
  quint32 count = 0;
  stream >> magic >> version >> count;
  if (magic != kKeptMagic || version != kKeptVersion) {
    return;
  }
  for (quint32 i = 0; i < count; ++i) {
    QString key;
    Kept kept;
    stream >> key;
    passParts(Reading(stream), kept);
    if (stream.status() != QDataStream::Ok || !plausible(kept.entry)) {
      return;  // what was read up to the damage is whole
    }
    kept.entry.path = key;
    runs_.insert(key, std::move(kept));
  }
}

}  // namespace lockstep::ui
