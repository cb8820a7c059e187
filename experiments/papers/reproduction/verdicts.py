"""Rules that say from data alone whether a published shape was reproduced."""

from dataclasses import dataclass

from reproduction.measured import Measured


@dataclass(frozen=True)
class Claim:
    """One part of a published shape: whether it holds here, and what was seen. Without its `core`
    parts a shape is not there; without the others it is there in part."""

    holds: bool
    seen: str
    core: bool = True


@dataclass(frozen=True)
class Verdict:
    claims: list

    @property
    def reproduced(self):
        return all(claim.holds for claim in self.claims)

    def word(self):
        if self.reproduced:
            return "reproduced"
        in_part = all(claim.holds for claim in self.claims if claim.core)
        return "reproduced in part" if in_part else "not reproduced"

    def seen(self):
        """What was seen; where not all of it agrees with the paper, that comes first."""
        if self.reproduced:
            return "; ".join(claim.seen for claim in self.claims)
        against = [claim.seen for claim in self.claims if not claim.holds]
        agreeing = [claim.seen for claim in self.claims if claim.holds]
        text = "against it: " + "; ".join(against)
        return text + ("; in agreement: " + "; ".join(agreeing) if agreeing else "")


def sentence(name, shape, verdict):
    return f"{name}: {verdict.word()}: published: {shape}. Seen: {verdict.seen()}."


def falls(curve):
    """Whether a curve ends below where it began, beyond the spread, and never rises beyond it."""
    values = [value for _, value in curve]
    return values[-1].below(values[0]) and not any(
        before.below(after) for before, after in zip(values, values[1:]))


def rises(curve):
    return falls(list(reversed(curve)))


@dataclass(frozen=True)
class Valley:
    """The lowest point of a curve, and whether both of its ends are above it beyond the spread."""

    x: float
    value: Measured
    left: bool
    right: bool

    @property
    def is_one(self):
        return self.left and self.right


def valley(curve):
    x, lowest = min(curve, key=lambda pair: pair[1].value)
    return Valley(x, lowest, lowest.below(curve[0][1]), lowest.below(curve[-1][1]))


def percent(share, digits=0):
    """A share with its interval, as in "31 % [28, 34]"."""
    return (f"{100 * share.value:.{digits}f} % "
            f"[{100 * share.low:.{digits}f}, {100 * share.high:.{digits}f}]")


def plain(measured, unit="", digits=1):
    text = f"{measured.value:.{digits}f}"
    if measured.low != measured.high:
        text += f" [{measured.low:.{digits}f}, {measured.high:.{digits}f}]"
    return f"{text} {unit}".strip()
