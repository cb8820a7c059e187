#include "engine/analysis/Divergence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "engine/trace/Event.h"

namespace lockstep::analysis {
namespace {

using trace::FingerprintRow;

template <typename Value>
std::size_t placeOf(const std::vector<Value>& sorted, const Value& value) {
  return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), value) -
                                  sorted.begin());
}

/// Sorts the ranks of one cell into classes of equal hashes.
class Classes {
 public:
  void add(std::size_t rankIndex, std::uint64_t hash) { members_[hash].push_back(rankIndex); }
  void clear() { members_.clear(); }

  // The largest class is number 0. Ranks are in ascending order in each, so that front() is the
  // lowest, which decides among classes of one size.
  ReplicaCell judge(std::uint8_t* classOfRank) const {
    std::vector<const std::vector<std::size_t>*> order;
    ReplicaCell cell;
    for (const auto& [hash, ranks] : members_) {
      order.push_back(&ranks);
      cell.present = static_cast<std::uint16_t>(cell.present + ranks.size());
    }
    std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
      return a->size() != b->size() ? a->size() > b->size() : a->front() < b->front();
    });
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const std::size_t rank : *order[i]) {
        // 0xFF is kAbsent. From the 255th class on they share a number, which keeps all of them
        // outside the reference.
        classOfRank[rank] = static_cast<std::uint8_t>(std::min<std::size_t>(i, 0xFE));
      }
    }
    if (!order.empty()) {
      cell.differing = static_cast<std::uint16_t>(cell.present - order.front()->size());
      cell.majority = 2 * order.front()->size() > cell.present;
    }
    return cell;
  }

 private:
  std::map<std::uint64_t, std::vector<std::size_t>> members_;  // ranks ascending
};

// Note [The matrix of replicas]
// A row of the file is one hash: of one parameter on one rank at one sample. They come as ranks
// write them, with holes where a rank died or has not written yet. Two passes over the rows, the
// first for the extents and the second for the places, make a dense cube of them:
//
//       classes[(sample * parameters + parameter) * ranks + rank]
//       cells  [ sample * parameters + parameter]
//
// so that a cell is judged from neighbouring bytes, and the studio reads what it draws without a
// search.

ReplicaMatrix replicaMatrix(const run::Grown<FingerprintRow>& rows) {
  ReplicaMatrix matrix;
  std::set<std::uint32_t> steps;
  std::set<int> ranks;
  for (const FingerprintRow& row : rows) {
    steps.insert(row.step);
    ranks.insert(row.rank);
    matrix.parameters = std::max<std::size_t>(matrix.parameters, row.parameter + 1);
  }
  matrix.steps.assign(steps.begin(), steps.end());
  matrix.ranks.assign(ranks.begin(), ranks.end());
  const std::size_t count = matrix.steps.size() * matrix.parameters * matrix.ranks.size();
  matrix.cells.resize(matrix.steps.size() * matrix.parameters);
  matrix.classes.assign(count, ReplicaMatrix::kAbsent);
  matrix.hashes.assign(count, 0);
  matrix.norms.assign(count, -1);
  for (const FingerprintRow& row : rows) {
    const std::size_t at =
        matrix.at(placeOf(matrix.steps, row.step), row.parameter, placeOf(matrix.ranks, row.rank));
    // Only says that the hash is there, until the cell is judged below.
    matrix.classes[at] = 0;
    matrix.hashes[at] = row.hash;
    matrix.norms[at] = std::isfinite(row.norm) ? static_cast<float>(row.norm) : -1;
  }
  Classes classes;
  for (std::size_t cell = 0; cell < matrix.cells.size(); ++cell) {
    const std::size_t from = cell * matrix.ranks.size();
    classes.clear();
    for (std::size_t rank = 0; rank < matrix.ranks.size(); ++rank) {
      if (matrix.classes[from + rank] != ReplicaMatrix::kAbsent) {
        classes.add(rank, matrix.hashes[from + rank]);
      }
    }
    matrix.cells[cell] = classes.judge(matrix.classes.data() + from);
  }
  for (const FingerprintRow& row : rows) {
    const std::size_t sample = placeOf(matrix.steps, row.step);
    matrix.cells[sample * matrix.parameters + row.parameter].notFinite +=
        std::isfinite(row.norm) ? 0 : 1;
  }
  return matrix;
}

std::optional<FirstDifference> firstDifference(const ReplicaMatrix& matrix) {
  std::optional<FirstDifference> first;
  std::optional<std::uint32_t> lastEqual;
  for (std::size_t sample = 0; sample < matrix.steps.size() && !first; ++sample) {
    // A sample of one rank alone compares nothing, and is no proof that replicas were equal then.
    bool compared = false;
    for (std::size_t parameter = 0; parameter < matrix.parameters; ++parameter) {
      const ReplicaCell& cell = matrix.cell(sample, parameter);
      compared = compared || !cell.unknown();
      if (cell.differing == 0) {
        continue;
      }
      if (!first) {
        first = FirstDifference{sample,
                                matrix.steps[sample],
                                lastEqual,
                                parameter,
                                0,
                                matrix.differingRanks(sample, parameter),
                                cell.majority};
      }
      first->parametersDiffering += 1;
    }
    lastEqual = compared ? matrix.steps[sample] : lastEqual;
  }
  return first;
}

std::optional<LostParameter> lostParameter(const ReplicaMatrix& matrix,
                                           const run::Grown<FingerprintRow>& rows) {
  const auto bad = std::find_if(matrix.cells.begin(), matrix.cells.end(),
                                [](const ReplicaCell& cell) { return cell.notFinite > 0; });
  if (bad == matrix.cells.end()) {
    return std::nullopt;
  }
  const auto at = static_cast<std::size_t>(bad - matrix.cells.begin());
  LostParameter lost{at / matrix.parameters, matrix.steps[at / matrix.parameters],
                     at % matrix.parameters, matrix.ranks.back()};
  for (const FingerprintRow& row : rows) {
    if (row.step == lost.step && row.parameter == lost.parameter && !std::isfinite(row.norm)) {
      lost.rank = std::min(lost.rank, row.rank);
    }
  }
  return lost;
}

/// Whether two ranks are known to hold the same bits.
/// Classes tell that as well as hashes do, but for 255 classes or more of one parameter.
bool sameBits(const ReplicaMatrix& matrix, std::uint32_t step, int a, int b) {
  const std::size_t sample = placeOf(matrix.steps, step);
  const std::size_t rankA = placeOf(matrix.ranks, a);
  const std::size_t rankB = placeOf(matrix.ranks, b);
  if (sample == matrix.steps.size() || matrix.steps[sample] != step ||
      rankA == matrix.ranks.size() || rankB == matrix.ranks.size()) {
    return false;
  }
  for (std::size_t parameter = 0; parameter < matrix.parameters; ++parameter) {
    const std::uint8_t ofA = matrix.classes[matrix.at(sample, parameter, rankA)];
    if (ofA == ReplicaMatrix::kAbsent ||
        ofA != matrix.classes[matrix.at(sample, parameter, rankB)]) {
      return false;
    }
  }
  return matrix.parameters > 0;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    squares += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return std::sqrt(squares);
}

bool allFinite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::isfinite(value); });
}

ConsensusSample consensusOf(std::uint32_t step, const std::map<int, const trace::SketchRow*>& rows,
                            const ReplicaMatrix& matrix) {
  ConsensusSample sample;
  sample.step = step;
  std::vector<const std::vector<double>*> sketches;
  for (const auto& [rank, row] : rows) {
    // Sketches of unlike size cannot be subtracted: those like the first rank's are taken.
    if (allFinite(row->counters) &&
        (sketches.empty() || row->counters.size() == sketches.front()->size())) {
      sample.ranks.push_back(rank);
      sketches.push_back(&row->counters);
    }
  }
  const std::size_t count = sketches.size();
  if (count == 0) {
    return sample;
  }
  sample.pairs.resize(count * count);
  bool allEqual = true;
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = a + 1; b < count; ++b) {
      const bool equal = sameBits(matrix, step, sample.ranks[a], sample.ranks[b]);
      allEqual = allEqual && equal;
      sample.pairs[a * count + b] = sample.pairs[b * count + a] =
          equal ? 0 : distance(*sketches[a], *sketches[b]);
    }
  }
  sample.distances.resize(count);
  // All distances are 0, exactly. Those to a mean would not be: it is rounded.
  if (allEqual) {
    return sample;
  }
  std::vector<double> mean(sketches.front()->size());
  for (const auto* sketch : sketches) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += (*sketch)[i] / static_cast<double>(count);
    }
  }
  double squares = 0;
  for (std::size_t a = 0; a < count; ++a) {
    sample.distances[a] = distance(*sketches[a], mean);
    squares += sample.distances[a] * sample.distances[a];
  }
  sample.spread = std::sqrt(squares / static_cast<double>(count));
  return sample;
}

void addConsensus(const RunData& data, Divergence& result) {
  std::map<std::uint32_t, std::map<int, const trace::SketchRow*>> bySteps;
  for (const trace::SketchRow& row : data.sketches) {
    if (!row.counters.empty()) {
      bySteps[row.step][row.rank] = &row;
      result.consensusRelativeError = std::sqrt(2.0 / static_cast<double>(row.counters.size())) / 2;
    }
  }
  for (const auto& [step, rows] : bySteps) {
    ConsensusSample sample = consensusOf(step, rows, result.replicas);
    if (sample.ranks.size() >= 2) {
      result.consensus.push_back(std::move(sample));
    }
  }
}

void addGradients(const RunData& data, Divergence& result) {
  std::map<std::pair<std::uint32_t, int>, double> squares;
  for (const trace::GradientRow& row : data.gradients) {
    const trace::GradientsMessage::Bucket& bucket = row.gradients;
    const bool finite = bucket.nans + bucket.infinities == 0;
    squares[{row.step, row.rank}] +=
        // One bucket that is not finite makes the norm of the whole gradient unknown: NaN goes
        // through the sum.
        finite ? bucket.norm * bucket.norm : std::numeric_limits<double>::quiet_NaN();
    if (!finite) {
      result.findings.push_back(
          {row.step, row.rank, bucket.bucket, bucket.parameter, bucket.nans, bucket.infinities});
    }
  }
  for (const auto& [key, sum] : squares) {
    if (!std::isfinite(sum)) {
      continue;
    }
    if (result.gradientNorms.empty() || result.gradientNorms.back().step != key.first) {
      result.gradientNorms.push_back({key.first, {}, {}});
    }
    result.gradientNorms.back().ranks.push_back(key.second);
    result.gradientNorms.back().norms.push_back(std::sqrt(sum));
  }
  std::sort(result.findings.begin(), result.findings.end(),
            [](const SanityFinding& a, const SanityFinding& b) {
              return std::tie(a.step, a.rank, a.bucket) < std::tie(b.step, b.rank, b.bucket);
            });
}

std::optional<SanityFinding> firstBadLoss(const RunData& data) {
  std::optional<SanityFinding> first;
  for (const trace::MetricRow& loss : data.losses) {
    if (!std::isfinite(loss.value) &&
        (!first || std::tie(loss.step, loss.rank) < std::tie(first->step, first->rank))) {
      first = SanityFinding{};
      first->step = loss.step;
      first->rank = loss.rank;
    }
  }
  return first;
}

std::optional<SamplingCost> costOf(const RunData& data) {
  std::uint64_t steps = 0;
  std::uint64_t fingerprints = 0;
  std::uint64_t checks = 0;
  for (const trace::SpanRow& span : data.spans) {
    switch (span.kind) {
      case trace::EventKind::kStep:
        steps += span.durationTicks;
        break;
      case trace::EventKind::kFingerprint:
        fingerprints += span.durationTicks;
        break;
      case trace::EventKind::kGradientCheck:
        checks += span.durationTicks;
        break;
      default:
        break;
    }
  }
  if (steps == 0 || fingerprints + checks == 0) {
    return std::nullopt;
  }
  const auto percent = [steps](std::uint64_t ticks) {
    return 100 * static_cast<double>(ticks) / static_cast<double>(steps);
  };
  return SamplingCost{percent(fingerprints), percent(checks)};
}

}  // namespace

std::vector<std::uint32_t> ReplicaMatrix::wholeSteps() const {
  std::vector<std::uint32_t> whole;
  for (std::size_t sample = 0; sample < steps.size(); ++sample) {
    const auto from = cells.begin() + static_cast<std::ptrdiff_t>(sample * parameters);
    if (std::all_of(from, from + static_cast<std::ptrdiff_t>(parameters),
                    [&](const ReplicaCell& cell) { return cell.present == ranks.size(); })) {
      whole.push_back(steps[sample]);
    }
  }
  return whole;
}

std::vector<int> ReplicaMatrix::differingRanks(std::size_t sample, std::size_t parameter) const {
  std::vector<int> differing;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::uint8_t ofRank = classes[at(sample, parameter, rank)];
    if (ofRank != 0 && ofRank != kAbsent) {
      differing.push_back(ranks[rank]);
    }
  }
  return differing;
}

bool Divergence::compared() const {
  return std::any_of(replicas.cells.begin(), replicas.cells.end(),
                     [](const ReplicaCell& cell) { return !cell.unknown(); });
}

std::optional<double> Divergence::lastSpread() const {
  // The newest sample of a live run may be one of some ranks only; a spread over fewer ranks would
  // look like a smaller one.
  if (consensus.empty() || replicas.steps.empty() ||
      consensus.back().step != replicas.steps.back() ||
      consensus.back().ranks.size() != replicas.ranks.size()) {
    return std::nullopt;
  }
  return consensus.back().spread;
}

const ConsensusSample* Divergence::lastOfAll() const {
  const auto last =
      std::find_if(consensus.rbegin(), consensus.rend(), [this](const ConsensusSample& sample) {
        return first && sample.step >= first->step && sample.ranks.size() == replicas.ranks.size();
      });
  return last == consensus.rend() ? nullptr : &*last;
}

Divergence divergence(const RunData& data) {
  Divergence result;
  result.replicas = replicaMatrix(data.fingerprints);
  result.first = firstDifference(result.replicas);
  result.lost = lostParameter(result.replicas, data.fingerprints);
  addConsensus(data, result);
  addGradients(data, result);
  result.firstBadLoss = firstBadLoss(data);
  result.cost = costOf(data);
  return result;
}

std::vector<std::uint8_t> bucketClasses(const ReplicaMatrix& replicas, std::size_t sample,
                                        const trace::BucketsMessage& layout) {
  const std::size_t ranks = replicas.ranks.size();
  std::vector<std::uint8_t> classes(layout.buckets.size() * ranks, 0);
  for (std::size_t bucket = 0; bucket < layout.buckets.size(); ++bucket) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      std::uint8_t& ofBucket = classes[bucket * ranks + rank];
      for (const std::uint32_t parameter : layout.buckets[bucket].parameters) {
        const std::uint8_t one = parameter < replicas.parameters
                                     ? replicas.classes[replicas.at(sample, parameter, rank)]
                                     : ReplicaMatrix::kAbsent;
        if (one == ReplicaMatrix::kAbsent) {
          ofBucket = ReplicaMatrix::kAbsent;
          break;
        }
        ofBucket = one != 0 ? 1 : ofBucket;
      }
    }
  }
  return classes;
}

}  // namespace lockstep::analysis
