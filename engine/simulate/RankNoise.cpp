#include "engine/simulate/RankNoise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace lockstep::simulate {
namespace {

double meanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(std::max<std::size_t>(values.size(), 1));
}

double squaresOf(const std::vector<double>& values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

/// The correlation between ranks over steps; 0 where chance alone may make as much. `apart`: each
/// rank's values less their mean.
double correlationOf(const OwnWork& apart) {
  const auto ranks = static_cast<double>(apart.size());
  const auto steps = static_cast<double>(apart.front().size());
  double squares = 0;
  double together = 0;  // of the sums over the ranks
  for (std::size_t t = 0; t < apart.front().size(); ++t) {
    double sum = 0;
    for (const std::vector<double>& rank : apart) {
      sum += rank[t];
      squares += rank[t] * rank[t];
    }
    together += sum * sum;
  }
  if (!(squares > 0) || ranks < 2) {
    return 0;
  }
  // The square of a sum is the squares and, in pairs, the products.
  const double correlation = (together - squares) / ((ranks - 1) * squares);
  const double pairs = ranks * (ranks - 1) / 2;
  const double byChance = 2 / std::sqrt(steps * pairs);
  return correlation > byChance ? std::min(correlation, 0.99) : 0;
}

/// The variance of a mean over all steps, from how the means of blocks of them differ: slow moments
/// come together, and then a mean is less sure than independent steps would make it.
double varianceOfMean(const OwnWork& apart) {
  const std::size_t steps = apart.front().size();
  const auto length = std::max<std::size_t>(1, static_cast<std::size_t>(std::sqrt(steps)));
  const std::size_t blocks = steps / length;
  std::vector<double> means;
  for (const std::vector<double>& rank : apart) {
    for (std::size_t block = 0; block < blocks; ++block) {
      const auto begin = rank.begin() + static_cast<std::ptrdiff_t>(block * length);
      means.push_back(std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(length), 0.0) /
                      static_cast<double>(length));
    }
  }
  // Each rank's blocks are around its own mean, which takes one of them.
  const auto free = static_cast<double>(apart.size() * std::max<std::size_t>(blocks - 1, 1));
  return squaresOf(means) / free / static_cast<double>(blocks);
}

/// The standard deviation that is left of a variance of `freedom` degrees of freedom beside one
/// that chance alone makes; 0 where chance may make as much (its mean and two standard deviations):
/// a spread that is none would make the slowest of thousands slow.
double spreadBeyond(double byChance, double variance, double freedom) {
  return variance > byChance * (1 + 2 * std::sqrt(2 / freedom)) ? std::sqrt(variance - byChance)
                                                                : 0;
}

/// Splits the variance of the ranks' effects into that of hosts and that of ranks, each less what
/// chance makes; `noise`: the variance of each effect as a mean.
void splitSpread(const std::vector<double>& effects, const std::vector<int>& hosts, double noise,
                 RankNoise& fitted) {
  const auto ranks = static_cast<double>(effects.size());
  std::map<int, std::vector<double>> byHost;
  for (std::size_t r = 0; r < effects.size(); ++r) {
    byHost[hosts.empty() ? 0 : hosts[r]].push_back(effects[r]);
  }
  const auto count = static_cast<double>(byHost.size());
  std::vector<double> hostMeans;
  double within = 0;
  for (const auto& [host, ofHost] : byHost) {
    const double mean = meanOf(ofHost);
    hostMeans.push_back(mean);
    for (const double effect : ofHost) {
      within += (effect - mean) * (effect - mean);
    }
  }
  if (byHost.size() > 1 && byHost.size() < effects.size()) {
    const double ofRank = within / (ranks - count);
    const double all = meanOf(hostMeans);
    double between = 0;
    for (const double mean : hostMeans) {
      between += (mean - all) * (mean - all) / (count - 1);
    }
    fitted.rankSpreadNs = spreadBeyond(noise, ofRank, ranks - count);
    fitted.hostSpreadNs = spreadBeyond(ofRank * count / ranks, between, count - 1);
  } else if (effects.size() > 1) {
    const double mean = meanOf(effects);
    const double squares = squaresOf(effects) - ranks * mean * mean;
    fitted.rankSpreadNs = spreadBeyond(noise, squares / (ranks - 1), ranks - 1);
  }
}

}  // namespace

RankNoise fitNoise(const OwnWork& work, const std::vector<std::size_t>& steps,
                   const std::vector<int>& hosts, const std::vector<std::size_t>& ranks) {
  RankNoise fitted;
  fitted.steps = steps;
  OwnWork apart;
  for (const std::vector<double>& ofRank : work) {
    std::vector<double>& own = apart.emplace_back();
    for (const std::size_t step : steps) {
      own.push_back(ofRank[step]);
    }
    const double mean = meanOf(own);
    for (double& value : own) {
      value -= mean;
    }
    fitted.effectNs.push_back(mean);
  }
  fitted.meanNs = meanOf(fitted.effectNs);
  for (double& effect : fitted.effectNs) {
    effect -= fitted.meanNs;
  }
  const double correlation = correlationOf(apart);
  const auto count = static_cast<double>(work.size());
  const double shrunk = count * correlation / (1 + (count - 1) * correlation);
  double total = 0;
  double left = 0;
  fitted.residualNs = apart;
  for (std::size_t t = 0; t < steps.size(); ++t) {
    double sum = 0;
    for (const std::vector<double>& rank : apart) {
      sum += rank[t];
    }
    fitted.commonNs.push_back(shrunk * sum / count);
    for (std::vector<double>& rank : fitted.residualNs) {
      total += rank[t] * rank[t];
      rank[t] -= fitted.commonNs.back();
      left += rank[t] * rank[t];
    }
  }
  const double wider = left > 0 ? std::sqrt((1 - correlation) * total / left) : 1;
  std::vector<double> pooled;
  for (std::vector<double>& rank : fitted.residualNs) {
    for (double& residual : rank) {
      residual *= wider;
      pooled.push_back(residual);
    }
  }
  fitted.tail = ParetoTail::fit(std::move(pooled));
  std::vector<double> effects;
  std::vector<int> ofHosts;
  for (const std::size_t rank : ranks) {
    effects.push_back(fitted.effectNs[rank]);
    if (!hosts.empty()) {
      ofHosts.push_back(hosts[rank]);
    }
  }
  splitSpread(effects, ofHosts, varianceOfMean(fitted.residualNs), fitted);
  return fitted;
}

}  // namespace lockstep::simulate
