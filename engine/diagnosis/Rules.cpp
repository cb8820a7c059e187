#include "engine/diagnosis/Rule.h"
#include "engine/diagnosis/rules/Judges.h"

namespace lockstep::diagnosis {

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all{
      {"failed", "how the run and its ranks ended", "it failed", "what the error says",
       judgeFailed},
      {"calls_differ", "the calls of a group, side by side",
       "ranks made different calls of one number, and nothing was lost in recording",
       "make the calls of all ranks the same", judgeCalls},
      {"not_finite", "losses, gradients before they are averaged, sampled parameters",
       "one is no finite number", "look at that rank's data, the learning rate, the dtype",
       judgeNotFinite},
      {"replicas_differ", "hashes of the parameters of all ranks",
       "they differ, and the hook does not say that they drift",
       "look at the parameter and the rank; synchronise at the start", judgeReplicas},
      {"late_rank", "arrivals at collectives; the work of each rank beside the others'",
       "lateness beyond chance (99 % over all ranks), 3 % of the step, and cores (Note [Lateness])",
       "that part of its work", judgeLateRank},
      {"few_cores", "what step threads waited for cores, by the kernel",
       "the longest of any rank, beyond chance (99 %) above 10 % of the step",
       "fewer ranks or threads on the machine, or nothing else on it", judgeCores},
      {"data", "the time before each forward in which a batch is made",
       "of all ranks, beyond chance (99 %) above 10 % of the step",
       "make batches beside the training", judgeData},
      {"buckets", "the replay of the steps with other caps",
       "nine of ten runs would be faster, and by 3 % of the step or more", "another bucket cap",
       judgeBuckets},
      {"transfer", "exposed transfer that no order of buckets hides, less waits for cores",
       "beyond chance (99 % over all ranks) above 10 % of the step (Note [Slow link])",
       "fewer bytes or a faster link", judgeTransfer},
      {"hook_costs", "the hook's own work and transfers beside those of a plain allreduce",
       "beyond chance (99 %) more by 3 % of the step", "no hook", judgeHook},
      {"search_unused", "the search for unused parameters, and which it found",
       "it found none; a cost where it takes, beyond chance (99 %), 3 % of the step or more",
       "no search", judgeSearch},
      {"between_steps", "evaluations and checkpoints", "10 % of the run's time", "fewer of them",
       judgeBetweenSteps},
  };
  return all;
}

}  // namespace lockstep::diagnosis
