#include "engine/process_group/Mismatch.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

namespace lockstep::process_group {
namespace {

using testing::ElementsAre;

Call allreduceOf(const std::vector<at::Tensor>& tensors) {
  Call call;
  call.operation = trace::Operation::kAllreduce;
  call.describeTensors(tensors);
  return call;
}

TEST(Mismatch, OfCallsThatReadAlikeSaysWhatDiffers) {
  const at::Tensor two = at::ones({2});
  const at::Tensor three = at::ones({3});
  const Difference found =
      mismatch(allreduceOf({two, three}), 0, 2, {{1, note(allreduceOf({three, two}))}});
  EXPECT_EQ(found.text,
            "the ranks do not make the same call: rank 0 allreduce(sum) of 2 tensors, 20 bytes, "
            "rank 1 allreduce(sum) of 2 tensors, 20 bytes (of tensors with other dtypes or sizes)");
  EXPECT_THAT(found.culprits, ElementsAre(0, 1)) << "no majority";
}

TEST(Mismatch, IsNoneOfEqualCalls) {
  const Call call = allreduceOf({at::ones({2})});
  EXPECT_EQ(mismatch(call, 0, 2, {{1, note(call)}}).text, "");
}

}  // namespace
}  // namespace lockstep::process_group
