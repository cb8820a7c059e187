#include "engine/experiment/detail/Rules.h"

#include <gmock/gmock.h>

#include "engine/experiment/Parse.h"

namespace lockstep::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> ruleMistakes(const std::string& toml) {
  std::vector<std::string> messages;
  for (const Mistake& mistake : parseText(toml, "e.toml", ".").mistakes) {
    messages.push_back(mistake.message());
  }
  return messages;
}

TEST(Rules, RefusesFeaturesThatDoNotGoTogether) {
  const std::string train = "[train]\nsteps = 1\n";
  EXPECT_THAT(
      ruleMistakes(train + "[ddp]\nstatic_graph = true\nfind_unused_parameters = true\n"),
      ElementsAre(HasSubstr("e.toml:4:16: ddp.static_graph: finds what is unused by itself")));
  EXPECT_THAT(ruleMistakes(train + "[ddp]\nskip_all_reduce_unused_params = true\n"),
              ElementsAre(HasSubstr("needs ddp.find_unused_parameters")));
  EXPECT_THAT(ruleMistakes(train + "[ddp]\nthrow_on_early_termination = true\n"),
              ElementsAre(HasSubstr("needs ddp.join")));
  EXPECT_THAT(ruleMistakes(train + "evaluate_every = 5\n[ddp]\njoin = true\n"),
              ElementsAre(HasSubstr("ddp.join: needs train.evaluate_every = 0")));
  EXPECT_THAT(ruleMistakes(train + "[ddp]\njoin = true\nsync_batch_norm = true\n"),
              ElementsAre(HasSubstr("needs ddp.throw_on_early_termination")));
  EXPECT_THAT(ruleMistakes(train + "checkpoint = \"w.pt\"\n[optimizer]\nzero = true\n"),
              ElementsAre(HasSubstr("optimizer.zero: keeps no state of all parameters")));
}

TEST(Rules, RefusesHostsThatTheRanksCannotBeSpreadOver) {
  const std::string start = "[train]\nsteps = 1\n[processes]\nworld_size = 4\n[launch]\n";
  EXPECT_THAT(ruleMistakes(start + "launcher = \"mpirun\"\nnnodes = 2\n"), IsEmpty());
  EXPECT_THAT(
      ruleMistakes(start + "launcher = \"srun\"\nnnodes = 3\n"),
      ElementsAre(HasSubstr("launch.nnodes: 4 ranks cannot be spread evenly over 3 hosts")));
  EXPECT_THAT(
      ruleMistakes(start + "launcher = \"external\"\nnnodes = 2\nranks_per_node = 3\n"),
      ElementsAre(HasSubstr("launch.ranks_per_node: 2 hosts with 3 ranks each are 6 ranks, and "
                            "processes.world_size is 4")));
  EXPECT_THAT(ruleMistakes(start + "nnodes = 2\n"),
              ElementsAre(HasSubstr("has no meaning with launch.launcher = \"local\"")));
  EXPECT_THAT(ruleMistakes(start + "launcher = \"external\"\narguments = [\"-v\"]\n"),
              ElementsAre(HasSubstr("launch.arguments: has no meaning")));
}

TEST(Rules, RefusesWhatDataParallelCannotDo) {
  const std::string start =
      "[train]\nsteps = 1\n[processes]\nstrategy = \"data_parallel\"\nworld_size = ";
  EXPECT_THAT(ruleMistakes(start + "1\ndevices = 4\n"), IsEmpty());
  EXPECT_THAT(ruleMistakes(start + "2\n"),
              ElementsAre(HasSubstr("e.toml:5:14: processes.world_size: must be 1 with "
                                    "processes.strategy \"data_parallel\"")));
  EXPECT_THAT(ruleMistakes(start + "1\n[ddp]\njoin = true\n[optimizer]\nzero = true\n"),
              ElementsAre(HasSubstr("ddp.join: has no meaning with processes.strategy"),
                          HasSubstr("optimizer.zero: has no meaning with processes.strategy")));
  EXPECT_THAT(ruleMistakes("[train]\nsteps = 1\n[processes]\ndevices = 4\n"),
              ElementsAre(HasSubstr("has no meaning with processes.strategy = \"ddp\"")));
}

TEST(Rules, RefusesOptimizersThatCannotStepWhatIsAskedOfThem) {
  const std::string train = "[train]\nsteps = 1\n";
  const std::string early = train + "[optimizer]\nin_backward = true\n";
  EXPECT_THAT(ruleMistakes(early), IsEmpty());
  EXPECT_THAT(ruleMistakes(early + "zero = true\n"),
              ElementsAre(HasSubstr("optimizer.in_backward: steps every parameter on every rank")));
  EXPECT_THAT(ruleMistakes(early + "[ddp]\nfind_unused_parameters = true\n"),
              ElementsAre(HasSubstr("would step parameters that took no part")));
  EXPECT_THAT(ruleMistakes(early + "[ddp]\nignore = [\"layers.0.bias\"]\n"),
              ElementsAre(HasSubstr("nothing would step what optimizer.in_backward leaves out")));
  const std::string ngram = train + "[model]\nkind = \"ngram\"\n[data]\nkind = \"text\"\n";
  EXPECT_THAT(ruleMistakes(ngram), ElementsAre(HasSubstr("sparse gradients need optimizer.kind")));
  EXPECT_THAT(ruleMistakes(ngram + "[optimizer]\nmomentum = 0\n"), IsEmpty());
  EXPECT_THAT(ruleMistakes(ngram + "[optimizer]\nmomentum = 0\nzero = true\n"),
              ElementsAre(HasSubstr("optimizer.zero steps dense gradients")));
}

TEST(Rules, RefusesPrecisionAndDelaysThatCannotBe) {
  const std::string ddp = "[train]\nsteps = 1\n[ddp]\n";
  EXPECT_THAT(ruleMistakes(ddp + "delay_all_reduce_named_params = [\"a\"]\n"),
              ElementsAre(HasSubstr("and ddp.param_to_hook_all_reduce, or neither")));
  const std::string delayed =
      ddp + "delay_all_reduce_named_params = [\"a\"]\nparam_to_hook_all_reduce = \"b\"\n";
  EXPECT_THAT(ruleMistakes(delayed), IsEmpty());
  EXPECT_THAT(ruleMistakes(delayed + "join = true\n"),
              ElementsAre(HasSubstr("a rank without inputs cannot tell")));
  EXPECT_THAT(ruleMistakes(ddp + "param_dtype = \"int8\"\n"),
              ElementsAre(HasSubstr("must be one of none, bfloat16, float32, float64")));
  EXPECT_THAT(ruleMistakes(ddp + "reduce_dtype = \"bfloat16\"\n[optimizer]\nin_backward = true\n"),
              ElementsAre(HasSubstr("steps what lies in buckets, in full precision")));
}

}  // namespace
}  // namespace lockstep::experiment
