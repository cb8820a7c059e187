#include "ui/model/CounterFacts.h"

#include <gtest/gtest.h>

#include <limits>

#include "engine/trace/EventRecord.h"

namespace lockstep::ui {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

TEST(CounterFacts, EveryCounterOfTheRecorderHasATitleAUnitAndAMeaning) {
  for (int id = 0; trace::name(static_cast<trace::CounterId>(id)) != "unknown"; ++id) {
    const std::string name(trace::name(static_cast<trace::CounterId>(id)));
    const CounterFacts facts = counterFacts(name);
    EXPECT_NE(facts.unit, CounterUnit::kNumber) << name;
    EXPECT_NE(facts.title.toStdString(), name);
    EXPECT_TRUE(facts.meaning.endsWith(QLatin1Char('.'))) << name;
    EXPECT_TRUE(isPlotted(name)) << name;
  }
}

TEST(CounterFacts, ACounterOfAHookHasItsOwnName) {
  const CounterFacts facts = counterFacts("hook.kept");
  EXPECT_EQ(facts.title, "kept");
  EXPECT_EQ(facts.group, CounterGroup::kHook);
  EXPECT_EQ(counterFacts("something_else").title, "something_else");
}

TEST(CounterFacts, ResultsOfAWholeRunAreNotPlotted) {
  EXPECT_FALSE(isPlotted("final_loss"));
  EXPECT_FALSE(isPlotted("test_accuracy"));
  EXPECT_TRUE(isPlotted("hook.kept"));
}

TEST(CounterFacts, AreListedByWhatTheyAreAboutAndThenByWeight) {
  EXPECT_EQ(inListedOrder({"zeta", "hook.kept", "cpu_percent", "loss", "resident_bytes",
                           "forward_compute_time", "sent_bytes_per_second"}),
            (std::vector<std::string>{"resident_bytes", "cpu_percent", "sent_bytes_per_second",
                                      "loss", "hook.kept", "forward_compute_time", "zeta"}));
}

TEST(CounterFacts, WritesValuesInTheirUnits) {
  EXPECT_EQ(counterText(CounterUnit::kBytes, 0), "0 B");
  EXPECT_EQ(counterText(CounterUnit::kBytes, 201.4 * kMiB), "201 MiB");
  EXPECT_EQ(counterText(CounterUnit::kBytes, 1.5 * kMiB), "1.50 MiB");
  EXPECT_EQ(counterText(CounterUnit::kBytes, 1023.7 * kMiB), "1.00 GiB");
  EXPECT_EQ(counterText(CounterUnit::kPercent, 38.24), "38.2 %");
  EXPECT_EQ(counterText(CounterUnit::kPercent, 400), "400 %");
  EXPECT_EQ(counterText(CounterUnit::kPercent, 0.107), "0.11 %");
  EXPECT_EQ(counterText(CounterUnit::kBytesPerSecond, 43'241'872), "41.2 MiB/s");
  EXPECT_EQ(counterText(CounterUnit::kNanoseconds, 12'345'678), "12.3 ms");
  EXPECT_EQ(counterText(CounterUnit::kNumber, 618), "618");
  EXPECT_EQ(counterText(CounterUnit::kNumber, 0.01163), "0.0116");
  EXPECT_EQ(counterText(CounterUnit::kNumber, -1234567), "-1,234,567");
  EXPECT_EQ(counterText(CounterUnit::kNumber, 4321.6), "4,322");
  EXPECT_EQ(counterText(CounterUnit::kNumber, std::numeric_limits<double>::quiet_NaN()),
            "not finite");
}

TEST(CounterFacts, AnAxisHoldsZeroAndEndsAtRoundNumbersOfItsUnit) {
  EXPECT_EQ(counterScale(CounterUnit::kBytes, 27e6, 201 * kMiB), (CounterScale{0, 250 * kMiB}));
  EXPECT_EQ(counterScale(CounterUnit::kBytesPerSecond, 0, 7e6), (CounterScale{0, 8 * kMiB}));
  EXPECT_EQ(counterScale(CounterUnit::kPercent, 1.5, 68.8), (CounterScale{0, 80}));
  EXPECT_EQ(counterScale(CounterUnit::kPercent, 0, 100), (CounterScale{0, 100}));
  EXPECT_EQ(counterScale(CounterUnit::kNumber, -3.2, 0.4), (CounterScale{-4, 0.4}));
  EXPECT_EQ(counterScale(CounterUnit::kNumber, 0, 0), (CounterScale{0, 1}));
  EXPECT_EQ(counterScale(CounterUnit::kNumber, 618, 618), (CounterScale{0, 800}));
}

}  // namespace
}  // namespace lockstep::ui
