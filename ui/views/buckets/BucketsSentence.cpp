#include "ui/views/buckets/BucketsSentence.h"

namespace lockstep::ui {

QString whyNoBuckets(const RunModel* model, BucketStories& stories) {
  if (model == nullptr) {
    return QStringLiteral(
        "No run is open. Start an experiment or open a run file, and its "
        "buckets appear here.");
  }
  if (!model->isLoaded() && !model->path().empty()) {
    return QStringLiteral("Reading the run…");
  }
  if (stories.isDataParallel()) {
    return QStringLiteral(
        "DataParallel has no buckets: device 0 sums the gradients of all "
        "replicas after the backward. Run it with processes.strategy = \"ddp\" "
        "to see some.");
  }
  if (!model->ranks().empty()) {
    // A run may say itself why it has none.
    const auto& facts = model->ranks().front().environment;
    if (const auto why = facts.find(trace::kNoBuckets); why != facts.end()) {
      const QString text = QString::fromStdString(why->second);
      return text.left(1).toUpper() + text.mid(1) + QLatin1Char('.');
    }
  }
  if (model->isLive()) {
    return QStringLiteral("Buckets appear after the first backward.");
  }
  if (model->info().kind == trace::RunKind::kImported) {
    return QStringLiteral(
        "What was imported does not tell the buckets of DistributedDataParallel.");
  }
  return QStringLiteral("This run ended before DistributedDataParallel told its buckets.");
}

}  // namespace lockstep::ui
