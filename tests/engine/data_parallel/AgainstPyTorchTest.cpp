#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>

#include "engine/data_parallel/DataParallel.h"
#include "tests/engine/data_parallel/TestModels.h"

namespace lockstep::data_parallel {
namespace {

using nlohmann::json;

// Each case is run by torch.nn.DataParallel in pytorch_data_parallel.py and here, from the same
// numbers.

at::Tensor wave(at::IntArrayRef shape, double offset) {
  const auto count =
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<std::int64_t>());
  return (at::arange(count, at::kDouble) * 0.37 + offset).sin().to(at::kFloat).view(shape);
}

struct Mlp : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) { return second(first(x).tanh()); }
  torch::nn::Linear first = register_module("first", torch::nn::Linear(6, 8));
  torch::nn::Linear second = register_module("second", torch::nn::Linear(8, 3));
};

struct OneOfTwo : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) { return used(x); }
  torch::nn::Linear used = register_module("used", torch::nn::Linear(4, 2));
  torch::nn::Linear unused = register_module("unused", torch::nn::Linear(4, 2));
};

struct Scalar : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) { return at::softplus(fc(x)).mean(); }
  torch::nn::Linear fc = register_module("fc", torch::nn::Linear(4, 2));
};

struct Named : torch::nn::Module {
  using Pair = std::pair<at::Tensor, at::Tensor>;
  std::map<std::string, at::Tensor> forward(const Pair& pair,
                                            const std::map<std::string, at::Tensor>& tensors,
                                            const std::map<std::string, double>& values) {
    return {{"sum", fc(pair.first) + pair.second * values.at("scale")},
            {"masked", fc(pair.first) * tensors.at("mask")}};
  }
  torch::nn::Linear fc = register_module("fc", torch::nn::Linear(4, 2));
};

json flat(const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().to(at::kDouble).flatten().contiguous();
  return std::vector<double>(values.data_ptr<double>(), values.data_ptr<double>() + values.numel());
}

template <typename M>
json runCase(int devices, std::int64_t batch) {
  const auto model = std::make_shared<M>();
  {
    torch::NoGradGuard noGrad;
    double index = 0;
    for (auto& parameter : model->parameters()) {
      parameter.copy_(wave(parameter.sizes(), index++));
    }
  }
  DataParallelOptions options;
  options.devices = virtualDevices(devices);
  options.makeReplica = [] { return std::make_shared<M>(); };
  DataParallel parallel(model, options);
  std::vector<at::Tensor> outputs;
  if constexpr (std::is_same_v<M, Named>) {
    const auto output =
        parallel.forward<M>(Named::Pair(wave({batch, 4}, 0.1), wave({batch, 2}, 0.2)),
                            std::map<std::string, at::Tensor>{{"mask", wave({batch, 1}, 0.3)}},
                            std::map<std::string, double>{{"scale", 0.5}});
    for (const auto& item : output) {
      outputs.push_back(item.second);
    }
  } else {
    outputs.push_back(parallel.forward<M>(wave({batch, std::is_same_v<M, Mlp> ? 6 : 4}, 0.1)));
  }
  at::Tensor loss = at::zeros({});
  json result;
  for (const at::Tensor& output : outputs) {
    loss = loss + output.pow(2).sum();
    result["outputs"].push_back(flat(output));
  }
  loss.backward();
  for (const auto& item : model->named_parameters()) {
    result["gradients"][item.key()] = flat(item.value().grad());
  }
  result["buffers"] = json::object();
  for (const auto& item : model->named_buffers()) {
    result["buffers"][item.key()] = flat(item.value());
  }
  return result;
}

json runCase(const json& wanted) {
  const int devices = wanted.at("devices");
  const std::int64_t batch = wanted.at("batch");
  const std::string model = wanted.at("model");
  if (model == "Mlp") {
    return runCase<Mlp>(devices, batch);
  }
  if (model == "OneOfTwo") {
    return runCase<OneOfTwo>(devices, batch);
  }
  if (model == "Scalar") {
    return runCase<Scalar>(devices, batch);
  }
  if (model == "Named") {
    return runCase<Named>(devices, batch);
  }
  return runCase<test::NormNet>(devices, batch);
}

void expectNear(const json& mine, const json& wanted, const std::string& what) {
  ASSERT_EQ(mine.size(), wanted.size()) << what;
  for (const auto& [key, value] : wanted.items()) {
    const json& other = mine.is_array() ? mine.at(std::stoul(key)) : mine.at(key);
    if (value.is_number()) {
      const double number = value;
      EXPECT_NEAR(other.get<double>(), number, 1e-5 * std::max(1.0, std::abs(number)))
          << what << " " << key;
    } else {
      expectNear(other, value, what + " " + key);
    }
  }
}

std::string outputOf(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  char piece[4096];
  while (const std::size_t count = std::fread(piece, 1, sizeof piece, pipe)) {
    text.append(piece, count);
  }
  EXPECT_EQ(pclose(pipe), 0) << command;
  return text;
}

TEST(AgainstPyTorch, OutputsGradientsAndBuffersEqualThoseOfTorchNnDataParallel) {
  const char* source = std::getenv("LOCKSTEP_SOURCE");
  ASSERT_NE(source, nullptr) << "LOCKSTEP_SOURCE must name the repository's root";
  const json cases =
      json::parse(outputOf(LOCKSTEP_PYTORCH " -W ignore '" + std::string(source) +
                           "/tests/engine/data_parallel/pytorch_data_parallel.py'"));
  ASSERT_GE(cases.size(), 70u);
  for (const json& wanted : cases) {
    const json mine = runCase(wanted);
    const std::string what = wanted.at("model").get<std::string>() + " on " +
                             wanted.at("devices").dump() + " devices, batch " +
                             wanted.at("batch").dump();
    for (const char* part : {"outputs", "gradients", "buffers"}) {
      expectNear(mine.at(part), wanted.at(part), what + ", " + part);
    }
  }
}

}  // namespace
}  // namespace lockstep::data_parallel
