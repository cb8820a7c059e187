#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/export/SelectedRows.h"
#include "engine/export/TableWriters.h"

// The tables of numbers, of the model and of what was said.
namespace lockstep::exports {
namespace {

/// Reads the run once more and gives `row` each element of one of its lists.
template <typename Row>
base::Status eachRow(const TableSource& source, std::vector<Row> trace::RunUpdate::*list,
                     const std::function<void(const Row&)>& row) {
  return eachBlock(source.survey, source.progress, [&](trace::RunUpdate& update) -> base::Status {
    std::for_each((update.*list).begin(), (update.*list).end(), row);
    return {};
  });
}

base::Result<std::uint64_t> rowsOf(const base::Status& read, const Csv& csv) {
  return read.ok() ? base::Result<std::uint64_t>(csv.rows()) : read.error();
}

bool isLoss(const trace::MetricRow& metric) {
  return metric.name == "loss" || metric.name == "gradient_norm" || metric.name == "test_loss" ||
         metric.name == "test_accuracy" || metric.name == "final_loss";
}

base::Result<std::uint64_t> writeMetrics(const TableSource& source, OutputFile& file, bool losses) {
  Csv csv(file, {"rank", "name", "step", "at_ms", "value"});
  const base::Status read = eachRow<trace::MetricRow>(
      source, &trace::RunUpdate::metrics, [&](const trace::MetricRow& metric) {
        if (isLoss(metric) == losses) {
          csv.number(metric.rank).text(metric.name).number(metric.step);
          csv.ms(source.ms(metric.ticks)).real(metric.value).end();
        }
      });
  return rowsOf(read, csv);
}

std::string shapeText(const std::vector<std::int64_t>& shape) {
  return fmt::format("{}", fmt::join(shape, "x"));
}

/// A bucket and a place in it, by parameter.
struct Place {
  std::size_t bucket = 0;
  std::uint64_t offset = 0;
};
std::map<std::uint32_t, Place> placesIn(const trace::BucketsMessage& layout) {
  std::map<std::uint32_t, Place> places;
  for (std::size_t bucket = 0; bucket < layout.buckets.size(); ++bucket) {
    const auto& parameters = layout.buckets[bucket].parameters;
    const auto& offsets = layout.buckets[bucket].offsets;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      places[parameters[i]] = {bucket, i < offsets.size() ? offsets[i] : 0};
    }
  }
  return places;
}

}  // namespace

base::Result<std::uint64_t> writeCounters(const TableSource& source, OutputFile& file) {
  return writeMetrics(source, file, false);
}

base::Result<std::uint64_t> writeLoss(const TableSource& source, OutputFile& file) {
  return writeMetrics(source, file, true);
}

base::Result<std::uint64_t> writeParameters(const TableSource& source, OutputFile& file) {
  Csv csv(file, {"parameter", "name", "shape", "dtype", "elements", "bytes", "first_bucket",
                 "first_offset_bytes", "bucket", "offset_bytes"});
  const auto& layouts = source.survey.layouts;
  const auto first = layouts.empty() ? std::map<std::uint32_t, Place>() : placesIn(layouts.front());
  const auto last = layouts.empty() ? std::map<std::uint32_t, Place>() : placesIn(layouts.back());
  for (std::uint32_t i = 0; i < source.survey.parameters.size(); ++i) {
    const auto& parameter = source.survey.parameters[i];
    csv.number(i).text(parameter.name).text(shapeText(parameter.shape)).text(parameter.dtype);
    csv.number(parameter.numel).number(parameter.bytes);
    for (const auto* places : {&first, &last}) {
      if (const auto at = places->find(i); at != places->end()) {
        csv.number(static_cast<std::uint64_t>(at->second.bucket)).number(at->second.offset);
      } else {
        csv.nothing().nothing();
      }
    }
    csv.end();
  }
  return csv.rows();
}

base::Result<std::uint64_t> writeBuckets(const TableSource& source, OutputFile& file) {
  Csv csv(file, {"layout", "from_step", "reason", "bucket", "dtype", "bytes", "limit_bytes",
                 "parameters", "names"});
  const auto& known = source.survey.parameters;
  for (const trace::BucketsMessage& layout : source.survey.layouts) {
    for (std::size_t i = 0; i < layout.buckets.size(); ++i) {
      const auto& bucket = layout.buckets[i];
      std::string names;
      for (const std::uint32_t parameter : bucket.parameters) {
        names += names.empty() ? "" : " ";
        names += parameter < known.size() ? known[parameter].name : std::to_string(parameter);
      }
      csv.number(layout.layout).number(layout.step).text(layout.reason);
      csv.number(static_cast<std::uint64_t>(i)).text(bucket.dtype).number(bucket.bytes);
      // 0 is none: no limit, or a sparse gradient's bucket.
      if (bucket.limitBytes == 0) {
        csv.nothing();
      } else {
        csv.number(bucket.limitBytes);
      }
      csv.number(static_cast<std::uint64_t>(bucket.parameters.size())).text(names).end();
    }
  }
  return csv.rows();
}

base::Result<std::uint64_t> writeFingerprints(const TableSource& source, OutputFile& file) {
  Csv csv(file, {"step", "rank", "parameter", "name", "hash", "norm"});
  const auto& known = source.survey.parameters;
  const base::Status read = eachRow<trace::FingerprintRow>(
      source, &trace::RunUpdate::fingerprints, [&](const trace::FingerprintRow& row) {
        if (source.holds(row.rank, row.step)) {
          csv.number(row.step).number(row.rank).number(row.parameter);
          csv.text(row.parameter < known.size() ? known[row.parameter].name : std::string());
          csv.text(fmt::format("{:016x}", row.hash)).real(row.norm).end();
        }
      });
  return rowsOf(read, csv);
}

base::Result<std::uint64_t> writeGradients(const TableSource& source, OutputFile& file) {
  Csv csv(file, {"step", "rank", "bucket", "norm", "largest", "nans", "infinities", "parameter",
                 "reduced_norm", "reduced_hash"});
  const auto& known = source.survey.parameters;
  const base::Status read = eachRow<trace::GradientRow>(
      source, &trace::RunUpdate::gradients, [&](const trace::GradientRow& row) {
        if (source.holds(row.rank, row.step)) {
          const auto& of = row.gradients;
          csv.number(row.step).number(row.rank).bucket(of.bucket).real(of.norm).real(of.largest);
          csv.number(of.nans).number(of.infinities);
          csv.text(!of.parameter                  ? std::string()
                   : *of.parameter < known.size() ? known[*of.parameter].name
                                                  : std::to_string(*of.parameter));
          of.reduced ? csv.real(of.reduced->norm) : csv.nothing();
          csv.text(of.reduced && of.reduced->hash ? fmt::format("{:016x}", *of.reduced->hash)
                                                  : std::string());
          csv.end();
        }
      });
  return rowsOf(read, csv);
}

base::Result<std::uint64_t> writeLog(const TableSource& source, OutputFile& file) {
  Csv csv(file, {"rank", "at_ms", "text"});
  const base::Status read =
      eachRow<trace::LogRow>(source, &trace::RunUpdate::log, [&](const trace::LogRow& row) {
        (row.rank < 0 ? csv.nothing() : csv.number(row.rank))
            .ms(source.ms(row.ticks))
            .text(row.text)
            .end();
      });
  return rowsOf(read, csv);
}

base::Result<std::uint64_t> writeProblems(const TableSource& source, OutputFile& file) {
  Csv csv(file, {"severity", "rank", "step", "text"});
  const base::Status read = eachRow<trace::ProblemRow>(
      source, &trace::RunUpdate::problems, [&](const trace::ProblemRow& row) {
        csv.text(row.severity);
        (row.rank < 0 ? csv.nothing() : csv.number(row.rank)).number(row.step).text(row.text).end();
      });
  return rowsOf(read, csv);
}

}  // namespace lockstep::exports
