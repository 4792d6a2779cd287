# SPDX-License-Identifier: Apache-2.0
"""Statistics as a file and as pictures. Layer: tests, no ranks."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ascend_deepep.stats import COMBINE, DISPATCH, FORMAT, Link, Statistics, plot
from ascend_deepep.trace import recording, storage
from made_statistics import ROW_BYTES, add_wait, even, load

pytestmark = pytest.mark.fast


def test_a_file_gives_the_same_back(tmp_path: Path) -> None:
    statistics = even()
    add_wait(statistics, DISPATCH, 1, 2, 77)
    statistics.save(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["format"] == FORMAT
    assert Statistics.load(tmp_path / "a.json") == statistics
    fitted = replace(statistics, link=Link(1.0, 2.0, fitted_here=True))
    fitted.save(tmp_path / "c.json")
    assert Statistics.load(tmp_path / "c.json") == fitted
    without = even(link=False)
    without.save(tmp_path / "b.json")
    assert Statistics.load(tmp_path / "b.json") == without


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda value: value.update(format=FORMAT + 1), f"is no file of statistics of format {FORMAT}"),
        (lambda value: value.pop("rows"), "a field is missing"),
        (lambda value: value.update(more=1), "a field is missing or of another kind"),
        (lambda value: value["tokens"].pop(), "waits_us is not a list of 4 x 8 x 8 numbers"),
        (lambda value: value["operators"][COMBINE]["entry_us"][0].pop(), "combine_v2.entry_us is not a list of 5 x 8"),
        (lambda value: value["operators"][DISPATCH].update(call_us="long"), "dispatch_v2.call_us is not a list"),
        (lambda value: value["operators"].pop(COMBINE), "operators are dispatch_v2, want dispatch_v2 and combine_v2"),
        (lambda value: value.update(num_ranks=0), "num_ranks is 0, want a whole number from 1 on"),
        (lambda value: value.update(num_ranks="8"), "num_ranks is '8', want a whole number"),
        (lambda value: value.update(num_ranks=8.0), "num_ranks is 8.0, want a whole number"),
        (lambda value: value.update(num_experts=0), "num_experts is 0"),
        (lambda value: value.update(host_cores=-1), "host_cores is -1"),
        (lambda value: value.update(title={}), "title is {}, want a text"),
        (lambda value: value.update(clock_error_us="1"), "clock_error_us is not a number"),
        (lambda value: value.update(clock_error_us=float("inf")), "clock_error_us is not a number, from 0 on"),
        (lambda value: value["link"].update(alpha_us=None), "link is {'alpha_us': None"),
        (lambda value: value["link"].update(bytes_per_us=0), "bytes_per_us above 0"),
        (lambda value: value.update(rows=[[]] * 8), "without a step and an expert"),
        (lambda value: value.update(tokens=[]), "without a step and an expert"),
        (lambda value: value["tokens"][0].__setitem__(3, float("nan")), "tokens is not a list of 5 x 8 numbers"),
        (lambda value: value["tokens"][0].__setitem__(3, -1), "tokens is not a list of 5 x 8 numbers, from 0 on"),
        (lambda value: value["operators"][COMBINE]["bytes_put"].__setitem__(0, 10**400), "combine_v2.bytes_put is not"),
    ],
)
def test_another_file_is_refused_by_one_line(tmp_path: Path, change: Any, text: str) -> None:
    path = tmp_path / "a.json"
    even().save(path)
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))
    with pytest.raises(ValueError, match=text) as error:
        Statistics.load(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_no_json_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("waits\n")
    with pytest.raises(ValueError, match="is no file of statistics"):
        Statistics.load(tmp_path / "a.json")
    (tmp_path / "a.gz").write_bytes(b"\x1f\x8bcut off")
    with pytest.raises(ValueError, match="is no file of statistics"):
        Statistics.load(tmp_path / "a.gz")
    with pytest.raises(OSError, match="No such file"):
        Statistics.load(tmp_path / "none.json")


@pytest.mark.parametrize("name", ["recording.json", "recording.json.gz"])
def test_a_recording_is_not_statistics(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    storage.save(recording.Recording("twin", 2), path)
    with pytest.raises(ValueError, match="is a recording, not statistics") as error:
        Statistics.load(path)
    assert f"`ascend-deepep trace --from {path}`" in str(error.value) and "\n" not in str(error.value)


def test_operators_have_one_home() -> None:
    assert (DISPATCH, COMBINE) == ("dispatch_v2", "combine_v2")
    for module in ("trace/recording.py", "simulator/scale.py"):
        text = (Path(recording.__file__).parents[1] / module).read_text()
        assert "import COMBINE" in text and '"dispatch_v2", "combine_v2"' not in text, module


def test_rows_and_bytes_add_up() -> None:
    statistics = even(ranks=4, steps=2, rows=6)
    load(statistics, 1, 2.0)
    assert statistics.rank_rows() == [2 * 4 * 6, 2 * 2 * 4 * 6, 2 * 4 * 6, 2 * 4 * 6]
    assert len(statistics.expert_rows()) == 8 and sum(statistics.expert_rows()) == sum(statistics.rank_rows())
    put = ROW_BYTES * 6 * 3
    for operator in (DISPATCH, COMBINE):
        moved = statistics.bytes_moved(operator)
        assert [sum(line) for line in moved] == pytest.approx([put] * 4)
        assert [moved[rank][rank] for rank in range(4)] == [0.0] * 4
    # Rank 1 gets twice as much as the others of a source in dispatch; in combine it gives to all alike.
    dispatch, combine = statistics.bytes_moved(DISPATCH), statistics.bytes_moved(COMBINE)
    assert dispatch[0][1] == pytest.approx(2 * dispatch[0][2])
    assert combine[1][0] == pytest.approx(combine[1][2])


def test_the_pictures_show_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    figures: list[Any] = []
    monkeypatch.setattr(plt, "close", figures.append)
    statistics = even()
    add_wait(statistics, DISPATCH, 6, 1, 1200)
    load(statistics, 3, 2.0)
    paths = plot(statistics, tmp_path / "a.b")
    assert [path.name for path in paths] == ["a.b.png", "a.b.svg"]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(paths[1]).getroot().tag.endswith("svg")
    width = int.from_bytes(paths[0].read_bytes()[16:20], "big")
    assert width == 1200
    dispatch, combine, experts, ranks, bar = figures[0].axes
    assert (dispatch.get_xlabel(), dispatch.get_ylabel()) == ("source: rank waited for", "rank that waits")
    assert "us" in bar.get_ylabel() and experts.get_ylabel() == ranks.get_ylabel() == "rows of a step"
    assert [text.get_text() for text in dispatch.texts][6 * 8 + 1] == str(1200 + 20 + 7 % 3)
    assert len(combine.texts) == 64
    heights = [patch.get_height() for patch in ranks.patches]
    assert heights == [count / 5 for count in statistics.rank_rows()]
    assert ranks.get_ylim()[1] > max(heights) and len(experts.patches) == 16


def test_many_ranks_have_no_numbers_in_their_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    figures: list[Any] = []
    monkeypatch.setattr(plt, "close", figures.append)
    plot(even(ranks=17, steps=1), tmp_path / "a")
    assert len(figures[0].axes[0].texts) == 0


def test_json_that_nests_too_deep_is_refused(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match="no file of statistics"):
        Statistics.load(tmp_path / "deep.json")
