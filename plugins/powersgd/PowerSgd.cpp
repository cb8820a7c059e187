#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "plugins/feedback/FeedbackHook.h"
#include "plugins/powersgd/LowRank.h"
#include "plugins/settings/Seed.h"

using namespace lockstep::plugin;

namespace {

/// PowerSGD (Vogels, Karimireddy, Jaggi, NeurIPS 2019), in the steps of PyTorch's powerSGD_hook:
/// each matrix M is approximated by P Q^T of a small rank, found by one power iteration from the
/// last step's Q; P and Q are what is averaged. Batched (batched_powerSGD_hook), a whole bucket is
/// one square matrix, filled up with zeros.
///
/// On a device all that is as large as the gradients stays there. The thin factors are made
/// orthonormal on the CPU, in one transfer a bucket, where a device would take some ten launches
/// for each of their columns.
class PowerSgd : public FeedbackHook {
 public:
  static Description description() {
    return Description(
               "powersgd", "PowerSGD", "1.0",
               "Sends a low-rank approximation of each gradient matrix, and keeps the error "
               "for later steps.")
        .caps(LOCKSTEP_CAP_SAME_RESULT)
        .devices({LOCKSTEP_CPU, LOCKSTEP_CUDA})
        .integer("rank", "Rank", {.initial = 1, .min = 1, .max = 64},
                 "of the approximation: more is closer and costs more")
        .integer("start", "Start", {.initial = 10, .min = 2, .max = 1e9},
                 "iterations of plain allreduce before compression; at least 2, so "
                 "that the buckets have been rebuilt")
        .real("min_compression_rate", "Least compression",
              {.initial = 2, .min = 1, .max = 1e6, .flags = LOCKSTEP_PARAM_ADVANCED},
              "a matrix is compressed when that makes it so many times smaller; a "
              "bucket always is")
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
        .integer(seedOf("of the first factors"));
  }

  PowerSgd(Host host, const Values& values)
      : FeedbackHook(host, values["error_feedback"].boolean()),
        rank_(values["rank"].count()),
        start_(values["start"].count()),
        least_(values["min_compression_rate"].real()),
        warm_(values["warm_start"].boolean()),
        batched_(values["batched"].boolean()),
        seed_(values["seed"].count()) {
    alsoKeep(factors_);
    alsoKeep(paddings_, 2);
  }

  // A matrix M of 512 rows and 1024 columns is 524,288 numbers. With rank 4:
  //
  //    P = M Q      512 x 4    averaged, then made orthonormal
  //    Q = M^T P   1024 x 4    averaged; M is taken to be P Q^T
  //
  // are 6,144 numbers, one in 85. Both products are linear in M. The sum of the ranks' products is
  // that of the sum of their matrices, of which no rank has to see more than its own. With the last
  // step's Q to begin from, one multiplication a step comes near to the largest singular vectors of
  // M over the steps, as the power method does, since gradients change little from step to step.
  void run(Run run, Bucket bucket) {
    const Arithmetic arithmetic(host(), bucket.buffer());
    const auto share = static_cast<float>(1 / bucket.divisor());
    if (bucket.step() < start_) {
      arithmetic.scale(bucket.buffer(), share);
      run.allReduce(bucket.buffer(), LOCKSTEP_SUM, [run] { run.complete(); });
      run.noMore();
      return;
    }
    addRest(bucket);
    const auto work = std::make_shared<Work>(batched_ ? planSquare(run, bucket, arithmetic)
                                                      : plan(run, bucket, arithmetic));
    const auto finishRun = [this, run, bucket, work, arithmetic, share] {
      arithmetic.scale(work->q, share);
      if (batched_) {
        finishSquare(bucket, arithmetic, work->matrices.front());
      } else {
        finish(*work, arithmetic);
      }
      keepFactors(*work, arithmetic);
      run.complete();
    };
    if (work->matrices.empty()) {
      run.allReduce(work->plain, LOCKSTEP_SUM, finishRun);
      run.noMore();
      return;
    }
    firstFactors(*work, arithmetic, bucket.step());
    for (const Matrix& matrix : work->matrices) {
      multiply(arithmetic, matrix);
    }
    if (work->plain.numel > 0) {
      run.allReduce(work->plain, LOCKSTEP_SUM, [] {});
    }
    // A sum, not a mean: how long the columns are is lost when they are made orthonormal. Q is
    // scaled.
    run.allReduce(work->p, LOCKSTEP_SUM, [this, run, work, arithmetic, finishRun] {
      const auto all = arithmetic.fetch(work->p, room_);
      for (const Matrix& matrix : work->matrices) {
        orthogonalize(matrix.ofP(all), matrix.rank);
      }
      arithmetic.store(all, work->p);
      for (const Matrix& matrix : work->matrices) {
        multiplyBack(arithmetic, matrix);
      }
      run.allReduce(work->q, LOCKSTEP_SUM, finishRun);
      run.noMore();
    });
  }

  static constexpr std::uint32_t kStateSchema = 2;  // 1 had no paddings

 private:
  struct Work {
    std::vector<Matrix> matrices;
    std::vector<lockstep_buffer> vectors;  // gradients that are sent as they are
    lockstep_buffer plain{};               // their shares of the mean
    lockstep_buffer p{};
    lockstep_buffer q{};
  };

  Work plan(const Run& run, const Bucket& bucket, const Arithmetic& arithmetic) const {
    Work work;
    std::int64_t plain = 0;
    std::size_t p = 0;
    std::size_t q = 0;
    for (std::uint32_t i = 0; i < bucket.parameters(); ++i) {
      const lockstep_buffer values = gradientOf(bucket, i);
      const auto count = static_cast<std::size_t>(values.numel);
      const auto shape = bucket.shape(i);
      const std::size_t rows = shape.empty() ? 1 : static_cast<std::size_t>(shape[0]);
      const std::size_t columns = rows == 0 ? 0 : count / rows;
      const std::size_t rank = std::min({rows, columns, rank_});
      const bool compress =
          shape.size() > 1 && static_cast<double>((rows + columns) * rank) * least_ <
                                  static_cast<double>(rows * columns);
      if (!compress) {
        plain += values.numel;
        work.vectors.push_back(values);
        continue;
      }
      work.matrices.push_back({bucket.id(i), values, rows, columns, rank, p, q});
      p += rows * rank;
      q += columns * rank;
    }
    work.plain = run.scratch(plain, LOCKSTEP_F32);
    cutFactors(run, work, p, q);
    for (std::int64_t at = 0; const lockstep_buffer& values : work.vectors) {
      arithmetic.copy(values, part(work.plain, at, values.numel));
      at += values.numel;
    }
    arithmetic.scale(work.plain, static_cast<float>(1 / bucket.divisor()));
    return work;
  }

  /// The whole bucket as one matrix. What fills it up takes part as the gradients do, and has a
  /// residual as they have, which is kept by the bucket's first parameter.
  Work planSquare(const Run& run, const Bucket& bucket, const Arithmetic& arithmetic) {
    const auto count = static_cast<std::size_t>(bucket.numel());
    const auto side = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(count))));
    const std::size_t rank = std::min(side, rank_);
    const lockstep_buffer square = run.scratch(signedOf(side * side), LOCKSTEP_F32);
    const lockstep_buffer behind = part(square, bucket.numel(), square.numel - bucket.numel());
    arithmetic.copy(bucket.buffer(), part(square, 0, bucket.numel()));
    if (feeds()) {
      arithmetic.copy(padding(bucket.id(0), behind, arithmetic), behind);
    } else {
      arithmetic.fill(behind, 0);
    }
    Work work;
    work.matrices.push_back({bucket.id(0), square, side, side, rank, 0, 0});
    cutFactors(run, work, side * rank, side * rank);
    return work;
  }

  /// Memory for the factors of all matrices: `p` and `q` numbers.
  static void cutFactors(const Run& run, Work& work, std::size_t p, std::size_t q) {
    work.p = run.scratch(signedOf(p), LOCKSTEP_F32);
    work.q = run.scratch(signedOf(q), LOCKSTEP_F32);
    for (Matrix& matrix : work.matrices) {
      matrix.p = part(work.p, signedOf(matrix.firstOfP), signedOf(matrix.rows * matrix.rank));
      matrix.q = part(work.q, signedOf(matrix.firstOfQ), signedOf(matrix.columns * matrix.rank));
    }
  }

  /// Zeros at first, and when the bucket was cut in another way.
  lockstep_buffer padding(std::uint32_t id, const lockstep_buffer& behind,
                          const Arithmetic& arithmetic) {
    const auto size = static_cast<std::size_t>(behind.numel);
    const bool fits = paddings_.sizeOf(id) == size;
    const auto& math = arithmetic.math();
    const lockstep_buffer kept = paddings_.of(id, size, behind, math ? &*math : nullptr);
    if (!fits) {
      arithmetic.fill(kept, 0);
    }
    return kept;
  }

  void firstFactors(const Work& work, const Arithmetic& arithmetic, std::uint64_t step) {
    if (arithmetic.math()) {
      room_.resize(static_cast<std::size_t>(work.q.numel));
    }
    const std::span<float> all = arithmetic.math() ? std::span(room_) : view<float>(work.q);
    for (const Matrix& matrix : work.matrices) {
      firstFactor(matrix, matrix.ofQ(all), step);
    }
    arithmetic.store(all, work.q);
  }

  /// Q: the last step's, orthonormal; random where that has no direction, since from zeros no
  /// step would ever come back. The same on all ranks.
  void firstFactor(const Matrix& matrix, std::span<float> q, std::uint64_t step) const {
    const auto* last = factors_.find(matrix.id);
    if (warm_ && last != nullptr && last->size() == q.size()) {
      std::copy(last->begin(), last->end(), q.begin());
      orthogonalize(q, matrix.rank);
    } else {
      std::fill(q.begin(), q.end(), 0.0F);
    }
    std::vector<std::span<float>> missing;
    for (std::size_t k = 0; k < matrix.rank; ++k) {
      const auto column = q.subspan(k * matrix.columns, matrix.columns);
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
    orthogonalize(q, matrix.rank);
  }

  void keepFactors(const Work& work, const Arithmetic& arithmetic) {
    if (work.matrices.empty()) {
      return;
    }
    const auto all = arithmetic.fetch(work.q, room_);
    for (const Matrix& matrix : work.matrices) {
      const auto q = matrix.ofQ(all);
      std::copy(q.begin(), q.end(), factors_.of(matrix.id, q.size()).begin());
    }
  }

  /// M becomes P Q^T with the mean Q; what that differs by is the residual.
  void finish(Work& work, const Arithmetic& arithmetic) {
    for (const Matrix& matrix : work.matrices) {
      if (feeds()) {
        arithmetic.copy(matrix.values, residual(matrix.id, matrix.values, arithmetic));
      }
      restore(arithmetic, matrix);
      if (feeds()) {
        arithmetic.addScaled(residual(matrix.id, matrix.values, arithmetic), matrix.values, -1);
      }
    }
    for (std::int64_t at = 0; const lockstep_buffer& values : work.vectors) {
      arithmetic.copy(part(work.plain, at, values.numel), values);
      at += values.numel;
    }
  }

  /// The same for a bucket that is one matrix.
  void finishSquare(const Bucket& bucket, const Arithmetic& arithmetic, const Matrix& square) {
    restore(arithmetic, square);
    if (feeds()) {
      keepRest(bucket);
      for (std::uint32_t i = 0; i < bucket.parameters(); ++i) {
        const lockstep_buffer sent = part(square.values, bucket.offset(i), bucket.length(i));
        arithmetic.addScaled(residual(bucket.id(i), sent, arithmetic), sent, -1);
      }
      const lockstep_buffer behind =
          part(square.values, bucket.numel(), square.values.numel - bucket.numel());
      arithmetic.addScaled(padding(square.id, behind, arithmetic), behind, -1);
    }
    arithmetic.copy(part(square.values, 0, bucket.numel()), bucket.buffer());
  }

  const std::size_t rank_;
  const std::uint64_t start_;
  const double least_;
  const bool warm_;
  const bool batched_;
  const std::uint64_t seed_;
  PerParameter factors_;   // the last Q of each parameter, or bucket by its first
  PerParameter paddings_;  // residuals of what fills a bucket up to one matrix
  std::vector<float> room_;  // for factors that lie on a device; between no two calls
};

}  // namespace

LOCKSTEP_HOOKS(PowerSgd);
