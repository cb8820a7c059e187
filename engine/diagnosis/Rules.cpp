#include "engine/diagnosis/Rule.h"
#include "engine/diagnosis/rules/Judges.h"

namespace lockstep::diagnosis {

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all{
      {"failed", "how the run and its ranks ended", "it failed",
       "look at what the rank that ended first wrote last", judgeFailed},
      {"calls_differ", "the calls of a group, side by side",
       "ranks made different calls of one number, and nothing was lost in recording",
       "make the calls of all ranks the same", judgeCalls},
      {"not_finite", "losses, gradients before they are averaged, sampled parameters",
       "one is no finite number", "look at that rank's data, the learning rate, the dtype",
       judgeNotFinite},
      {"no_average",
       "norms of buckets as the hook gives them back, beside those of the gradients before",
       "in each of three steps or more they are longer than any average could be",
       "one division by the number of ranks", judgeAverage},
      {"replicas_differ", "hashes of the parameters of all ranks",
       "they differ, and the hook does not say that they drift",
       "look at the parameter and the rank; synchronise at the start", judgeReplicas},
      {"late_rank", "arrivals at collectives; the work of each rank beside the others'",
       "lateness beyond chance (99 % over all ranks), 3 % of the step, and cores (Note "
       "[Lateness]); "
       "of most ranks of a host it is the host",
       "that part of its work, that host", judgeLateRank},
      {"few_cores", "how long step threads had no core, by the kernel",
       "the longest of any rank, beyond chance (99 %) above 10 % of the step",
       "fewer ranks or threads on the machine, or nothing else on it", judgeCores},
      {"data", "the time before each forward in which a batch is made",
       "of all ranks, beyond chance (99 %) above 10 % of the step",
       "make batches beside the training", judgeData},
      {"buckets", "the replay of the steps with other caps",
       "nine of ten runs would be faster, and by 3 % of the step or more", "another bucket cap",
       judgeBuckets},
      {"large_parameter", "the replay of the steps without the transfer of the largest parameter",
       "most bytes are its own, and nine of ten runs would be faster by 10 % of the step",
       "a sparse gradient, or a hook that compresses", judgeLargeParameter},
      {"slow_rank_link", "messages from rank to rank before the first step; exposed transfers",
       "the quickest to and from one rank took twice as long as the slowest between all others, "
       "and transfers cost beyond chance (99 %) 10 % of the step",
       "that rank's network", judgeRankLink},
      {"transfer",
       "exposed transfer that no order of buckets hides, less what threads had no core for",
       "beyond chance (99 % over all ranks) above 10 % of the step (Note [Slow link])",
       "fewer bytes or a faster link", judgeTransfer},
      {"hook_costs",
       "the hook's own work and transfers, and half of what it may delay where cores are short, "
       "beside those of a plain allreduce",
       "beyond chance (99 %) more by 3 % of the step", "no hook", judgeHook},
      {"copies", "copies of gradients into buckets and back, less the waiting that hides them",
       "beyond chance (99 %) they take 3 % of the step or more", "gradients that are views",
       judgeCopies},
      {"search_unused", "the search for unused parameters, and which it found",
       "it found none; a cost where it takes, beyond chance (99 %), 3 % of the step or more",
       "no search", judgeSearch},
      {"between_steps", "evaluations and checkpoints", "10 % of the run's time", "fewer of them",
       judgeBetweenSteps},
  };
  return all;
}

}  // namespace lockstep::diagnosis
