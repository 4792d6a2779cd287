# SPDX-License-Identifier: Apache-2.0
"""The decision procedure: from statistics to a picture, with the numbers that it goes by. Layer: Python, no torch.

It goes by three things that do not depend on each other:

- *gaps*: how long a rank is away between two calls, compared with the other ranks. A rank that is away longer is late
  by itself; one that leaves a call late, because it waited, is not.
- *waits beyond entries and bytes*: the wait matrix without what a late entry of the source explains, and what the bytes
  on their link do. A column that stands out is a rank that sends late, one cell a link.
- *loads*: rows by rank. What stands out on a rank that has more rows than others is the load's.

What nothing stands out in is compared with the model: near it, time is bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from ascend_deepep.diagnosis.measures import Measures, column, measures, middle, others, row
from ascend_deepep.stats.statistics import DISPATCH, OPERATORS, Statistics

#: Pictures. The first three need no action by themselves; a cause is one of the rest.
BYTES, EVEN, OVERHEAD = "bytes", "even", "overhead"
HOT, SLOW_RANK, SLOW_LINK, LATE = "hot-experts", "slow-rank", "slow-link", "late-entry"
_RANKS_TO_TELL_APART = 4  # one that waits and one that is waited for leave two to compare them with


@dataclass(frozen=True)
class Thresholds:
    """When a number stands out."""

    #: Largest load of a rank over the mean: the slowest rank sets the time of all, so a third more rows is a third more
    #: time. Uniform choices of some hundred tokens stay below 1.2.
    hot_load: float = 1.35
    #: The same where something else points at that rank.
    uneven_load: float = 1.2
    #: A wait over the others of its kind. In even runs the largest is less than twice its peers.
    stands_out: float = 3.0
    #: What is less than this part of the time of a call is not looked for, and a cause that costs less than this part
    #: of a layer is none: it could not explain a slow one.
    least_share: float = 0.25
    #: Own time of a rank over the median of the others.
    slow_inside: float = 1.5
    #: Measured time over the model's, up to which it is bytes: the model leaves out what cores do meanwhile.
    near_model: float = 1.5
    #: `least_share` where ranks share cores of a machine, as on most twins: a wait for a turn is no slow part, and a
    #: layer may take several turns.
    shared_share: float = 1.0
    #: Cells of the wait matrix below which most lie: so many links in a hundred may be slow at once.
    most_cells: float = 0.9


@dataclass(frozen=True)
class Cause:
    """One thing that makes the layer slower. `ranks`: whom it is about; of a link: source and destination."""

    kind: str
    ranks: tuple[int, ...]
    #: Microseconds of a layer that it costs, about.
    lost_us: float
    #: What it was seen by, a line each.
    evidence: tuple[str, ...]
    #: In which calls.
    operators: tuple[str, ...]

    def name(self) -> str:
        """For a line about it."""
        if self.kind == SLOW_LINK:
            return f"slow link, rank {self.ranks[0]} -> rank {self.ranks[1]}"
        text = {HOT: "hot experts", SLOW_RANK: "slow rank", LATE: "late entry"}[self.kind]
        ranks = ", ".join(map(str, self.ranks))
        where = f"rank{'s' if len(self.ranks) > 1 else ''} {ranks}"
        return f"slow {where}" if self.kind == SLOW_RANK else f"{text}, {where}"


@dataclass(frozen=True)
class Diagnosis:
    """What the statistics show. `causes`: the costliest first, empty where nothing stands out."""

    picture: str
    causes: tuple[Cause, ...]
    #: Microseconds of a dispatch and its combine from the last entry on, of the slowest rank, median over the steps.
    measured_us: float
    #: The model's, and by how much the measured time is longer; None without figures of a link.
    model_us: float | None
    ratio: float | None
    #: Rows of the most loaded rank over the mean.
    max_over_mean_load: float
    hottest_rank: int
    hottest_expert: int
    notes: tuple[str, ...] = field(default=())

    @property
    def holds(self) -> bool:
        """Whether there is nothing to be done about ranks, links or loads."""
        return self.picture in (BYTES, EVEN)

    def to_json(self) -> dict[str, Any]:
        """The object of `--json`."""
        return {
            "picture": self.picture,
            "holds": self.holds,
            "causes": [
                {"kind": c.kind, "ranks": list(c.ranks), "lost_us": round(c.lost_us, 1), "evidence": list(c.evidence)}
                for c in self.causes
            ],
            "measured_us": round(self.measured_us, 1),
            "model_us": None if self.model_us is None else round(self.model_us, 1),
            "ratio": None if self.ratio is None else round(self.ratio, 2),
            "max_over_mean_load": round(self.max_over_mean_load, 2),
            "hottest_rank": self.hottest_rank,
            "hottest_expert": self.hottest_expert,
            "notes": list(self.notes),
            "next": next_steps(self.picture),
        }


def next_steps(picture: str) -> str:
    """What to do about a picture."""
    return {
        BYTES: "fewer bytes: quantised rows, combine_reduce rank, a gate limited to groups; or faster links",
        EVEN: "give the links' figures (--link ALPHA_US,GB_PER_S) to compare the time with the model",
        OVERHEAD: "look at the cores: `ascend-deepep trace`; more cores, other roles, or larger batches",
        HOT: "balance the experts: another placement, copies of the hottest, or the gate's balancing",
        SLOW_RANK: "look at that rank's machine and cores: `ascend-deepep trace`, clocks, what else runs there",
        SLOW_LINK: "test that link by itself, in both directions; its cable, port and error counters",
        LATE: "look at what that rank does between the calls: its host, its experts, its input",
    }[picture]


def diagnose(statistics: Statistics, thresholds: Thresholds | None = None) -> Diagnosis:
    """The picture of these statistics."""
    limits = thresholds or Thresholds()
    if statistics.shares_cores:
        limits = replace(limits, least_share=limits.shared_share)
    found = {operator: measures(statistics, operator) for operator in OPERATORS}
    loads = statistics.rank_rows()
    mean = sum(loads) / len(loads)
    ratio_of_load = max(loads) / mean if mean else 1.0
    late = _late(found, limits)
    slow, links = _told_apart(found, limits)
    slow += [] if slow or links else _slow_inside(found, limits)
    measured_us = sum(of.slowest_us for of in found.values())
    due_us = sum(of.due_us for of in found.values())
    costly = [cause for cause in late + slow + links if cause.lost_us >= limits.least_share * due_us]
    causes = _without_echoes(_with_loads(costly, loads, measured_us, limits), limits)
    models = [of.model_us for of in found.values() if of.model_us is not None]
    model_us = sum(models) if models else None
    ratio = None if model_us is None else measured_us / model_us
    experts = statistics.expert_rows()
    return Diagnosis(
        picture=causes[0].kind if causes else _without_cause(ratio, limits),
        causes=tuple(causes),
        measured_us=measured_us,
        model_us=model_us,
        ratio=ratio,
        max_over_mean_load=ratio_of_load,
        hottest_rank=loads.index(max(loads)),
        hottest_expert=experts.index(max(experts)),
        notes=_notes(statistics, causes),
    )


def _without_cause(ratio: float | None, limits: Thresholds) -> str:
    if ratio is None:
        return EVEN
    return BYTES if ratio <= limits.near_model else OVERHEAD


def _late(found: dict[str, Measures], limits: Thresholds) -> list[Cause]:
    """Ranks that are away longer than the others before a call, and are waited for."""
    causes = []
    for operator, of in found.items():
        for rank, late_us in enumerate(of.late_us):
            waited_us = median(column(of.waits_us, rank))
            if late_us < limits.least_share * of.due_us or waited_us < late_us / 2 or late_us <= of.clock_error_us:
                continue
            text = (
                f"rank {rank} is away {late_us:.0f} us longer than the others before {operator}; "
                f"they wait {waited_us:.0f} us for it; the call takes {of.typical_us:.0f} us from the last entry on"
            )
            causes.append(Cause(LATE, (rank,), late_us, (text,), (operator,)))
    return _merged(causes)


def _slow_senders(found: dict[str, Measures], limits: Thresholds) -> list[Cause]:
    """Ranks that all others wait for, or that wait for all others, once everybody is there."""
    causes = []
    for operator, of in found.items():
        for take, text in ((column, "all others wait for it"), (row, "it waits for all others")):
            typical = [median(take(of.beyond_us, rank)) for rank in range(of.num_ranks)]
            for rank, us in enumerate(typical):
                rest = middle(others(typical, rank))
                if us < limits.least_share * of.due_us or us < limits.stands_out * rest or us <= of.clock_error_us:
                    continue
                beyond = f"{us:.0f} us beyond its entry and bytes"
                line = f"{operator}: {text}, {beyond}; of the other ranks that is {rest:.0f} us"
                causes.append(Cause(SLOW_RANK, (rank,), us, (line,), (operator,)))
    return _merged(causes)


def _slow_links(found: dict[str, Measures], limits: Thresholds) -> list[Cause]:
    """Pairs of which the one waits for the other far longer than most pairs do."""
    causes = []
    for operator, of in found.items():
        pairs = [(to, source) for to in range(of.num_ranks) for source in range(of.num_ranks) if source != to]
        cells = sorted(of.beyond_us[to][source] for to, source in pairs)
        # Of all cells but the pair's own, which is above where it stands out.
        most = cells[int(limits.most_cells * (len(cells) - 2))] if pairs else 0.0
        for to, source in pairs:
            us = of.beyond_us[to][source]
            if us < limits.least_share * of.due_us or us < limits.stands_out * most or us <= of.clock_error_us:
                continue
            share = round(100 * limits.most_cells)
            waits = f"rank {to} waits {us:.0f} us for rank {source} beyond its entry and bytes"
            line = f"{operator}: {waits}; {share} % of the pairs at most {most:.0f} us"
            causes.append(Cause(SLOW_LINK, (source, to), us, (line,), (operator,)))
    return _merged(causes)


def _slow_inside(found: dict[str, Measures], limits: Thresholds) -> list[Cause]:
    """Ranks that take longer than the others without waiting for them."""
    causes = []
    for operator, of in found.items():
        for rank, us in enumerate(of.own_us if of.num_ranks > 1 else []):
            rest = middle(others(of.own_us, rank))
            waits_us = max(others(of.beyond_us[rank], rank), default=0.0)
            more_us = of.longer_us[rank] - waits_us
            if us < limits.slow_inside * rest or more_us < limits.least_share * rest or more_us <= of.clock_error_us:
                continue
            line = f"{operator}: rank {rank} takes {us:.0f} us once all are there, the others {rest:.0f} us"
            causes.append(Cause(SLOW_RANK, (rank,), more_us, (line,), (operator,)))
    return _merged(causes)


def _told_apart(found: dict[str, Measures], limits: Thresholds) -> tuple[list[Cause], list[Cause]]:
    """Slow ranks and slow links, each thing under one name. The ends of a slow link leave late, and are waited for."""
    slow, links = _slow_senders(found, limits), _slow_links(found, limits)
    slow = _once(slow + _behind_links(links, found, limits))
    kept: list[Cause] = []
    for link in sorted(links, key=_cost):
        of_ends = [cause for cause in slow if cause.ranks[0] in link.ranks]
        if any(cause.lost_us * limits.stands_out >= link.lost_us for cause in of_ends):
            continue
        slow = [cause for cause in slow if cause not in of_ends]
        kept.append(link)
    return slow, kept


def _behind_links(links: list[Cause], found: dict[str, Measures], limits: Thresholds) -> list[Cause]:
    """Ranks that show in single pairs.

    Links of a rank are apart from each other: several of them at once are a core of it, which serves these peers. So is
    a source that makes ranks late which are at neither end of the link.
    """
    causes = []
    for end in (0, 1):
        for rank in sorted({link.ranks[end] for link in links}):
            of_rank = [link for link in links if link.ranks[end] == rank]
            reach = _late_elsewhere(of_rank, found, limits) if end == 0 else ()
            if len(of_rank) == 1 and not reach:
                continue
            peers = ", ".join(str(link.ranks[1 - end]) for link in sorted(of_rank, key=lambda link: link.ranks))
            most_us = max(link.lost_us for link in of_rank)
            whom = f"ranks {peers} wait for it" if end == 0 else f"it waits for ranks {peers}"
            line = f"{whom}, up to {most_us:.0f} us in a layer beyond entries and bytes; most pairs do not wait"
            causes.append(Cause(SLOW_RANK, (rank,), most_us, (line, *reach), tuple(found)))
    return causes


def _late_elsewhere(links: list[Cause], found: dict[str, Measures], limits: Thresholds) -> tuple[str, ...]:
    """What says that ranks at no end of these links take longer than they should."""
    ends = {rank for link in links for rank in link.ranks}
    lines = []
    for operator, of in found.items():
        elsewhere = [us for rank, us in enumerate(of.own_us) if rank not in ends]
        if of.model_us is None or not elsewhere or median(elsewhere) < limits.slow_inside * of.model_us:
            continue
        took_us = f"{median(elsewhere):.0f} us once all are there"
        lines.append(f"{operator}: other ranks take {took_us}, {of.model_us:.0f} us by the model")
    return tuple(lines)


def _without_echoes(causes: list[Cause], limits: Thresholds) -> list[Cause]:
    """The costliest first, without those that cost so much less that they may come of that one; loads come of none."""
    causes = sorted(causes, key=_cost)
    return [c for c in causes if c.kind == HOT or c.lost_us * limits.stands_out >= causes[0].lost_us]


def _cost(cause: Cause) -> float:
    return -cause.lost_us


def _with_loads(causes: list[Cause], loads: list[int], measured_us: float, limits: Thresholds) -> list[Cause]:
    """What a hot rank stands out by is its load's, where it can be."""
    mean = sum(loads) / len(loads)
    uneven = {rank for rank, load in enumerate(loads) if load >= limits.uneven_load * mean > 0}
    of_load = [cause for cause in causes if uneven & set(cause.ranks) and _can_be_of_load(cause)]
    hot = {rank for rank in uneven if loads[rank] >= limits.hot_load * mean}
    hot |= uneven & {rank for cause in of_load for rank in cause.ranks}
    if not hot:
        return causes
    lost_us = max([(1 - mean / max(loads)) * measured_us, *(cause.lost_us for cause in of_load)])
    by_load = sorted(hot, key=lambda rank: -loads[rank])
    evidence = [f"rank {rank} has {loads[rank]} rows, {loads[rank] / mean:.2f} times the mean" for rank in by_load]
    evidence += [line for cause in of_load for line in cause.evidence]
    rest = [cause for cause in causes if cause not in of_load]
    return [Cause(HOT, tuple(by_load), lost_us, tuple(evidence), OPERATORS), *rest]


def _can_be_of_load(cause: Cause) -> bool:
    """A link is slow beyond its bytes, and before dispatch a rank has no load yet."""
    return cause.kind != SLOW_LINK and not (cause.kind == LATE and DISPATCH in cause.operators)


def _merged(causes: list[Cause]) -> list[Cause]:
    """One cause for the same ranks, of causes of one operator each.

    What is seen twice in a call, such as a column and a row, is the same time; calls come one after the other.
    """
    merged: dict[tuple[int, ...], list[Cause]] = {}
    for cause in causes:
        merged.setdefault(cause.ranks, []).append(cause)
    return [_one_of(same) for same in merged.values()]


def _one_of(same: list[Cause]) -> Cause:
    lost_us: dict[tuple[str, ...], float] = {}
    for cause in same:
        lost_us[cause.operators] = max(lost_us.get(cause.operators, 0.0), cause.lost_us)
    evidence = tuple(line for cause in same for line in cause.evidence)
    operators = tuple(operator for operators in lost_us for operator in operators)
    return Cause(same[0].kind, same[0].ranks, sum(lost_us.values()), evidence, operators)


def _once(causes: list[Cause]) -> list[Cause]:
    """Of causes of the same ranks, seen by the same waits, the first, with the largest cost."""
    once: dict[tuple[int, ...], Cause] = {}
    for cause in causes:
        first = once.setdefault(cause.ranks, cause)
        once[cause.ranks] = replace(first, lost_us=max(first.lost_us, cause.lost_us))
    return list(once.values())


def _notes(statistics: Statistics, causes: list[Cause]) -> tuple[str, ...]:
    notes = []
    if statistics.num_ranks < _RANKS_TO_TELL_APART and any(cause.kind in (SLOW_RANK, SLOW_LINK) for cause in causes):
        notes.append("with fewer than four ranks a slow rank and a slow link look alike, and their peers like them")
    if len(causes) > 1:
        notes.append(f"more than one thing stands out; {causes[0].name()} costs most")
    if statistics.clock_error_us > 0:
        error_us = f"{statistics.clock_error_us:.0f} us"
        notes.append(f"clocks of ranks may differ by {error_us}; less than that is not looked at")
    if statistics.link is not None and statistics.link.fitted_here:
        notes.append("the model's link figures were fitted on this machine right before the run")
    if statistics.shares_cores:
        notes.append(
            f"{statistics.num_ranks} ranks share {statistics.host_cores} cores: a cause that costs less than a layer "
            "is not told from a wait for a turn"
        )
    if statistics.num_steps < 3:
        steps = "1 step is few" if statistics.num_steps == 1 else f"{statistics.num_steps} steps are few"
        notes.append(f"{steps}: one slow step is not told from a slow part")
    return tuple(notes)


def describe(diagnosis: Diagnosis) -> list[str]:
    """Lines for a person."""
    heads = {
        BYTES: "bytes: the time is what the model gives for these bytes",
        EVEN: "even: no rank, link or load stands out",
        OVERHEAD: "overhead: far above the model, and no rank, link or load stands out",
    }
    lines = [heads[diagnosis.picture]] if not diagnosis.causes else [diagnosis.causes[0].name()]
    lines.append(f"  dispatch and combine {diagnosis.measured_us:.0f} us")
    if diagnosis.model_us is not None:
        lines[-1] += f"; the model gives {diagnosis.model_us:.0f} us, ratio {diagnosis.ratio:.2f}"
    lines.append(
        f"  load: rank {diagnosis.hottest_rank} has {diagnosis.max_over_mean_load:.2f} times the mean; "
        f"hottest expert {diagnosis.hottest_expert}"
    )
    for number, cause in enumerate(diagnosis.causes):
        if number:
            lines.append(f"also: {cause.name()}")
        lines.append(f"  costs about {cause.lost_us:.0f} us of a layer")
        lines += [f"  {line}" for line in cause.evidence]
        lines.append(f"  next: {next_steps(cause.kind)}")
    if not diagnosis.causes:
        lines.append(f"  next: {next_steps(diagnosis.picture)}")
    return lines + [f"note: {note}" for note in diagnosis.notes]
