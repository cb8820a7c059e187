"""What experiments/papers says of made-up data: medians, the parts of rules, every figure's verdict.

Usage: paper_rules.py SOURCE_FOLDER
"""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "experiments/papers"))

from reproduction import averaging, compression, ddp_paper, topology, tuning  # noqa: E402
from reproduction.catalogue import FIGURES  # noqa: E402
from reproduction.measured import Measured, in_cycles, median, share_saved  # noqa: E402
from reproduction.points import Point, Points  # noqa: E402
from reproduction.verdicts import Claim, Verdict, falls, rises, sentence, valley  # noqa: E402


def around(value, spread=1.0):
    return Measured(value, value - spread, value + spread)


def curve(panel, series, values, spread=1.0):
    """A curve of {x: value}, each with the same spread."""
    return [Point(panel, series, float(x), around(value, spread), 2, "1 Gbit/s")
            for x, value in values.items()]


class Spread(unittest.TestCase):
    def test_a_median_has_an_interval_that_outliers_do_not_move(self):
        found = median([10.0] * 28 + [1.0, 500.0])
        self.assertEqual(found, Measured(10, 10, 10))
        found = median([float(n) for n in range(1, 102)])
        self.assertEqual(found.value, 51)
        self.assertTrue(40 <= found.low <= 42 and 60 <= found.high <= 62, found)

    def test_of_a_few_values_the_interval_is_all_of_them(self):
        self.assertEqual(median([3.0, 1.0, 2.0]), Measured(2, 1, 3))
        self.assertRaises(ValueError, median, [])

    def test_a_saved_part_is_as_wide_as_both_times_allow(self):
        saved = share_saved(around(100, 10), around(50, 5))
        self.assertEqual(saved.value, 0.5)
        self.assertAlmostEqual(saved.low, 1 - 55 / 90)
        self.assertAlmostEqual(saved.high, 1 - 45 / 110)

    def test_cycles_are_averaged_and_a_part_of_one_is_left_out(self):
        self.assertEqual(in_cycles([1, 3, 5, 7, 100], 2), [2, 6])


class Rules(unittest.TestCase):
    def test_a_curve_falls_beyond_its_spread_or_not_at_all(self):
        self.assertTrue(falls([(1, around(30)), (2, around(20)), (4, around(10))]))
        self.assertFalse(falls([(1, around(30, 20)), (2, around(20, 20)), (4, around(10, 20))]))
        self.assertFalse(falls([(1, around(30)), (2, around(40)), (4, around(10))]))
        self.assertTrue(rises([(1, around(10)), (2, around(10.5)), (4, around(30))]))

    def test_a_valley_has_two_sides(self):
        self.assertTrue(valley([(1, around(30)), (2, around(10)), (4, around(30))]).is_one)
        slope = valley([(1, around(30)), (2, around(20)), (4, around(10))])
        self.assertEqual((slope.x, slope.left, slope.right), (4, True, False))
        self.assertFalse(valley([(1, around(12, 5)), (2, around(10, 5)), (4, around(30))]).is_one)

    def test_what_is_against_a_shape_is_said_first(self):
        verdict = Verdict([Claim(True, "one"), Claim(False, "two")])
        self.assertEqual(sentence("x", "a shape", verdict),
                         "x: not reproduced: published: a shape. Seen: against it: two; in "
                         "agreement: one.")

    def test_a_shape_without_its_core_is_not_reproduced_and_without_the_rest_in_part(self):
        self.assertEqual(Verdict([Claim(True, ""), Claim(True, "", core=False)]).word(),
                         "reproduced")
        self.assertEqual(Verdict([Claim(True, ""), Claim(False, "", core=False)]).word(),
                         "reproduced in part")
        self.assertEqual(Verdict([Claim(False, ""), Claim(True, "", core=False)]).word(),
                         "not reproduced")


class Judged(unittest.TestCase):
    """Each rule says yes to its shape, and no to another one and to noise."""

    def judged(self, figure, points):
        return FIGURES[figure].judge(Points(points)).reproduced

    def test_overlap(self):
        def saved(unshaped, shaped, spread=1.0):
            shares = {1: shaped, 2: shaped / 2, ddp_paper.FREE: unshaped}
            return self.judged("overlap", curve(ddp_paper.SAVED, "saved", shares, spread))
        self.assertTrue(saved(1, 31))
        self.assertFalse(saved(1, 4), "next to nothing is hidden")
        self.assertFalse(saved(30, 31), "without a link as much is saved")
        self.assertFalse(saved(1, 31, spread=25), "noise")

    def test_bucket_size(self):
        def sized(fast, slow, spread=1.0):
            caps = (0.05, 1, 4, 1000)
            return self.judged("bucket_size", [
                *curve(ddp_paper.STEP, "50 us", dict(zip(caps, fast)), spread),
                *curve(ddp_paper.STEP, "3000 us", dict(zip(caps, slow)), spread)])
        self.assertTrue(sized((50, 40, 45, 60), (90, 70, 60, 80)))
        self.assertFalse(sized((50, 40, 45, 60), (90, 60, 70, 80)), "the lowest point stays")
        self.assertFalse(sized((40, 40, 45, 60), (90, 70, 60, 80)), "small buckets cost nothing")
        self.assertFalse(sized((50, 40, 45, 60), (90, 70, 60, 80), spread=15), "noise")

    def test_message_size(self):
        def moved(gloo, shared, spread=0.0):
            sizes = (ddp_paper.SMALL, ddp_paper.LARGE)
            return self.judged("message_size", [
                *curve(ddp_paper.SPEED, "gloo, 2 ranks", dict(zip(sizes, gloo)), spread),
                *curve(ddp_paper.SPEED, "shared_memory, 2 ranks", dict(zip(sizes, shared)))])
        self.assertTrue(moved((0.01, 1), (1, 8)))
        self.assertFalse(moved((0.5, 1), (1, 8)), "small tensors cost little more")
        self.assertFalse(moved((0.01, 1), (1, 1)), "shared memory is no faster")
        self.assertFalse(moved((0.1, 1), (1, 8), spread=0.09), "noise")

    def test_skip_sync(self):
        def skipped(slow, fast, spread=1.0):
            every = (1, 2, 4, 8)
            return self.judged("skip_sync", [
                *curve(ddp_paper.STEP, "0.5 Gbit/s", dict(zip(every, slow)), spread),
                *curve(ddp_paper.STEP, "1 Gbit/s", dict(zip(every, fast)), spread)])
        self.assertTrue(skipped((100, 70, 55, 47), (60, 50, 45, 42)))
        self.assertFalse(skipped((100, 70, 90, 47), (60, 50, 45, 42)), "it rises again")
        self.assertFalse(skipped((60, 50, 45, 42), (100, 70, 55, 47)), "more on the fast link")
        self.assertFalse(skipped((100, 70, 55, 47), (60, 50, 45, 42), spread=30), "noise")

    def test_round_robin(self):
        def turned(bound, free):
            return self.judged("round_robin", [
                *curve(ddp_paper.STEP, "a", dict(zip((1, 3, 5), bound)), 0.2),
                *curve(ddp_paper.STEP, "b", dict(zip((1, 3, 5), free)), 0.2)])
        self.assertTrue(turned((60, 45, 45), (40, 40, 40)))
        self.assertFalse(turned((60, 60, 60), (40, 40, 40)), "no difference anywhere")
        self.assertFalse(turned((60, 45, 45), (40, 30, 30)), "a difference everywhere")

    def test_tuner(self):
        def tuned(fixed, greedy, best, merged=1, spread=0.5):
            caps = (0.25, 1, tuning.PLACES["PyTorch's"])
            return self.judged("tuner", [
                *curve(tuning.STEP, tuning.FIXED, dict(zip(caps, fixed)), spread),
                *curve(tuning.STEP, tuning.GREEDY, {tuning.PLACES[tuning.GREEDY]: greedy}, spread),
                *curve(tuning.STEP, tuning.BEST, {tuning.PLACES[tuning.BEST]: best}, spread),
                *curve(tuning.BUCKETS, tuning.GREEDY, {tuning.PLACES[tuning.GREEDY]: merged}, 0),
                *curve(tuning.BUCKETS, tuning.BEST, {tuning.PLACES[tuning.BEST]: 5}, 0)])
        self.assertTrue(tuned((50, 44, 60), 80, 43))
        self.assertFalse(tuned((50, 40, 60), 80, 43), "a fixed cap is faster")
        self.assertFalse(tuned((50, 44, 43), 80, 43), "PyTorch's caps are as fast")
        self.assertFalse(tuned((50, 44, 60), 80, 43, merged=3), "the greedy rule does not collapse")
        self.assertFalse(tuned((50, 44, 60), 80, 43, spread=30), "noise")

    def test_compression_crossover(self):
        def crossed(slow, fast, spread=1.0):
            return self.judged("compression_crossover", [
                made for hook, at_slow, at_fast in zip(("allreduce", "fp16", "topk"), slow, fast)
                for made in curve(compression.STEP, hook, {0.1: at_slow, 10: at_fast}, spread)])
        self.assertTrue(crossed((500, 250, 60), (40, 38, 55)))
        self.assertFalse(crossed((500, 250, 60), (40, 38, 20)), "it pays on the fast link, too")
        self.assertFalse(crossed((50, 45, 60), (40, 38, 55)), "it does not pay on the slow link")
        self.assertFalse(crossed((500, 450, 400), (40, 38, 55), spread=100), "noise")

    def test_int8_allgather(self):
        def gathered(allgather):
            of = {"allreduce": (25, 37, 44), "fp16": (12, 19, 22),
                  "int8, all-to-all": (6, 9, 11), "int8, allgather": allgather}
            return self.judged("int8_allgather", [
                made for series, values in of.items()
                for made in curve(compression.STEP, series, dict(zip((2, 4, 8), values)), 0.5)])
        self.assertTrue(gathered((6, 19, 44)))
        self.assertFalse(gathered((6, 10, 12)), "it stays a quarter")

    def test_powersgd_accuracy(self):
        def learnt(kept, lost):
            panel = compression.ACCURACY
            return self.judged("powersgd_accuracy", [
                *curve(panel, compression.PLAIN, {1: 97, 4: 97}),
                *curve(panel, "error feedback", dict(zip((1, 2, 4), kept))),
                *curve(panel, "none", dict(zip((1, 2, 4), lost)))])
        self.assertTrue(learnt((94, 97, 96.8), (75, 92, 95)))
        self.assertFalse(learnt((94, 95, 90), (75, 80, 85)), "rank 4 stays behind")
        self.assertFalse(learnt((94, 95, 96.8), (75, 96, 97)), "feedback is worth nothing")

    def test_topk_density(self):
        def learnt(kept, dgc, lost):
            panel, parts = compression.ACCURACY, (0.001, 0.01, 0.1)
            return self.judged("topk_density", [
                *curve(panel, compression.PLAIN, {0.1: 97}),
                *curve(panel, "top-k, rest kept", dict(zip(parts, kept))),
                *curve(panel, "DGC", dict(zip(parts, dgc))),
                *curve(panel, "top-k, rest lost", dict(zip(parts, lost)))])
        self.assertTrue(learnt((90, 96, 97), (90, 96, 97), (60, 89, 96)))
        self.assertFalse(learnt((90, 96, 97), (90, 96, 97), (90, 96, 97)), "nothing is lost")
        self.assertFalse(learnt((90, 89, 97), (90, 96, 97), (60, 88, 96)), "keeping helps not")

    def test_straggler(self):
        def held_up(steps, waits, by_chance):
            delays = (0, 10, 40)
            return self.judged("straggler", [
                *curve(averaging.STEP, "allreduce", dict(zip(delays, steps))),
                *curve(averaging.WAITING, "allreduce", dict(zip(delays, waits))),
                *curve(averaging.BY_CHANCE, "allreduce", {0: 50, 1: by_chance[0]}),
                *curve(averaging.BY_CHANCE, "gossip", {0: 60, 1: by_chance[1]})])
        self.assertTrue(held_up((50, 60, 90), (0, 10, 40), (80, 75)))
        self.assertFalse(held_up((50, 50, 55), (0, 10, 40), (80, 75)), "nobody is late")
        self.assertFalse(held_up((50, 60, 90), (0, 10, 40), (80, 89)), "gossip absorbs nothing")

    def test_post_local_sgd(self):
        def averaged(sent, apart, accuracy):
            periods = (1, 2, 8, 32)
            return self.judged("post_local_sgd", [
                *curve(averaging.LOCAL, "sent", dict(zip(periods, sent))),
                *curve(averaging.LOCAL, "synchronous / H", dict(zip(periods, (320, 160, 40, 10)))),
                *curve(averaging.DISTANCE, "furthest", dict(zip(periods, apart))),
                *curve(averaging.ACCURACY, "post-local SGD", dict(zip(periods, accuracy))),
                *curve(averaging.ACCURACY, "synchronous", {1: 97})])
        self.assertTrue(averaged((322, 161, 41, 10), (0, 0.1, 1, 3), (97, 97, 96, 94)))
        self.assertFalse(averaged((322, 300, 290, 280), (0, 0.1, 1, 3), (97, 97, 96, 94)), "bytes")
        self.assertFalse(averaged((322, 161, 41, 10), (0, 2, 1, 3), (97, 97, 96, 94)), "distance")
        self.assertFalse(averaged((322, 161, 41, 10), (0, 0.1, 1, 3), (97, 97, 80, 94)), "accuracy")

    def test_gossip(self):
        def mixed(gradients, parameters, step=40):
            def over(values):
                return dict(enumerate(values))
            names = averaging.GOSSIP_NAMES
            return self.judged("gossip", [
                *curve(averaging.DISTANCE, "gradients", over(gradients)),
                *curve(averaging.DISTANCE, "parameters", over(parameters)),
                *curve(averaging.DISTANCE, names[2], over([0, 1, 0, 1])),
                *curve(averaging.ACCURACY, averaging.AT_END,
                       {0: 97, names.index("gradients"): 96, names.index("parameters"): 96}),
                *curve(averaging.STEP, "gossip", {2: 40, 8: step}),
                *curve(averaging.STEP, "allreduce", {2: 40, 8: 80}),
                *curve(averaging.SENT, "gossip", {2: 6, 8: 6}, 0)])
        grows, stays = [1, 2, 3, 4, 5, 6, 7, 8], [0.1, 0.2] * 4
        self.assertTrue(mixed(grows, stays))
        self.assertFalse(mixed(stays, stays), "gradients do not drift")
        self.assertFalse(mixed(grows, grows), "parameters drift, too")
        self.assertFalse(mixed(grows, stays, step=80), "a step costs as much as allreduce's")

    def test_delayed(self):
        def late(delayed, losses):
            links, rates = (1, 2, 4), (0.1, 0.4, 1.6)
            return self.judged("delayed", [
                *curve(averaging.STEP, "plain", dict(zip(links, (65, 45, 40)))),
                *curve(averaging.STEP, averaging.DELAYED, dict(zip(links, delayed))),
                *curve(averaging.LEARNT, "plain", dict(zip(rates, (0.3, 0.2, 0.4))), 0.01),
                *curve(averaging.LEARNT, averaging.DELAYED, dict(zip(rates, losses)), 0.01)])
        self.assertTrue(late((52, 39, 38), (0.3, 0.2, 9.0)))
        self.assertFalse(late((65, 45, 38), (0.3, 0.2, 9.0)), "nothing is hidden")
        self.assertFalse(late((52, 39, 38), (0.3, 0.2, 0.3)), "the learning rate is not limited")
        self.assertTrue(late((52, 39, 38), (0.3, 0.2, float("nan"))), "it diverges")

    def test_hierarchical(self):
        def levels(shards, sent=(5.5, 2.4)):
            return self.judged("hierarchical", [
                *curve(topology.BETWEEN, topology.FLAT, {2: 11, 4: 11}),
                *curve(topology.BETWEEN, topology.SHARDS, dict(zip((2, 4), sent))),
                *curve(topology.STEP, topology.FLAT, {2: 200, 4: 200}),
                *curve(topology.STEP, topology.SHARDS, dict(zip((2, 4), shards)))])
        self.assertTrue(levels((100, 60)))
        self.assertFalse(levels((195, 190)), "two levels save next to nothing")
        self.assertFalse(levels((100, 110)), "larger nodes save less")
        self.assertFalse(levels((100, 60), sent=(9, 9)), "as many bytes leave a node")

    def test_ranks(self):
        def busy(shaped, unshaped):
            return self.judged("ranks", [
                *curve(topology.BUS, "unshaped", dict(zip((2, 4, 8), unshaped)), 0.01),
                *curve(topology.BUS, "1 Gbit/s", dict(zip((2, 4, 8), shaped)), 0.001)])
        self.assertTrue(busy((0.12, 0.121, 0.119), (2, 1, 0.5)))
        self.assertFalse(busy((0.12, 0.08, 0.05), (2, 1, 0.5)), "it falls over links, too")
        self.assertFalse(busy((0.12, 0.121, 0.119), (2, 2.1, 2)), "the machine is not shared")

    def test_zero(self):
        def cut(sent, step, memory):
            of = ((topology.SENT, sent, 0), (topology.STEP, step, 1), (topology.MEMORY, memory, 2))
            return self.judged("zero", [
                made for panel, values, spread in of
                for series, value in zip((topology.ADAM, topology.SHARED), values)
                for made in curve(panel, series, {1: value}, spread)] + curve(
                    topology.MEMORY, topology.OTHERS, {1: 30}, 0))
        self.assertTrue(cut((25, 25), (100, 95), (300, 270)))
        self.assertFalse(cut((25, 37), (100, 95), (300, 270)), "more bytes")
        self.assertFalse(cut((25, 25), (100, 120), (300, 270)), "slower")
        self.assertFalse(cut((25, 25), (100, 95), (300, 299)), "as much memory")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
