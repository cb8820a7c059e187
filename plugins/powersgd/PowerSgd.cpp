#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "plugins/feedback/FeedbackHook.h"
#include "plugins/powersgd/LowRank.h"

using namespace lockstep::plugin;
using lockstep::kernels::kernels;

namespace {

/// PowerSGD (Vogels, Karimireddy, Jaggi, NeurIPS 2019), in the steps of PyTorch's powerSGD_hook:
/// each matrix M is approximated by P Q^T of a small rank, found by one power iteration from the
/// last step's Q; P and Q are what is averaged. Batched (batched_powerSGD_hook), a whole bucket is
/// one square matrix, with zeros behind it.
class PowerSgd : public FeedbackHook {
 public:
  static const Description& description() {
    static const Description description =
        Description("powersgd", "PowerSGD", "1.0",
                    "Sends a low-rank approximation of each gradient matrix, and keeps the error "
                    "for later steps.")
            .caps(LOCKSTEP_CAP_SAME_RESULT)
            .integer({.key = "rank",
                      .label = "Rank",
                      .help = "of the approximation: more is closer and costs more",
                      .initial = 1,
                      .min = 1,
                      .max = 64})
            .integer({.key = "start",
                      .label = "Start",
                      .help = "iterations of plain allreduce before compression; at least 2, so "
                              "that the buckets have been rebuilt",
                      .initial = 10,
                      .min = 2,
                      .max = 1e9})
            .real({.key = "min_compression_rate",
                   .label = "Least compression",
                   .help = "a matrix is compressed when that makes it so many times smaller; a "
                           "bucket always is",
                   .initial = 2,
                   .min = 1,
                   .max = 1e6,
                   .flags = LOCKSTEP_PARAM_ADVANCED})
            .boolean(kErrorFeedback)
            .boolean({.key = "warm_start",
                      .label = "Warm start",
                      .help = "begins with the last step's factors",
                      .initial = true})
            .boolean({.key = "batched",
                      .label = "Batched",
                      .help = "takes each bucket as one square matrix: faster, and as a rule less "
                              "close",
                      .initial = false})
            .integer({.key = "seed",
                      .label = "Seed",
                      .help = "of the first factors",
                      .initial = 0,
                      .min = 0,
                      .max = 2147483647,
                      .flags = LOCKSTEP_PARAM_ADVANCED});
    return description;
  }

  PowerSgd(Host host, const Values& values)
      : FeedbackHook(host, values["error_feedback"].boolean()),
        rank_(static_cast<std::size_t>(values["rank"].integer())),
        start_(static_cast<std::uint64_t>(values["start"].integer())),
        least_(values["min_compression_rate"].real()),
        warm_(values["warm_start"].boolean()),
        batched_(values["batched"].boolean()),
        seed_(static_cast<std::uint64_t>(values["seed"].integer())) {}

  void run(Run run, Bucket bucket) {
    if (bucket.step() < start_) {
      kernels().scale(bucket.flat().data(), static_cast<float>(1 / bucket.divisor()),
                      bucket.flat().size());
      run.allReduce(bucket.buffer(), LOCKSTEP_SUM, [run] { run.complete(); });
      run.noMore();
      return;
    }
    addRest(bucket);
    const auto work =
        std::make_shared<Work>(batched_ ? planSquare(run, bucket) : plan(run, bucket));
    const auto finishRun = [this, run, bucket, work] {
      kernels().scale(work->q.data(), static_cast<float>(1 / bucket.divisor()), work->q.size());
      if (batched_) {
        finishSquare(bucket, work->matrices.front());
      } else {
        finish(*work);
      }
      run.complete();
    };
    if (work->matrices.empty()) {
      run.allReduce(bufferOf(work->plain), LOCKSTEP_SUM, finishRun);
      run.noMore();
      return;
    }
    for (const Matrix& matrix : work->matrices) {
      firstFactor(matrix, bucket.step());
      multiply(matrix);
    }
    if (!work->plain.empty()) {
      run.allReduce(bufferOf(work->plain), LOCKSTEP_SUM, [] {});
    }
    run.allReduce(bufferOf(work->p), LOCKSTEP_SUM, [run, work, finishRun] {
      for (const Matrix& matrix : work->matrices) {
        orthogonalize(matrix.p, matrix.rank);
        multiplyBack(matrix);
      }
      run.allReduce(bufferOf(work->q), LOCKSTEP_SUM, finishRun);
      run.noMore();
    });
  }

  static constexpr std::uint32_t kStateSchema = 2;  // 1 had no paddings
  void save(Writer& out) {
    FeedbackHook::save(out);
    factors_.save(out);
    paddings_.save(out);
  }
  void load(Reader& in, std::uint32_t schema, int worldSize) {
    FeedbackHook::load(in, schema, worldSize);
    factors_.load(in);
    if (schema > 1) {
      paddings_.load(in);
    }
  }

 private:
  struct Work {
    std::vector<Matrix> matrices;
    std::vector<std::span<float>> vectors;  // gradients that are sent as they are
    std::span<float> plain;                 // their shares of the mean
    std::span<float> p;
    std::span<float> q;
  };

  Work plan(const Run& run, const Bucket& bucket) const {
    Work work;
    std::size_t plain = 0;
    std::size_t p = 0;
    std::size_t q = 0;
    for (std::uint32_t i = 0; i < bucket.parameters(); ++i) {
      const auto values = bucket.gradient(i);
      const auto shape = bucket.shape(i);
      const std::size_t rows = shape.empty() ? 1 : static_cast<std::size_t>(shape[0]);
      const std::size_t columns = rows == 0 ? 0 : values.size() / rows;
      const std::size_t rank = std::min({rows, columns, rank_});
      const bool compress =
          shape.size() > 1 && static_cast<double>((rows + columns) * rank) * least_ <
                                  static_cast<double>(rows * columns);
      if (!compress) {
        plain += values.size();
        work.vectors.push_back(values);
        continue;
      }
      work.matrices.push_back({bucket.id(i), values, rows, columns, rank, {}, {}});
      p += rows * rank;
      q += columns * rank;
    }
    work.plain = run.scratch<float>(static_cast<std::int64_t>(plain));
    work.p = run.scratch<float>(static_cast<std::int64_t>(p));
    work.q = run.scratch<float>(static_cast<std::int64_t>(q));
    p = q = plain = 0;
    for (Matrix& matrix : work.matrices) {
      matrix.p = work.p.subspan(p, matrix.rows * matrix.rank);
      matrix.q = work.q.subspan(q, matrix.columns * matrix.rank);
      p += matrix.p.size();
      q += matrix.q.size();
    }
    for (const auto values : work.vectors) {
      std::copy(values.begin(), values.end(), work.plain.begin() + static_cast<long>(plain));
      plain += values.size();
    }
    kernels().scale(work.plain.data(), static_cast<float>(1 / bucket.divisor()), work.plain.size());
    return work;
  }

  /// The whole bucket as one matrix. What is behind its numbers takes part, and has a residual, as
  /// theirs; it is kept by the bucket's first parameter.
  Work planSquare(const Run& run, const Bucket& bucket) {
    const auto flat = bucket.flat();
    const auto side =
        static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(flat.size()))));
    const std::size_t rank = std::min(side, rank_);
    Work work;
    const auto square = run.scratch<float>(static_cast<std::int64_t>(side * side));
    const auto behind = std::copy(flat.begin(), flat.end(), square.begin());
    std::fill(behind, square.end(), 0.0F);
    if (feeds()) {
      const auto& kept = padding(bucket.id(0), side * side - flat.size());
      std::copy(kept.begin(), kept.end(), behind);
    }
    work.p = run.scratch<float>(static_cast<std::int64_t>(side * rank));
    work.q = run.scratch<float>(static_cast<std::int64_t>(side * rank));
    work.matrices.push_back({bucket.id(0), square, side, side, rank, work.p, work.q});
    return work;
  }

  /// Zeros at first, and when the bucket was cut in another way.
  std::vector<float>& padding(std::uint32_t id, std::size_t size) {
    const auto* last = paddings_.find(id);
    const bool fits = last != nullptr && last->size() == size;
    auto& kept = paddings_.of(id, size);
    if (!fits) {
      std::fill(kept.begin(), kept.end(), 0.0F);
    }
    return kept;
  }

  /// Q: the last step's, orthonormal; random where that has no direction, since from zeros no
  /// step would ever come back. The same on all ranks.
  void firstFactor(const Matrix& matrix, std::uint64_t step) const {
    const auto* last = factors_.find(matrix.id);
    if (warm_ && last != nullptr && last->size() == matrix.q.size()) {
      std::copy(last->begin(), last->end(), matrix.q.begin());
      orthogonalize(matrix.q, matrix.rank);
    } else {
      std::fill(matrix.q.begin(), matrix.q.end(), 0.0F);
    }
    std::vector<std::span<float>> missing;
    for (std::size_t k = 0; k < matrix.rank; ++k) {
      const auto column = matrix.q.subspan(k * matrix.columns, matrix.columns);
      if (std::all_of(column.begin(), column.end(), [](float value) { return value == 0; })) {
        missing.push_back(column);
      }
    }
    if (missing.empty()) {
      return;
    }
    std::seed_seq sequence{seed_, step, std::uint64_t{matrix.id}};
    std::mt19937_64 random(sequence);
    std::normal_distribution<float> normal;
    for (const auto column : missing) {
      std::generate(column.begin(), column.end(), [&] { return normal(random); });
    }
    orthogonalize(matrix.q, matrix.rank);
  }

  void keepFactor(const Matrix& matrix) {
    std::copy(matrix.q.begin(), matrix.q.end(), factors_.of(matrix.id, matrix.q.size()).begin());
  }

  /// M becomes P Q^T with the mean Q; what that differs by is the residual.
  void finish(Work& work) {
    for (const Matrix& matrix : work.matrices) {
      float* kept = nullptr;
      if (feeds()) {
        kept = residual(matrix.id, matrix.values.size()).data();
        std::copy(matrix.values.begin(), matrix.values.end(), kept);
      }
      restore(matrix);
      if (kept != nullptr) {
        kernels().addScaled(kept, matrix.values.data(), -1, matrix.values.size());
      }
      keepFactor(matrix);
    }
    std::size_t at = 0;
    for (const auto values : work.vectors) {
      std::copy_n(work.plain.begin() + static_cast<long>(at), values.size(), values.begin());
      at += values.size();
    }
  }

  /// The same for a bucket that is one matrix.
  void finishSquare(const Bucket& bucket, const Matrix& square) {
    restore(square);
    const auto flat = bucket.flat();
    if (feeds()) {
      keepRest(bucket);
      for (std::uint32_t i = 0; i < bucket.parameters(); ++i) {
        const auto size = static_cast<std::size_t>(bucket.length(i));
        kernels().addScaled(residual(bucket.id(i), size).data(),
                            square.values.data() + bucket.offset(i), -1, size);
      }
      auto& kept = padding(square.id, square.values.size() - flat.size());
      kernels().addScaled(kept.data(), square.values.data() + flat.size(), -1, kept.size());
    }
    std::copy_n(square.values.begin(), flat.size(), flat.begin());
    keepFactor(square);
  }

  const std::size_t rank_;
  const std::uint64_t start_;
  const double least_;
  const bool warm_;
  const bool batched_;
  const std::uint64_t seed_;
  PerParameter factors_;   // the last Q of each parameter, or bucket by its first
  PerParameter paddings_;  // residuals behind the numbers of a bucket that is one matrix
};

}  // namespace

LOCKSTEP_HOOKS(PowerSgd);
