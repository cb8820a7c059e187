#include <ATen/ops/div.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>

#include <lockstep/comm_hook.hpp>
#include <lockstep/hook/tensors.hpp>

using namespace lockstep::plugin;

namespace {

/// A hook that chooses libtorch: the mean, by operators on views of the host's memory, and the
/// ranks' sums of squares of each matrix's rows, sent from a tensor of its own.
class WithTensors : public Hook {
 public:
  static const Description& description() {
    static const Description description =
        Description("with_tensors", "with tensors", "1.0", "Averages by libtorch's operators.")
            .caps(LOCKSTEP_CAP_SAME_RESULT)
            .meanError(1e-6);
    return description;
  }

  WithTensors(Host host, const Values&) : Hook(host) {}

  void run(Run run, Bucket bucket) {
    double matrices = 0;
    for (std::uint32_t i = 0; i < bucket.parameters(); ++i) {
      at::Tensor gradient = gradientTensor(bucket, i);
      gradient.div_(bucket.divisor());
      matrices += gradient.dim() == 2 ? 1 : 0;
    }
    run.counter("matrices", matrices);
    squares_ = tensor(bucket.buffer()).square().sum().reshape({1});
    run.allReduce(bufferOf(squares_), LOCKSTEP_SUM, [this, run] {
      run.counter("squares", squares_[0].item<double>());
    });
    run.allReduce(bucket.buffer(), LOCKSTEP_SUM, [run] { run.complete(); });
    run.noMore();
  }

 private:
  at::Tensor squares_;
};

}  // namespace

LOCKSTEP_HOOKS(WithTensors);
