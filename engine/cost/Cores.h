#pragma once

namespace lockstep::cost {

// Note [Where cores are short]
// A replay lets a hook work beside the backward, as if there were a core for it. The ranks of a
// machine share its cores, and what all of them have to do there takes at least their processor
// time over the number of cores: the bound by work of list scheduling (R. L. Graham, Bounds for
// Certain Multiprocessing Anomalies, 1966). It is taken of two stretches of a step, of which
// either takes its length or its work over the cores, whichever is more:
//   - while the hook works, for so long as it works on one rank: the hook's threads, one a rank,
//     and what the ranks do besides, at the mean of the step;
//   - the rest of the step: what the ranks do besides, alone.
// So a step is held up by nothing where cores suffice, and comes to all of its processor time over
// the cores where they never do. The bound says nothing of whose threads wait. Where those have
// time to spare a step is held up by less, and where ranks wait for each other by more: a forecast
// is taken to be off by half of it, either way.
// How long a hook works is known by the clock and not by the processor: where its threads waited
// for a core, that is in it.

/// The cores that the ranks of a run share, and what the run kept busy of them.
struct Cores {
  double count = 0;
  double busy = 0;  ///< by all ranks together, in the mean: 1 is one core
  int ranks = 0;
};

/// Returns by how much a step of `stepNs` where cores suffice is held up where they do not.
/// `workNs`: the processor time of all ranks in it, without the hook's; `hookNs`: how long the hook
/// works on one rank.
double heldUpNs(const Cores& cores, double stepNs, double workNs, double hookNs);

}  // namespace lockstep::cost
