"""What grows in the benchmark of growth, and how its profile is read: no servers."""

from __future__ import annotations

import pytest

from tests.bench.flame_stacks import Stack, parse, shorten, stage_of, stage_shares, work_of
from tests.bench.flame_svg import draw_flames
from tests.bench.growth_axes import AXES, QUICK_ROWS, Axis, find_axis, quick


@pytest.mark.parametrize("axis", AXES, ids=lambda axis: axis.name)
def test_points_of_an_axis_grow_and_have_labels_of_their_own(axis: Axis) -> None:
    xs = [point.x for point in axis.points]
    assert xs == sorted(set(xs))
    assert len({point.label for point in axis.points}) == len(xs)


@pytest.mark.parametrize("axis", AXES, ids=lambda axis: axis.name)
def test_a_quick_look_is_small_and_has_something_to_draw(axis: Axis) -> None:
    points = quick(axis).points
    assert points
    assert all(point.workload.rows <= QUICK_ROWS and point.rounds == 1 for point in points)


def test_no_two_points_share_a_topic() -> None:
    names = [point.workload.name for axis in AXES for point in axis.points]
    assert len(set(names)) == len(names)


def test_a_transaction_is_never_larger_than_its_backlog() -> None:
    for point in find_axis("transaction").points:
        assert point.x == point.workload.per_transaction <= point.workload.rows


def test_each_kind_of_event_has_a_route_and_all_have_one_topic() -> None:
    largest = find_axis("routes").points[-1]
    [outbox] = largest.sections["outboxes"]
    kinds = [route["when"]["aggregatetype"] for route in outbox["routes"]]
    assert kinds == largest.workload.aggregate_types()
    assert {route["topic"] for route in outbox["routes"]} == set(largest.topics)
    assert len(largest.topics) == 1
    assert len(kinds) == largest.x == 200


@pytest.mark.parametrize(
    ("frame", "short"),
    [
        ("_gulp (cdc_relay/session/session.py:155)", "_gulp (cdc_relay/session/session.py)"),
        ("_gulp (/a/b/cdc_relay/session/session.py:155)", "_gulp (cdc_relay/session/session.py)"),
        ("sleep (/usr/lib/libc.so.6)", "sleep (libc.so.6)"),
        (
            "rd_kafka_produceva (/x/confluent_kafka.libs/librdkafka-8a3f00d1.so.1)",
            "rd_kafka_produceva (librdkafka.so.1)",
        ),
        ('thread (0x7F3A): "MainThread"', "MainThread"),
        (
            "__pyx_pw_9cdc_relay_6native_4lane_4Lane_3take (/a/cdc_relay/native/lane.cpython-311-x86_64-linux-gnu.so)",
            "Lane.take (cdc_relay/native/lane.pyx)",
        ),
        (
            "Lane__take (/a/cdc_relay/native/lane.cpython-311-x86_64-linux-gnu.so)",
            "Lane__take (cdc_relay/native/lane.pyx)",
        ),
        ("__pyx_f_9cdc_relay_6native_4lane_4Lane__take_plain (a.so)", "Lane._take_plain (cdc_relay/native/lane.pyx)"),
    ],
)
def test_a_frame_is_named_without_the_paths_of_a_machine(frame: str, short: str) -> None:
    assert shorten(frame) == short


def test_only_work_of_the_loop_counts_and_no_address_is_kept() -> None:
    lines = [
        "thread (7): MainThread;main (a.py:1);Session._turn (cdc_relay/session/session.py:1);0x7fad (libc.so.6) 5",
        "thread (7): MainThread;main (a.py:1);Session._turn (cdc_relay/session/session.py:1);select (libc.so.6) 2",
        "thread (8): helper;Session._turn (cdc_relay/session/session.py:1) 4",
    ]
    work = work_of(parse(lines), thread="MainThread", below="Session._turn")
    assert work == {("Session._turn (cdc_relay/session/session.py)",): 5}


def test_what_a_stage_calls_is_its_own() -> None:
    loop = ("run (cdc_relay/session/session.py)", "_gulp (cdc_relay/session/session.py)")
    produced = (*loop, "offer (cdc_relay/dispatch/publisher.py)", "publish (cdc_relay/sinks/outlet.py)")
    assert stage_of(produced) == "produce"
    assert stage_of((*loop, "read (cdc_relay/sources/slot.py)")) == "read"
    assert stage_of(loop) == "the rest"


def test_shares_add_up_and_name_every_stage() -> None:
    stacks = parse(["a (x.py:1);read (cdc_relay/sources/slot.py:2) 3", "a (x.py:9) 1", ""])
    shares = stage_shares(stacks)
    assert shares["read"] == 0.75
    assert shares["produce"] == 0
    assert sum(shares.values()) == 1


def test_a_flame_is_as_wide_as_its_share() -> None:
    stacks: dict[Stack, int] = {("loop (a.py)", "half (a.py)"): 50, ("loop (a.py)", "half <b> (a.py)"): 50}
    picture = draw_flames(stacks, title="t", color_of=lambda _: "#ffffff", legend={"x": "#ffffff"})
    assert picture == draw_flames(dict(stacks), title="t", color_of=lambda _: "#ffffff", legend={"x": "#ffffff"})
    assert "half (a.py): 50.0%" in picture
    assert "half &lt;b&gt; (a.py): 50.0%" in picture
