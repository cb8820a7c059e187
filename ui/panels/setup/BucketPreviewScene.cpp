#include "ui/panels/setup/BucketPreviewScene.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <numeric>

#include "engine/buckets/Assign.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

constexpr double kRow = 24;
constexpr double kBar = 16;
constexpr double kName = 26;     // "12"
constexpr double kFigures = 92;  // "812.5 KiB · 14"
constexpr double kMargin = 6;

QString tr(const char* text) {
  return QCoreApplication::translate("BucketPreview", text);
}

std::uint64_t bytesOf(const buckets::BucketPlan& plan) {
  return std::accumulate(plan.buckets.begin(), plan.buckets.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& bucket) { return sum + bucket.bytes; });
}

bool isLimited(const buckets::BucketPlan::Bucket& bucket) {
  // Two values mean no cap: kUnlimited before the rebuild, and 0 where a gradient is sparse.
  return bucket.limitBytes != buckets::kUnlimited && bucket.limitBytes > 0;
}

bool contains(const std::vector<std::string>& names, const QString& name) {
  return std::find(names.begin(), names.end(), name.toStdString()) != names.end();
}

}  // namespace

QString BucketForecast::summary(bool afterRebuild) const {
  if (!problem.isEmpty()) {
    return problem;
  }
  const buckets::BucketPlan& plan = afterRebuild ? rebuilt : first;
  std::uint64_t largest = 0;
  for (const auto& bucket : plan.buckets) {
    largest = std::max(largest, bucket.bytes);
  }
  const auto count = plan.buckets.size();
  QStringList parts;
  parts << (count == 1 ? tr("1 bucket of %1.").arg(formatBytes(bytesOf(plan)))
                       : tr("%1 buckets, %2 in all; the largest holds %3.")
                             .arg(count)
                             .arg(formatBytes(bytesOf(plan)), formatBytes(largest)));
  if (left > 0) {
    parts << tr("%1 parameters are in none.").arg(left);
  }
  if (!rebuilds) {
    parts << tr("They stay as they are: with unused parameters searched for there is no rebuild.");
  } else if (afterRebuild) {
    parts << tr("Gradients are taken to get ready from the last parameter to the first.");
  } else {
    parts << tr("The first iteration only; then the buckets are built anew.");
  }
  return parts.join(' ');
}

BucketForecast forecastBuckets(const std::vector<ModelParameter>& parameters,
                               const experiment::Experiment& experiment) {
  BucketForecast forecast;
  const experiment::DdpConfig& ddp = experiment.ddp;
  if (experiment.processes.strategy != "ddp") {
    forecast.problem = tr("Without DDP there are no buckets.");
    return forecast;
  }
  std::vector<buckets::TensorSpec> specs;
  for (const ModelParameter& parameter : parameters) {
    if (contains(ddp.ignore, parameter.name) ||
        contains(ddp.delayAllReduceNamedParams, parameter.name)) {
      ++forecast.left;
      continue;
    }
    const bool sparse = experiment.model.kind == "ngram" && experiment.model.sparse &&
                        parameter.name == QStringLiteral("table.weight");
    // Buckets are divided by device. The model of an experiment lies on one, whichever it is.
    specs.push_back({parameter.bytes, parameter.dtype.toStdString(), "cpu", sparse});
    forecast.parameters.push_back(parameter);
  }
  buckets::BucketCaps caps;
  const auto set = [&forecast](std::uint64_t& cap, double mebibytes) {
    const auto bytes = buckets::capBytes(mebibytes);
    if (bytes.ok()) {
      cap = bytes.value();
    } else {
      forecast.problem = QString::fromStdString(bytes.error().what);
    }
  };
  set(caps.capBytes, ddp.bucketCapMb);
  set(caps.firstBytes, ddp.firstBucketMb);
  for (const double cap : ddp.bucketCapMbList) {
    set(caps.list.emplace_back(), cap);
  }
  const auto rule = buckets::bucketRule(ddp.bucketRule);
  if (!rule.ok()) {
    forecast.problem = QString::fromStdString(rule.error().what);
  }
  if (forecast.problem.isEmpty() && specs.empty()) {
    forecast.problem = tr("No parameter is in a bucket.");
  }
  if (!forecast.problem.isEmpty()) {
    return forecast;
  }
  // As in c10d: a search for unused parameters rules the rebuild out, unless the graph is static.
  // Where there will be no rebuild, DDP gives the caps to the first buckets already.
  forecast.rebuilds = !ddp.findUnusedParameters || ddp.staticGraph;
  forecast.first = buckets::planConstruction(
      specs, forecast.rebuilds ? rule.value() : buckets::BucketRule::kC10d19, caps);
  std::vector<std::uint32_t> order(specs.size());
  // From the last parameter to the first: what a backward through layers in their order makes
  // ready.
  std::iota(order.rbegin(), order.rend(), 0U);
  forecast.rebuilt = forecast.rebuilds ? buckets::planRebuild(specs, order, caps) : forecast.first;
  return forecast;
}

BucketPreviewScene::BucketPreviewScene(const BucketForecast& forecast, bool afterRebuild,
                                       const Palette& palette, double width)
    : forecast_(forecast),
      plan_(afterRebuild ? forecast.rebuilt : forecast.first),
      palette_(palette),
      width_(width) {
  for (const auto& bucket : plan_.buckets) {
    longest_ = std::max(longest_, bucket.bytes);
  }
}

double BucketPreviewScene::height() const {
  return 2 * kMargin + kRow * static_cast<double>(plan_.buckets.size());
}

// One scale for all rows: the largest bucket fills the room between its number and its figures.
double BucketPreviewScene::scale() const {
  const double room = std::max(20.0, width_ - kName - kFigures - 2 * kMargin);
  return room / static_cast<double>(longest_);
}

QRectF BucketPreviewScene::bar(std::size_t bucket) const {
  const double top = kMargin + kRow * static_cast<double>(bucket) + (kRow - kBar) / 2;
  return {kMargin + kName, top, static_cast<double>(plan_.buckets[bucket].bytes) * scale(), kBar};
}

void BucketPreviewScene::draw(DisplayList& list) const {
  list.fill(QRectF(0, 0, width_, height()), palette_.background);
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i) {
    const auto& bucket = plan_.buckets[i];
    const QRectF whole = bar(i);
    list.note(QRectF(kMargin, whole.top(), kName - 6, kBar), QString::number(i), palette_,
              kToTheRight);
    double left = whole.left();
    const QColor colour = palette_.bucket(static_cast<int>(i));
    // Cells that are too narrow to be told apart are one.
    double drawnTo = left;
    list.fill(whole, colour, 2);
    for (const std::uint32_t parameter : bucket.parameters) {
      const double width = static_cast<double>(forecast_.parameters[parameter].bytes) * scale();
      left += width;
      if (left - drawnTo >= 3 && left < whole.right() - 1) {
        list.line({left, whole.top()}, {left, whole.bottom()}, palette_.background);
        drawnTo = left;
      }
    }
    list.outline(whole, palette_.gridStrong, 2);
    if (isLimited(bucket)) {
      const double cap = whole.left() + static_cast<double>(bucket.limitBytes) * scale();
      // A cap beyond the largest bucket may lie outside: only describe() gives it then.
      if (cap <= width_ - kFigures) {
        list.line({cap, whole.top() - 3}, {cap, whole.bottom() + 3}, palette_.text, 1.5);
        if (whole.right() > cap + 1) {
          list.hatch(QRectF(cap, whole.top(), whole.right() - cap, kBar), palette_.text);
        }
      }
    }
    const QRectF figures(width_ - kFigures, whole.top(), kFigures - kMargin, kBar);
    list.label(
        figures,
        QStringLiteral("%1 · %2").arg(formatBytes(bucket.bytes)).arg(bucket.parameters.size()),
        palette_, kToTheRight);
  }
}

QString BucketPreviewScene::describe(QPointF at) const {
  const auto row = static_cast<std::ptrdiff_t>((at.y() - kMargin) / kRow);
  if (at.y() < kMargin || row >= static_cast<std::ptrdiff_t>(plan_.buckets.size())) {
    return {};
  }
  const auto index = static_cast<std::size_t>(row);
  const auto& bucket = plan_.buckets[index];
  QStringList lines;
  lines << tr("Bucket %1: %2, %3 parameters, %4")
               .arg(index)
               .arg(formatBytes(bucket.bytes))
               .arg(bucket.parameters.size())
               .arg(QString::fromStdString(bucket.dtype));
  if (isLimited(bucket)) {
    lines << (bucket.bytes > bucket.limitBytes
                  ? tr("Cap %1, reached by its last parameter: %2 over (hatched)")
                        .arg(formatBytes(bucket.limitBytes),
                             formatBytes(bucket.bytes - bucket.limitBytes))
                  : tr("Cap %1").arg(formatBytes(bucket.limitBytes)));
  } else if (bucket.limitBytes == 0) {
    lines << tr("A sparse gradient has a bucket of its own");
  } else {
    lines << tr("No cap in the first iteration");
  }
  // The same sums as in draw(). At most one parameter holds the point, also where cells are drawn
  // as one.
  double left = bar(index).left();
  for (const std::uint32_t number : bucket.parameters) {
    const ModelParameter& parameter = forecast_.parameters[number];
    const double right = left + static_cast<double>(parameter.bytes) * scale();
    if (at.x() >= left && at.x() < right) {
      lines << QStringLiteral("%1: %2, %3")
                   .arg(parameter.name, formatShape(parameter.shape), formatBytes(parameter.bytes));
    }
    left = right;
  }
  return lines.join('\n');
}

}  // namespace lockstep::ui
