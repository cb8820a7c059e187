#include "engine/analysis/Divergence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <ranges>
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

template <typename Values, typename Value>
void append(const Values& values, run::Grown<Value>& to) {
  for (const Value& value : values) {
    to.push_back(value);
  }
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

/// Adds the samples of rows, none of which is in the matrix, of its ranks and parameters.
void addSamples(const std::vector<FingerprintRow>& rows, ReplicaMatrix& matrix) {
  std::set<std::uint32_t> numbers;
  for (const FingerprintRow& row : rows) {
    numbers.insert(row.step);
  }
  const std::vector<std::uint32_t> steps(numbers.begin(), numbers.end());
  const std::size_t ranks = matrix.ranks.size();
  const std::size_t cells = steps.size() * matrix.parameters;
  std::vector<std::uint8_t> classes(cells * ranks, ReplicaMatrix::kAbsent);
  std::vector<std::uint64_t> hashes(cells * ranks, 0);
  std::vector<float> norms(cells * ranks, -1);
  for (const FingerprintRow& row : rows) {
    const std::size_t at = (placeOf(steps, row.step) * matrix.parameters + row.parameter) * ranks +
                           placeOf(matrix.ranks, row.rank);
    // Only says that the hash is there, until the cell is judged below.
    classes[at] = 0;
    hashes[at] = row.hash;
    norms[at] = std::isfinite(row.norm) ? static_cast<float>(row.norm) : -1;
  }
  Classes ofCell;
  for (std::size_t number = 0; number < cells; ++number) {
    const std::size_t from = number * ranks;
    std::uint16_t notFinite = 0;
    ofCell.clear();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      if (classes[from + rank] != ReplicaMatrix::kAbsent) {
        ofCell.add(rank, hashes[from + rank]);
        notFinite += norms[from + rank] < 0 ? 1 : 0;
      }
    }
    ReplicaCell cell = ofCell.judge(classes.data() + from);
    cell.notFinite = notFinite;
    matrix.cells.push_back(cell);
  }
  append(classes, matrix.classes);
  append(hashes, matrix.hashes);
  append(norms, matrix.norms);
  append(steps, matrix.steps);
}

/// Whether two ranks are known to hold the same bits.
/// Classes tell that as well as hashes do, but for 255 classes or more of one parameter.
bool sameBits(const ReplicaMatrix& matrix, std::uint32_t step, int a, int b) {
  const std::size_t sample =
      run::firstWhere(matrix.steps, [step](std::uint32_t of) { return of >= step; });
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

void addConsensus(const std::vector<trace::SketchRow>& sketches, Divergence& result) {
  std::map<std::uint32_t, std::map<int, const trace::SketchRow*>> bySteps;
  for (const trace::SketchRow& row : sketches) {
    bySteps[row.step][row.rank] = &row;
  }
  for (const auto& [step, rows] : bySteps) {
    ConsensusSample sample = consensusOf(step, rows, result.replicas);
    if (sample.ranks.size() >= 2) {
      result.consensus.push_back(std::move(sample));
    }
  }
}

void addGradients(const std::vector<trace::GradientRow>& gradients, Divergence& result) {
  std::map<std::uint32_t, std::map<int, double>> squares;
  std::vector<SanityFinding> findings;
  for (const trace::GradientRow& row : gradients) {
    const trace::GradientsMessage::Bucket& bucket = row.gradients;
    const bool finite = bucket.nans + bucket.infinities == 0;
    squares[row.step][row.rank] +=
        // One bucket that is not finite makes the norm of the whole gradient unknown: NaN goes
        // through the sum.
        finite ? bucket.norm * bucket.norm : std::numeric_limits<double>::quiet_NaN();
    if (!finite) {
      findings.push_back(
          {row.step, row.rank, bucket.bucket, bucket.parameter, bucket.nans, bucket.infinities});
    }
  }
  for (const auto& [step, ofRanks] : squares) {
    GradientNormSample sample{step, {}, {}};
    for (const auto& [rank, sum] : ofRanks) {
      if (std::isfinite(sum)) {
        sample.ranks.push_back(rank);
        sample.norms.push_back(std::sqrt(sum));
      }
    }
    if (!sample.ranks.empty()) {
      result.gradientNorms.push_back(std::move(sample));
    }
  }
  std::sort(findings.begin(), findings.end(), [](const SanityFinding& a, const SanityFinding& b) {
    return std::tie(a.step, a.rank, a.bucket) < std::tie(b.step, b.rank, b.bucket);
  });
  append(findings, result.findings);
}

}  // namespace

std::vector<std::uint32_t> ReplicaMatrix::wholeSteps() const {
  std::vector<std::uint32_t> whole;
  for (std::size_t sample = 0; sample < steps.size(); ++sample) {
    const auto all = std::views::iota(std::size_t{0}, parameters);
    if (std::ranges::all_of(all, [&](std::size_t parameter) {
          return cell(sample, parameter).present == ranks.size();
        })) {
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
  for (std::size_t at = consensus.size(); first && at-- > 0;) {
    const ConsensusSample& sample = consensus[at];
    if (sample.step < first->step) {
      return nullptr;
    }
    if (sample.ranks.size() == replicas.ranks.size()) {
      return &sample;
    }
  }
  return nullptr;
}

Divergence divergence(const RunData& data) {
  return GrowingDivergence().refresh(data, {});
}

Divergence GrowingDivergence::refresh(const RunData& data, const RunAnalysis& run) {
  if (!take(data, run) || !takeRanks()) {
    *this = GrowingDivergence();
    take(data, run);
    takeRanks();
  }
  takeLosses(data);
  before_ = closed();
  add(open_.takeBelow(run.closed.next), closed_);
  seen_.goOn(closed_.replicas);
  next_ = run.closed.next;

  Divergence result = closed_;
  add(open_, result);
  Seen seen = seen_;
  seen.goOn(result.replicas);
  result.first = std::move(seen.first);
  result.lost = seen.lost;
  result.cost = cost();
  return result;
}

DivergenceParts GrowingDivergence::closed() const {
  return {seen_.samples, closed_.consensus.size(), closed_.gradientNorms.size(),
          closed_.findings.size()};
}

GrowingDivergence::Open GrowingDivergence::Open::takeBelow(std::uint32_t next) {
  return {analysis::takeBelow(fingerprints, next), analysis::takeBelow(sketches, next),
          analysis::takeBelow(gradients, next)};
}

// The matrix first: distances are exactly 0 where all hashes are equal.
void GrowingDivergence::add(const Open& rows, Divergence& to) {
  addSamples(rows.fingerprints, to.replicas);
  addConsensus(rows.sketches, to);
  addGradients(rows.gradients, to);
}

/// Takes what is new; returns false where it belongs to what is closed.
bool GrowingDivergence::take(const RunData& data, const RunAnalysis& run) {
  bool right = goOn(data, run, [this](int, const trace::SpanRow& span) {
    taken_.steps += span.kind == trace::EventKind::kStep ? span.durationTicks : 0;
    taken_.fingerprints += span.kind == trace::EventKind::kFingerprint ? span.durationTicks : 0;
    taken_.checks += span.kind == trace::EventKind::kGradientCheck ? span.durationTicks : 0;
    return true;
  });
  const auto takeRows = [&](const auto& rows, std::size_t& looked, auto& open) {
    for (; looked < rows.size(); ++looked) {
      right = right && rows[looked].step >= next_;
      open.push_back(rows[looked]);
    }
  };
  takeRows(data.fingerprints, rows_.fingerprints, open_.fingerprints);
  takeRows(data.gradients, rows_.gradients, open_.gradients);
  const std::size_t before = open_.sketches.size();
  takeRows(data.sketches, rows_.sketches, open_.sketches);
  std::erase_if(open_.sketches, [](const trace::SketchRow& row) { return row.counters.empty(); });
  if (open_.sketches.size() > before) {
    closed_.consensusRelativeError =
        std::sqrt(2.0 / static_cast<double>(open_.sketches.back().counters.size())) / 2;
  }
  return right;
}

/// Makes room for the ranks and parameters of new rows; returns false where what is closed has
/// less.
bool GrowingDivergence::takeRanks() {
  ReplicaMatrix& replicas = closed_.replicas;
  std::set<int> ranks(replicas.ranks.begin(), replicas.ranks.end());
  std::size_t parameters = replicas.parameters;
  for (const FingerprintRow& row : open_.fingerprints) {
    ranks.insert(row.rank);
    parameters = std::max<std::size_t>(parameters, row.parameter + 1);
  }
  if (!replicas.steps.empty() &&
      (ranks.size() != replicas.ranks.size() || parameters != replicas.parameters)) {
    return false;
  }
  replicas.ranks.assign(ranks.begin(), ranks.end());
  replicas.parameters = parameters;
  return true;
}

void GrowingDivergence::takeLosses(const RunData& data) {
  std::optional<SanityFinding>& first = closed_.firstBadLoss;
  for (; rows_.losses < data.losses.size(); ++rows_.losses) {
    const trace::MetricRow& loss = data.losses[rows_.losses];
    if (!std::isfinite(loss.value) &&
        (!first || std::tie(loss.step, loss.rank) < std::tie(first->step, first->rank))) {
      first = SanityFinding{};
      first->step = loss.step;
      first->rank = loss.rank;
    }
  }
}

void GrowingDivergence::Seen::goOn(const ReplicaMatrix& matrix) {
  for (; samples < matrix.steps.size(); ++samples) {
    const bool differed = first.has_value();
    // A sample of one rank alone compares nothing, and is no proof that replicas were equal then.
    bool compared = false;
    for (std::size_t parameter = 0; parameter < matrix.parameters; ++parameter) {
      const ReplicaCell& cell = matrix.cell(samples, parameter);
      compared = compared || !cell.unknown();
      if (cell.notFinite > 0 && !lost) {
        lost = LostParameter{samples, matrix.steps[samples], parameter, matrix.ranks.back()};
        for (std::size_t rank = matrix.ranks.size(); rank-- > 0;) {
          const std::size_t at = matrix.at(samples, parameter, rank);
          const bool lostHere =
              matrix.classes[at] != ReplicaMatrix::kAbsent && matrix.norms[at] < 0;
          lost->rank = lostHere ? matrix.ranks[rank] : lost->rank;
        }
      }
      if (cell.differing == 0 || differed) {
        continue;
      }
      if (!first) {
        first = FirstDifference{samples,
                                matrix.steps[samples],
                                lastEqual,
                                parameter,
                                0,
                                matrix.differingRanks(samples, parameter),
                                cell.majority};
      }
      first->parametersDiffering += 1;
    }
    lastEqual = compared ? matrix.steps[samples] : lastEqual;
  }
}

std::optional<SamplingCost> GrowingDivergence::cost() const {
  if (taken_.steps == 0 || taken_.fingerprints + taken_.checks == 0) {
    return std::nullopt;
  }
  const auto percent = [this](std::uint64_t ticks) {
    return 100 * static_cast<double>(ticks) / static_cast<double>(taken_.steps);
  };
  return SamplingCost{percent(taken_.fingerprints), percent(taken_.checks)};
}

}  // namespace lockstep::analysis
