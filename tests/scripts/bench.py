"""The arithmetic of the benchmarks, their table, and what tests/bench/run says to wrong words.

Usage: bench.py SOURCE_FOLDER
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "tests/bench"))

import figures  # noqa: E402  (its folder is known only now)
import causes  # noqa: E402
import forecasts  # noqa: E402
import replay  # noqa: E402
import simulate  # noqa: E402
import steps  # noqa: E402
import table  # noqa: E402
import tune  # noqa: E402
from contestants import Contestant, alternate  # noqa: E402

MACHINE = {"processor": "a processor", "cores": 2, "memory_gb": 8, "kernel": "6.1", "load": 0.1,
           "build": "Release", "commit": "abc", "libtorch": "1.13", "gloo": "0.1",
           "pytorch": "1.13", "openmpi": "4.1"}


def forecast_row(own, low, value, high, measured, of="a model quarter"):
    said = "less" if high < own else "more" if low > own else "unknown"
    return {"of": of, "round": 0, "rank": 0, "figure": "exposed", "own_ms": own,
            "own_step_ms": 100.0, "forecast_ms": value, "low_ms": low, "high_ms": high,
            "said": said, "measured_ms": measured}


class Forecasts(unittest.TestCase):
    def asked(self, rows):
        result = forecasts.report(rows, [])
        return {one["what"]: one["value"] for one in result["asked"]}, result

    def test_a_direction_counts_where_one_was_said(self):
        found, result = self.asked([forecast_row(20.0, 8.0, 10.0, 12.0, 11.0),
                                    forecast_row(20.0, 8.0, 10.0, 12.0, 20.5),
                                    forecast_row(11.0, 8.0, 10.0, 12.0, 14.0)])
        self.assertEqual(found["forecasts of the wrong direction"], 1)
        self.assertTrue(any("1 directions right, 1 wrong, 1 left open, where it changed by 3.0 %"
                            in line for line in result["lines"]))

    def test_errors_and_intervals_are_of_other_settings_than_those_of_the_run(self):
        found, result = self.asked([forecast_row(20.0, 8.0, 11.0, 12.0, 10.0),
                                    forecast_row(20.0, 18.0, 20.0, 22.0, 25.0, "a model again")])
        self.assertAlmostEqual(found["median error of exposed time"], 10)
        self.assertEqual(found["intervals of exposed time with what was measured"], 100)
        self.assertTrue(any("two runs of the same settings differ by 25.0 %" in line
                            and "0 % of their intervals" in line for line in result["lines"]))

    def test_a_run_of_the_same_settings_is_asked_for_by_itself(self):
        again = forecast_row(20.0, 18.0, 20.0, 22.0, 20.2, "a model again") | {"figure": "step"}
        found, _ = self.asked([forecast_row(20.0, 8.0, 11.0, 12.0, 10.0) | {"figure": "step"}, again])
        self.assertAlmostEqual(found["median error of step time"], 10)
        self.assertAlmostEqual(found["median error of step time, same settings"], 100 * 0.2 / 20.2)
        self.assertEqual(found["intervals of step time with what was measured, same settings"], 100)

    def test_an_interval_may_not_be_wider_than_what_it_is_of(self):
        found, _ = self.asked([forecast_row(20.0, 1.0, 10.0, 19.0, 10.0),
                               forecast_row(0.2, 0.0, 0.1, 0.5, 0.1)])
        self.assertEqual(found["intervals that say nothing"], 1)

    def test_without_forecasts_nothing_is_known(self):
        found, _ = self.asked([])
        self.assertIsNone(found["median error of step time"])


class KeptRuns(unittest.TestCase):
    """With a lockstep of sh, which carries no link of 10 Gbit/s."""
    LOCKSTEP = """#!/bin/sh
case $1 in
  export) printf 'step,rank,exposed_ms,step_ms\\n1,0,9,9\\n2,0,4,20\\n3,0,6,22\\n' ;;
  run)
    echo run >> "$(dirname "$0")/runs"
    if grep -q "bandwidth_gbps = 10" "$2"; then
      echo "lockstep: link.bandwidth_gbps: a link of 10 Gbit/s is more than half of the 15.4" >&2
      exit 2
    fi
    touch "$4" ;;
esac
"""
    MODEL = ("a", "a.json", 1, {"bandwidth_gbps": 5, "latency_us": 50})

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bin = pathlib.Path(folder.name)
        lockstep = self.bin / "lockstep"
        lockstep.write_text(self.LOCKSTEP)
        lockstep.chmod(0o755)
        always = unittest.mock.patch.object(forecasts, "OTHERS_MAY_WORK", 1e9)  # nothing is busy
        always.start()
        self.addCleanup(always.stop)

    def bench(self):
        options = types.SimpleNamespace(bin=self.bin, keep=self.bin / "kept")
        with forecasts.folder_of(options) as folder:
            return forecasts.Workbench(options, folder)

    def runs(self):
        return len((self.bin / "runs").read_text().split())

    def test_a_run_that_was_kept_is_taken_as_long_as_its_settings_are_the_same(self):
        link = self.MODEL[3]
        first = self.bench().run("a", "a.json", link, {})
        self.assertEqual(first[1], {0: (5.0, 21.0)})
        self.assertEqual(self.bench().run("a", "a.json", link, {}), first)
        self.assertEqual(self.runs(), 1)
        self.bench().run("a", "a.json", link | {"latency_us": 60}, {})
        self.assertEqual(self.runs(), 2)

    def test_a_link_that_the_machine_does_not_carry_is_skipped_with_a_line(self):
        bench = self.bench()
        told = [{"rank": 0, **{figure + "_ms": {"value": 5, "low": 4, "high": 6,
                                                "change": "unknown"}
                               for figure in forecasts.FIGURES}}]
        one = forecasts.Round(bench, self.MODEL, 0)
        one.hold("link double", told, link={"bandwidth_gbps": 10})
        one.hold("link half", told, link={"bandwidth_gbps": 2.5})
        self.assertEqual({row["of"] for row in one.rows}, {"a link half"})
        lines = forecasts.report(one.rows, bench.refusals, skipped=bench.skipped)["lines"]
        self.assertTrue(any(line.startswith("a link double skipped: lockstep: link.") and
                            "more than half of the 15.4" in line for line in lines), lines)

    def test_a_model_on_such_a_link_is_skipped(self):
        bench = self.bench()
        fast = (*self.MODEL[:3], {"bandwidth_gbps": 10, "latency_us": 50})
        self.assertEqual(forecasts.one_round(bench, fast, 0, ["buckets"]), [])
        self.assertEqual(len(bench.skipped), 1)


class Simulations(unittest.TestCase):
    @staticmethod
    def row(figure, low, value, high, measured):
        return {"of": "both", "round": 0, "recorded": 2, "ranks": 8, "figure": figure,
                "forecast_ms": value, "low_ms": low, "high_ms": high, "bound_by": "latency",
                "measured_ms": measured}

    def test_errors_and_intervals_are_asked_of_steps(self):
        result = simulate.report([self.row("step", 80.0, 110.0, 120.0, 100.0),
                                  self.row("exposed", 10.0, 20.0, 30.0, 50.0)], [])
        found = {one["what"]: one["value"] for one in result["asked"]}
        self.assertAlmostEqual(found["median error of step time"], 10)
        self.assertEqual(found["intervals of step time with what was measured"], 100)
        self.assertTrue(any("exposed time: off by 60.0 %" in line for line in result["lines"]))
        self.assertTrue(any("error  60.0 %, by latency OUTSIDE" in line for line in result["lines"]))

    def test_without_simulations_nothing_is_known(self):
        self.assertIsNone(simulate.report([], [])["asked"][0]["value"])


class Tunes(unittest.TestCase):
    CAPS = {"cap 1": [10.0, 10.2, 9.9], "cap 2": [11.0, 11.1, 11.2], "cap 4": [12.0, 12.1, 12.2]}

    def asked(self, *of_tuner):
        rows = [{"model": "a", "own": "cap 2",
                 "step_ms": {**self.CAPS, **({tune.TUNER: times} if times else {})}}
                for times in of_tuner]
        slower, faster, _ = tune.report(rows)["asked"]
        return [slower["value"], faster["value"]]

    def test_faster_is_by_5_percent_and_slower_is_beyond_noise(self):
        faster, level, slower = [9.0, 9.1, 9.0], [10.1, 10.0, 10.0], [11.0, 11.2, 11.1]
        self.assertEqual(self.asked(faster, faster, level, level, slower), [1, 2])

    def test_without_advice_the_run_stays_as_it_was(self):
        self.assertEqual(self.asked(None)[0], 1)

    def test_of_some_of_the_models_nobody_asks_how_many_are_faster(self):
        self.assertEqual(self.asked([9.0, 9.1, 9.0]), [0, None])

    def test_without_a_hook_it_is_asked_for_no_more_than_not_to_be_slower(self):
        times = {**self.CAPS, tune.TUNER: [9.0, 9.1, 9.0]}
        level, slower = {tune.HOOKLESS: [10.1, 10.0, 10.0]}, {tune.HOOKLESS: [11.0, 11.2, 11.1]}
        for of, expected in ((level, 0), (slower, 1)):
            asked = tune.report([{"model": "a", "own": "cap 2", "step_ms": times | of}])["asked"]
            self.assertEqual(asked[-1]["value"], expected)

    def test_a_cap_that_was_given_up_is_not_the_best(self):
        self.assertEqual(tune.best_cap({"cap 1": [10.0, 10.2], "cap 2": [9.9]}), "cap 1")

    def test_the_tuner_chooses_what_was_faster_beyond_noise_in_its_own_runs(self):
        told = {"measured": {"settings": [
            {"keys": [], "step_ms": [1]},
            {"keys": ["ddp.bucket_cap_mb = 2"], "ratio": {"value": 0.95, "high": 0.97}},
            {"keys": ["hook.name = \"fp16\""], "ratio": {"value": 0.8, "high": 0.9}},
            {"keys": ["link.in_flight = 2"], "ratio": {"value": 0.7, "high": 1.1}}]}}
        self.assertEqual(tune.chosen(told), ["hook.name = \"fp16\""])
        self.assertEqual(tune.chosen(told, may_use_hook=False), ["ddp.bucket_cap_mb = 2"])
        self.assertEqual(tune.chosen({}), [])
        self.assertEqual(tune.settings_of(tune.chosen(told))["hook"], {"name": "fp16"})

    def test_the_runs_own_cap_is_one_of_the_fixed_ones_and_has_one_row(self):
        self.assertTrue(all(model[2] in tune.CAPS for model in tune.MODELS))
        self.assertEqual(tune.of_cap(0.25)[1]["ddp"],
                         {"bucket_cap_mb": 0.25, "first_bucket_mb": 0.25})

    def test_there_are_12_caps_and_5_models_one_with_a_late_half(self):
        self.assertEqual((len(tune.CAPS), len(tune.MODELS)), (12, 5))
        first, *rest = json.loads(tune.late_embedding())["layers"]
        numel = [one["shape"][0] * one["shape"][1] for one in (first, *rest)]
        self.assertEqual(2 * numel[0], sum(numel))


class Causes(unittest.TestCase):
    FINDING = {"rule": "late_rank", "place": {"rank": 1, "phase": "data"}, "settings": {},
               "remedy": "Make it faster."}

    def test_a_cause_is_named_with_its_place_and_a_remedy(self):
        self.assertTrue(causes.holds(self.FINDING, "late_rank", {"rank": 1}, None))
        self.assertFalse(causes.holds(self.FINDING, "late_rank", {"rank": 0}, None))
        self.assertFalse(causes.holds(self.FINDING | {"remedy": ""}, "late_rank", {}, None))
        self.assertFalse(causes.holds(self.FINDING, "late_rank", {}, "ddp.bucket_cap_mb"))

    def test_there_are_at_least_24_and_a_twelfth_of_them_may_be_missed(self):
        self.assertGreaterEqual(len(causes.CAUSES), 24)


class Replays(unittest.TestCase):
    def test_what_one_rank_misses_the_other_does_not_make_good(self):
        self.assertAlmostEqual(replay.error_percent(
            [{"measured_step_ms": 10.0, "replayed_step_ms": 9.0},
             {"measured_step_ms": 10.0, "replayed_step_ms": 11.0}]), 10)


class Arithmetic(unittest.TestCase):
    def test_an_interval_holds_the_median_and_leaves_the_outliers_out(self):
        low, high = figures.interval([10.0] * 18 + [1.0, 1000.0])
        self.assertEqual((low, high), (10.0, 10.0))

    def test_an_interval_is_as_wide_as_the_values_differ(self):
        low, high = figures.interval([float(n) for n in range(1, 42)])
        self.assertLess(low, 21)
        self.assertGreater(high, 21)
        self.assertGreater(low, 10)  # the standard error of this median is about 2.3
        self.assertLess(high, 32)

    def test_a_ratio_is_taken_round_by_round(self):
        # The machine was three times slower in the second round, for both.
        result = figures.paired("x", [1.0, 3.0, 1.0], [2.0, 6.0, 2.0])
        self.assertEqual((result["ratio"], result["interval"]), (2.0, [2.0, 2.0]))

    def test_the_gap_closed_is_the_way_from_the_peer_to_the_bound(self):
        self.assertEqual(figures.gap_closed([50.0], [80.0], [40.0]), 0.75)
        self.assertEqual(figures.gap_closed([80.0], [80.0], [40.0]), 0)
        self.assertEqual(figures.gap_closed([100.0], [80.0], [40.0]), -0.5)

    def test_a_gap_that_is_not_there_is_unknown(self):
        self.assertIsNone(figures.gap_closed([50.0], [40.0], [40.0]))
        self.assertEqual(figures.gap([50.0] * 9, [40.0] * 9, [45.0] * 9), (None, None))

    def test_a_gap_has_an_interval_over_the_rounds(self):
        closed, spread = figures.gap([50.0, 52.0, 48.0] * 5, [80.0] * 15, [40.0] * 15)
        self.assertEqual(closed, 0.75)
        self.assertGreaterEqual(spread[0], 0.70)
        self.assertLessEqual(spread[1], 0.80)

    def test_bandwidths_are_those_of_nccl_tests(self):
        # 100 MB in 10 ms are 10 GB/s; of four ranks' links each carries 2 * 3/4 of it.
        self.assertAlmostEqual(figures.algbw(100e6, 10), 10)
        self.assertAlmostEqual(figures.busbw(100e6, 10, 2), 10)
        self.assertAlmostEqual(figures.busbw(100e6, 10, 4), 15)

    def test_a_turn_is_as_long_as_its_slowest_rank(self):
        answers = [{"step_ms": [10, 30, 20]}, {"step_ms": [20, 10, 25]}]
        self.assertEqual(figures.median_step(answers), 25)  # of 20, 30, 25
        self.assertEqual(figures.mean_step(answers), 20)  # of 20 and 18.3
        self.assertEqual(figures.mean_call([{"calls": 4, "total_ms": 8},
                                            {"calls": 4, "total_ms": 6}]), 2)

    def test_what_is_asked_is_met_missed_or_unknown(self):
        result = {}
        figures.ask(result, "speed-up", 1.6, "", 1.5, least=True)
        figures.ask(result, "memory", 1.1, "", 1.0)
        figures.ask(result, "gap", None, "%", 60, least=True)
        self.assertEqual([asked["met"] for asked in result["asked"]], [True, False, None])
        self.assertEqual(len(result["missed"]), 1)
        self.assertIn("MISSED", result["lines"][1])
        self.assertIn("unknown", result["lines"][2])

    def test_in_turns_every_side_has_its_share_of_every_place(self):
        seen = []
        values = alternate(["a", "b", "c"], 4, lambda side: seen.append(side) or len(seen))
        rounds = [seen[at:at + 3] for at in range(0, 12, 3)]
        self.assertTrue(all(sorted(one) == ["a", "b", "c"] for one in rounds))
        self.assertEqual(rounds[1], rounds[0][::-1])
        self.assertEqual({side: len(times) for side, times in values.items()},
                         {"a": 4, "b": 4, "c": 4})


class Steps(unittest.TestCase):
    def test_each_side_has_its_faster_setting_but_what_is_asked_is_of_pytorch_as_it_comes(self):
        medians = {steps.OURS_ALONE: 40.0, "Lockstep shared_memory": 60.0,
                   "Lockstep shared_memory, view": 50.0, steps.PEER_ALONE: 41.0,
                   steps.PEER_DDP: 80.0, steps.PEER_DDP + steps.VIEW: 70.0}
        times = {side: [median] * 5 for side, median in medians.items()}
        result, = steps.step_results("ddp_step.mlp.2", "mlp", 2, times, "shared_memory")
        self.assertEqual((result["ours"], result["peer"], result["bound"]), (50.0, 70.0, 40.0))
        self.assertAlmostEqual(result["gap_closed"], 2 / 3)
        faster, gap = result["asked"]
        self.assertIn("as it comes", faster["what"])
        self.assertEqual((faster["value"], faster["met"]), (1.6, True))
        self.assertEqual(gap["met"], False)


class Ranks(unittest.TestCase):
    ECHO = ("import json, os, sys\n"
            "print(json.dumps({'ready': True}), flush=True)\n"
            "for line in sys.stdin:\n"
            "    print(json.dumps([os.environ['RANK'], *line.split()]), flush=True)\n")

    def test_every_rank_takes_its_turn(self):
        with Contestant("echo", [sys.executable, "-c", self.ECHO], ranks=3) as echo:
            self.assertEqual(echo.turn(4, "view"),
                             [[str(rank), "go", "4", "view"] for rank in range(3)])
        self.assertEqual([process.returncode for process in echo.ranks], [0, 0, 0])

    def test_a_rank_that_ends_is_named(self):
        script = ("import os, sys, time\n"
                  "print('{}', flush=True)\n"
                  "sys.stdin.readline()\n"
                  "sys.exit(7) if os.environ['RANK'] == '1' else time.sleep(60)\n")
        broken = Contestant("broken", [sys.executable, "-c", script], ranks=3)
        with self.assertRaises(SystemExit) as ended:
            broken.turn(1)
        self.assertEqual(str(ended.exception), "bench: broken: rank 1 ended with code 7")
        self.assertEqual(broken.ranks[0].returncode, -signal.SIGTERM)


class Table(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        times = {"ours": [50.0] * 5, "peer": [80.0] * 5, "alone": [40.0] * 5}
        result = figures.compared("step", "a step", times, "ours", "peer", "alone")
        result |= {"gap_closed": 0.75, "gap_interval": [0.7, 0.8]}
        figures.ask(result, "times faster", result["ratio"], "", 1.5, least=True)
        self.results = {"machine": MACHINE, "benchmarks": [
            result, {"name": "lines only", "ours": None, "lines": ["one"]}]}

    def test_a_row_has_the_figures_of_a_benchmark(self):
        rows = [line for line in table.markdown(self.results).splitlines()
                if line.startswith("| a step")]
        self.assertEqual(rows, ["| a step | 50.00 ms (ours) | 80.00 ms (peer) | 40.00 ms | "
                                "1.60 [1.60, 1.60] | 75 % of the gap closed [70, 80]; times faster "
                                "≥ 1.5: 1.600, met |"])

    def test_small_and_large_figures_are_readable(self):
        self.assertEqual(table.amount(0.0075, "ms"), "7.50 µs")
        self.assertEqual(table.amount(1234.5, "ms"), "1,234 ms")
        self.assertEqual(table.amount(0, "MB"), "0 MB")
        self.assertEqual(table.amount(None, "ms"), "–")

    def test_a_readme_keeps_what_stands_around_its_figures(self):
        readme = self.folder / "README.md"
        readme.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
        for _ in range(2):
            self.assertIsNone(table.write(self.results, readme))
        text = readme.read_text()
        self.assertTrue(text.startswith(f"before\n{table.BEGIN}\na processor"))
        self.assertTrue(text.endswith(f"|\n{table.END}\nafter\n"))
        self.assertNotIn("old", text)
        self.assertEqual(text.count("| a step |"), 1)

    def test_half_a_pair_of_marks_is_refused(self):
        readme = self.folder / "README.md"
        readme.write_text(f"before\n{table.BEGIN}\n")
        self.assertIn("not both", table.write(self.results, readme))
        self.assertEqual(readme.read_text(), f"before\n{table.BEGIN}\n")


class Words(unittest.TestCase):
    def bench(self, *words):
        ended = subprocess.run([str(ROOT / "tests/bench/run"), *words], capture_output=True,
                               text=True, timeout=60, check=False)
        return ended.returncode, ended.stdout, ended.stderr.splitlines()

    def refused(self, *words):
        """The one line that is said before anything is built or run."""
        code, out, lines = self.bench(*words)
        self.assertEqual((code, out, len(lines)), (1, "", 1), lines)
        self.assertTrue(lines[0].startswith("bench: "), lines)
        return lines[0]

    def test_an_unknown_benchmark_is_named_with_those_that_there_are(self):
        line = self.refused("ddp_stop")
        self.assertIn("no benchmark named ddp_stop; there are ddp_step.mlp.2, ", line)

    def test_wrong_words_are_refused(self):
        self.assertIn("--rounds", self.refused("recorder", "--rounds", "0"))
        self.assertIn("--steps", self.refused("recorder", "--steps", "many"))
        self.assertIn("--fast", self.refused("recorder", "--fast"))

    def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(self):
        self.assertIn("cannot be written", self.refused("recorder", "--json", "/nowhere/x.json"))
        self.assertIn("cannot be written", self.refused("recorder", "--table", "/"))

    def test_earlier_results_become_a_table_and_nothing_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            earlier, text = os.path.join(folder, "x.json"), os.path.join(folder, "x.md")
            result = figures.compared("step", "a step", {"a": [1.0] * 3, "b": [2.0] * 3}, "a", "b")
            with open(earlier, "w", encoding="utf-8") as file:
                json.dump({"machine": MACHINE, "benchmarks": [result]}, file)
            program = [sys.executable, "-B", str(ROOT / "tests/bench/bench.py")]
            ended = subprocess.run([*program, "--from", earlier, "--table", text],
                                   capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((ended.returncode, ended.stderr), (0, ""))
            self.assertIn("| a step |", pathlib.Path(text).read_text())
            with open(earlier, "w", encoding="utf-8") as file:
                file.write("[]")
            ended = subprocess.run([*program, "--from", earlier], capture_output=True, text=True,
                                   timeout=60, check=False)
            self.assertEqual((ended.returncode, ended.stderr.count("\n")), (1, 1), ended.stderr)
            self.assertIn("has no results", ended.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
