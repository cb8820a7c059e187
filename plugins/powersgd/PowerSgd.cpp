#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "plugins/feedback/FeedbackHook.h"

using namespace lockstep::plugin;
using lockstep::kernels::kernels;

namespace {

/// One gradient taken as a matrix, rows by columns, with its factors in the bucket's messages.
/// Columns of P and Q lie one after the other, so that all loops run over neighbours.
struct Matrix {
  std::uint32_t id = 0;
  std::span<float> values;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t rank = 0;
  std::span<float> p;  // rank vectors of `rows`
  std::span<float> q;  // rank vectors of `columns`
};

/// Makes `count` vectors of equal length orthonormal, one by one (modified Gram-Schmidt). What has
/// no direction of its own left becomes zero, where PyTorch's division gives NaN.
void orthogonalize(std::span<float> vectors, std::size_t count) {
  const std::size_t length = vectors.size() / count;
  for (std::size_t i = 0; i < count; ++i) {
    float* own = vectors.data() + i * length;
    const double norm = std::sqrt(kernels().dot(own, own, length));
    if (!(norm > 1e-30)) {
      std::fill(own, own + length, 0.0F);
      continue;
    }
    kernels().scale(own, static_cast<float>(1 / norm), length);
    for (std::size_t j = i + 1; j < count; ++j) {
      float* other = vectors.data() + j * length;
      kernels().addScaled(other, own, static_cast<float>(-kernels().dot(own, other, length)),
                          length);
    }
  }
}

/// PowerSGD (Vogels, Karimireddy, Jaggi, NeurIPS 2019), in the steps of PyTorch's powerSGD_hook:
/// each matrix M is approximated by P Q^T of a small rank, found by one power iteration from the
/// last step's Q; P and Q are what is averaged.
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
                   .help = "a matrix is compressed when that makes it so many times smaller",
                   .initial = 2,
                   .min = 1,
                   .max = 1e6,
                   .flags = LOCKSTEP_PARAM_ADVANCED})
            .boolean(kErrorFeedback)
            .boolean({.key = "warm_start",
                      .label = "Warm start",
                      .help = "begins with the last step's factors",
                      .initial = true})
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
    const auto work = std::make_shared<Work>(plan(run, bucket));
    for (Matrix& matrix : work->matrices) {
      firstFactor(matrix, bucket.step());
      multiply(matrix);
    }
    run.allReduce(bufferOf(work->plain), LOCKSTEP_SUM, [] {});
    run.allReduce(bufferOf(work->p), LOCKSTEP_SUM, [this, run, bucket, work] {
      for (Matrix& matrix : work->matrices) {
        orthogonalize(matrix.p, matrix.rank);
        multiplyBack(matrix);
      }
      run.allReduce(bufferOf(work->q), LOCKSTEP_SUM, [this, run, bucket, work] {
        finish(bucket, *work);
        run.complete();
      });
      run.noMore();
    });
  }

  void save(Writer& out) {
    FeedbackHook::save(out);
    factors_.save(out);
  }
  void load(Reader& in, std::uint32_t schema, int worldSize) {
    FeedbackHook::load(in, schema, worldSize);
    factors_.load(in);
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

  /// Q: the last step's, or random ones, the same on all ranks; orthonormal.
  void firstFactor(Matrix& matrix, std::uint64_t step) {
    const auto* last = factors_.find(matrix.id);
    if (warm_ && last != nullptr && last->size() == matrix.q.size()) {
      std::copy(last->begin(), last->end(), matrix.q.begin());
    } else {
      std::seed_seq sequence{seed_, step, std::uint64_t{matrix.id}};
      std::mt19937_64 random(sequence);
      std::normal_distribution<float> normal;
      std::generate(matrix.q.begin(), matrix.q.end(), [&] { return normal(random); });
    }
    orthogonalize(matrix.q, matrix.rank);
  }

  /// P = M Q
  static void multiply(Matrix& matrix) {
    for (std::size_t k = 0; k < matrix.rank; ++k) {
      for (std::size_t row = 0; row < matrix.rows; ++row) {
        matrix.p[k * matrix.rows + row] =
            static_cast<float>(kernels().dot(matrix.values.data() + row * matrix.columns,
                                             matrix.q.data() + k * matrix.columns, matrix.columns));
      }
    }
  }

  /// Q = M^T P
  static void multiplyBack(Matrix& matrix) {
    std::fill(matrix.q.begin(), matrix.q.end(), 0.0F);
    for (std::size_t row = 0; row < matrix.rows; ++row) {
      for (std::size_t k = 0; k < matrix.rank; ++k) {
        kernels().addScaled(matrix.q.data() + k * matrix.columns,
                            matrix.values.data() + row * matrix.columns,
                            matrix.p[k * matrix.rows + row], matrix.columns);
      }
    }
  }

  /// M becomes P Q^T with the mean Q; what that differs by is the residual.
  void finish(const Bucket& bucket, Work& work) {
    kernels().scale(work.q.data(), static_cast<float>(1 / bucket.divisor()), work.q.size());
    for (Matrix& matrix : work.matrices) {
      float* kept = nullptr;
      if (feeds()) {
        kept = residual(matrix.id, matrix.values.size()).data();
        std::copy(matrix.values.begin(), matrix.values.end(), kept);
      }
      std::fill(matrix.values.begin(), matrix.values.end(), 0.0F);
      for (std::size_t row = 0; row < matrix.rows; ++row) {
        float* out = matrix.values.data() + row * matrix.columns;
        for (std::size_t k = 0; k < matrix.rank; ++k) {
          kernels().addScaled(out, matrix.q.data() + k * matrix.columns,
                              matrix.p[k * matrix.rows + row], matrix.columns);
        }
      }
      if (kept != nullptr) {
        kernels().addScaled(kept, matrix.values.data(), -1, matrix.values.size());
      }
      std::copy(matrix.q.begin(), matrix.q.end(), factors_.of(matrix.id, matrix.q.size()).begin());
    }
    std::size_t at = 0;
    for (const auto values : work.vectors) {
      std::copy_n(work.plain.begin() + static_cast<long>(at), values.size(), values.begin());
      at += values.size();
    }
  }

  const std::size_t rank_;
  const std::uint64_t start_;
  const double least_;
  const bool warm_;
  const std::uint64_t seed_;
  PerParameter factors_;  // the last Q of each parameter
};

}  // namespace

LOCKSTEP_HOOKS(PowerSgd);
