#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "engine/analysis/CallSequences.h"
#include "engine/analysis/CollectiveTimes.h"
#include "engine/analysis/Divergence.h"
#include "engine/analysis/HookTimes.h"
#include "engine/analysis/RunAnalysis.h"
#include "engine/analysis/StepOverlap.h"
#include "engine/export/TableWriters.h"

// The tables of what the analysis found.
namespace lockstep::exports {
namespace {

using analysis::RunAnalysis;

std::string rankCell(const std::vector<int>& ranks) {
  return fmt::format("{}", fmt::join(ranks, " "));
}

}  // namespace

base::Result<std::uint64_t> writeSteps(const TableSource& source, OutputFile& file) {
  Csv csv(file, {"rank", "step", "start_ms", "step_ms", "forward_ms", "backward_ms", "optimizer_ms",
                 "in_flight_ms", "computing_ms", "overlap_ms", "exposed_ms", "overlap_percent",
                 "measured", "events_lost", "off_core_ms", "overlap_least_ms", "overlap_most_ms"});
  // Of the whole run, whatever is selected: warm-up and medians are the run's, and only rows are
  // left out.
  const RunAnalysis run = analysis::analyse(*source.survey.data);
  if (!source.goesOn()) {
    return interrupted();
  }
  for (const analysis::StepTimes& step : run.steps()) {
    if (!source.goesOn(csv)) {
      return interrupted();
    }
    if (source.holds(step.rank, step.step)) {
      csv.number(step.rank).number(step.step).ms(source.ms(step.startTicks)).ms(step.stepMs);
      csv.ms(step.forwardMs).ms(step.backwardMs).ms(step.optimizerMs).ms(step.inFlightMs);
      csv.ms(step.computingMs).ms(step.overlapMs).ms(step.exposedMs).percent(step.overlapPercent);
      csv.flag(step.step >= run.warmUp.firstMeasured && !step.incomplete).flag(step.incomplete);
      csv.ms(step.offCoreMs).ms(step.overlapLeastMs).ms(step.overlapMostMs);
      csv.end();
    }
  }
  return csv.rows();
}

/// Writes what `write` makes of each selected step of each rank.
base::Result<std::uint64_t> writeSteps(
    const TableSource& source, Csv& csv,
    const std::function<void(const analysis::StepOverlap& step)>& write) {
  const RunAnalysis run = analysis::analyse(*source.survey.data);
  if (!source.goesOn()) {
    return interrupted();
  }
  for (const analysis::StepOverlap& step : analysis::stepOverlaps(*source.survey.data, run)) {
    if (!source.goesOn(csv)) {
      return interrupted();
    }
    if (source.holds(step.times.rank, step.times.step)) {
      write(step);
    }
  }
  return csv.rows();
}

base::Result<std::uint64_t> writeOverlap(const TableSource& source, OutputFile& file) {
  Csv csv(file, {"rank", "step", "step_ms", "alone_ms", "overlap_ms", "exposed_ms", "other_ms",
                 "waiting_ms", "transfer_ms", "undivided_ms", "idle_ms", "carried_ms",
                 "carried_exposed_ms", "overlap_percent", "no_core_ms"});
  return writeSteps(source, csv, [&csv](const analysis::StepOverlap& step) {
    csv.number(step.times.rank).number(step.times.step).ms(step.times.stepMs).ms(step.aloneMs);
    csv.ms(step.times.overlapMs).ms(step.times.exposedMs).ms(step.otherMs).ms(step.waitingMs);
    csv.ms(step.transferMs).ms(step.undividedMs).ms(step.idleMs).ms(step.carriedMs);
    csv.ms(step.carriedExposedMs).percent(step.times.overlapPercent).ms(step.noCoreMs).end();
  });
}

base::Result<std::uint64_t> writeTail(const TableSource& source, OutputFile& file) {
  Csv csv(file, {"rank", "step", "cause", "bucket", "exposed_ms", "late_rank", "behind_bucket",
                 "about", "explanation"});
  return writeSteps(source, csv, [&csv](const analysis::StepOverlap& step) {
    for (const analysis::TailItem& item : step.tail) {
      csv.number(item.rank).number(item.step).text(analysis::name(item.cause)).bucket(item.bucket);
      csv.ms(item.ms);
      (item.peer < 0 ? csv.nothing() : csv.number(item.peer)).bucket(item.ahead);
      csv.text(analysis::title(item)).text(analysis::explanation(item)).end();
    }
  });
}

base::Result<std::uint64_t> writeRanks(const TableSource& source, OutputFile& file) {
  Csv csv(file, {"rank",
                 "state",
                 "measured_steps",
                 "incomplete_steps",
                 "step_ms",
                 "forward_ms",
                 "backward_ms",
                 "optimizer_ms",
                 "overlap_percent",
                 "in_flight_ms",
                 "exposed_ms",
                 "waiting_ms",
                 "transfer_ms",
                 "steps_per_second",
                 "last_arrivals",
                 "waiting_caused_ms",
                 "wire_bytes",
                 "wire_messages",
                 "events_dropped",
                 "parameter_hash"});
  const RunAnalysis run = analysis::analyse(*source.survey.data);
  if (!source.goesOn()) {
    return interrupted();
  }
  for (const trace::RankInfo& info : source.survey.ranks) {
    if (!source.survey.selection.holdsRank(info.rank)) {
      continue;
    }
    const auto at = std::find_if(run.ranks.begin(), run.ranks.end(),
                                 [&](const auto& rank) { return rank.rank == info.rank; });
    const analysis::RankAnalysis rank = at == run.ranks.end() ? analysis::RankAnalysis() : *at;
    csv.number(info.rank).text(info.state).number(rank.measuredSteps).number(rank.incompleteSteps);
    csv.ms(rank.stepMs).ms(rank.forwardMs).ms(rank.backwardMs).ms(rank.optimizerMs);
    csv.percent(rank.overlapPercent).ms(rank.inFlightMs).ms(rank.exposedMs).ms(rank.waitingMs);
    csv.ms(rank.transferMs);
    (rank.stepsPerSecond ? csv.real(*rank.stepsPerSecond) : csv.nothing());
    csv.number(rank.lastArrivals).ms(rank.waitingCausedMs).number(info.wireBytes);
    csv.number(info.wireMessages).number(info.eventsDropped).text(info.parameterHash).end();
  }
  return csv.rows();
}

base::Result<std::uint64_t> writeCollectives(const TableSource& source, OutputFile& file) {
  Csv csv(file, {"group", "sequence", "operation", "step", "bucket", "bytes", "rank", "arrived_ms",
                 "ended_ms", "waiting_ms", "transfer_ms", "last_rank", "skew_ms"});
  const RunAnalysis run = analysis::analyse(*source.survey.data);
  const auto toMs = [&](std::uint64_t ticks) {
    return static_cast<double>(ticks) * run.nsPerTick / 1e6;
  };
  for (const analysis::CollectiveTimes& one : run.collectives) {
    if (!source.holds(one.step)) {
      continue;
    }
    for (const analysis::Arrival& arrival : one.arrivals) {
      if (!source.survey.selection.holdsRank(arrival.rank) ||
          source.survey.isStartup(arrival.rank, one.step, arrival.endTicks)) {
        continue;
      }
      if (!source.goesOn(csv)) {
        return interrupted();
      }
      csv.number(static_cast<int>(one.group)).number(one.sequence).text(trace::name(one.operation));
      csv.number(one.step).bucket(one.bucket).number(one.bytes).number(arrival.rank);
      csv.ms(source.ms(arrival.startTicks)).ms(source.ms(arrival.endTicks));
      if (one.complete) {
        csv.ms(toMs(arrival.waitingTicks())).ms(toMs(arrival.transferTicks()));
      } else {
        csv.nothing().nothing();
      }
      (one.lastRank ? csv.number(*one.lastRank) : csv.nothing());
      csv.ms(toMs(one.skewTicks)).end();
    }
  }
  return csv.rows();
}

base::Result<std::uint64_t> writeHooks(const TableSource& source, OutputFile& file) {
  Csv csv(file, {"rank", "step", "bucket", "start_ms", "encode_ms", "queued_ms", "waiting_ms",
                 "transfer_ms", "decode_ms", "total_ms", "payload_bytes"});
  const RunAnalysis run = analysis::analyse(*source.survey.data);
  if (!source.goesOn()) {
    return interrupted();
  }
  for (const analysis::HookCall& call : analysis::hookTimes(*source.survey.data, run).calls) {
    if (!source.goesOn(csv)) {
      return interrupted();
    }
    if (source.holds(call.rank, call.step)) {
      csv.number(call.rank).number(call.step).bucket(call.bucket).ms(source.ms(call.startTicks));
      for (const double ms : call.ms) {
        csv.ms(ms);
      }
      csv.ms(call.totalMs).number(call.payloadBytes).end();
    }
  }
  return csv.rows();
}

base::Result<std::uint64_t> writeDivergence(const TableSource& source, OutputFile& file) {
  Csv csv(file, {"step", "parameters_compared", "parameters_differing", "ranks_differing",
                 "first_parameter", "consensus_distance", "relative_error"});
  const analysis::Divergence found = analysis::divergence(*source.survey.data);
  if (!source.goesOn()) {
    return interrupted();
  }
  const analysis::ReplicaMatrix& replicas = found.replicas;
  for (std::size_t sample = 0; sample < replicas.steps.size(); ++sample) {
    const std::uint32_t step = replicas.steps[sample];
    if (!source.holds(step)) {
      continue;
    }
    std::uint64_t compared = 0;
    std::uint64_t differing = 0;
    std::optional<std::size_t> first;
    std::vector<int> ranks;
    for (std::size_t parameter = 0; parameter < replicas.parameters; ++parameter) {
      const analysis::ReplicaCell& cell = replicas.cell(sample, parameter);
      compared += cell.unknown() ? 0 : 1;
      if (cell.differing > 0) {
        differing += 1;
        first = first.value_or(parameter);
        const auto outside = replicas.differingRanks(sample, parameter);
        ranks.insert(ranks.end(), outside.begin(), outside.end());
      }
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    const auto& known = source.survey.parameters;
    csv.number(step).number(compared).number(differing).text(rankCell(ranks));
    csv.text(!first                  ? std::string()
             : *first < known.size() ? known[*first].name
                                     : std::to_string(*first));
    const auto consensus =
        std::find_if(found.consensus.begin(), found.consensus.end(),
                     [&](const analysis::ConsensusSample& one) { return one.step == step; });
    if (consensus == found.consensus.end()) {
      csv.nothing().nothing();
    } else {
      csv.real(consensus->spread).real(found.consensusRelativeError);
    }
    csv.end();
  }
  return csv.rows();
}

base::Result<std::uint64_t> writeCalls(const TableSource& source, OutputFile& file) {
  Csv csv(file, {"group", "checks", "sequence", "step", "bucket", "operation", "bytes", "ranks",
                 "verdict", "odd_ranks", "explanation"});
  const analysis::RunData& data = *source.survey.data;
  const bool complete = analysis::recordedToItsEnd(source.survey.info);
  for (const auto& sequence : analysis::callSequences(data, complete)) {
    for (std::size_t row = 0; row < sequence.rows.size(); ++row) {
      const trace::SpanRow& call = sequence.anyCallAt(row);
      // A call is of several ranks, and one rank's span stands for it: in a stretch of time its
      // iteration decides, or ranks that came later would be cut off it.
      if (!source.survey.selection.ticks ? !source.survey.holds(call) : !source.holds(call.step)) {
        continue;
      }
      if (!source.goesOn(csv)) {
        return interrupted();
      }
      std::vector<int> present;
      for (std::size_t column = 0; column < sequence.ranks.size(); ++column) {
        if (sequence.callAt(row, column) != nullptr) {
          present.push_back(sequence.ranks[column]);
        }
      }
      const analysis::CallMismatch mismatch = sequence.rows[row].mismatch;
      const bool differs = analysis::differs(mismatch);
      csv.number(static_cast<int>(sequence.group)).flag(sequence.checks);
      csv.number(sequence.rows[row].sequence).number(call.step).bucket(call.bucket);
      csv.text(trace::name(trace::operationOf(call.detail)));
      csv.number(trace::collectiveBytes(call.value)).text(rankCell(present));
      csv.text(analysis::name(mismatch));
      csv.text(differs ? rankCell(analysis::oddRanks(sequence, row)) : std::string());
      csv.text(differs ? analysis::describe(sequence, row) : std::string()).end();
    }
  }
  return csv.rows();
}

}  // namespace lockstep::exports
