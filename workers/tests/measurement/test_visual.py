from hypothesis import given
from hypothesis import strategies as st

from workers.measurement.compute.page.visual import COMPLETE_PPM, Shot, VisualProgress, distance, visual_progress

# Ten points of one colour each: how many of them are white, grey and black.
WHITE, HALF, BLACK = (10, 0, 0), (5, 0, 5), (0, 0, 10)
POINTS = st.lists(st.integers(0, 2), min_size=12, max_size=12).map(
    lambda points: tuple(points.count(colour) for colour in range(3))
)
FILMS = st.lists(st.tuples(st.integers(-500_000, 20_000_000), POINTS), min_size=1, max_size=40)


def progress(*frames: tuple[int, tuple[int, ...]], max_frames: int = 60) -> VisualProgress:
    shots = [Shot(at_us=at_us, histogram=points, picture=number) for number, (at_us, points) in enumerate(frames)]
    return visual_progress(shots, max_frames=max_frames)


def test_figures_of_a_page_that_comes_in_two_halves() -> None:
    seen = progress((-50_000, WHITE), (400_000, HALF), (1_000_000, BLACK))
    assert [(frame.at_us, frame.complete_ppm) for frame in seen.frames] == [
        (0, 0),
        (400_000, 500_000),
        (1_000_000, 1_000_000),
    ]
    # Nothing for 400 ms, half for another 600 ms.
    assert seen.speed_index_us == 400_000 + 600_000 // 2
    assert (seen.start_render_us, seen.visually_complete_us) == (400_000, 1_000_000)


def test_a_page_that_comes_at_once_is_complete_when_it_is_first_seen() -> None:
    seen = progress((0, WHITE), (700_000, BLACK))
    assert (seen.start_render_us, seen.speed_index_us, seen.visually_complete_us) == (700_000, 700_000, 700_000)


def test_what_goes_back_counts_as_missing_again() -> None:
    seen = progress((0, WHITE), (100_000, BLACK), (200_000, HALF), (300_000, BLACK))
    assert seen.speed_index_us == 100_000 + 50_000
    assert seen.visually_complete_us == 100_000


def test_a_screen_that_never_changes_has_no_figures_and_was_never_complete() -> None:
    seen = progress((-1, WHITE), (500_000, WHITE))
    assert (seen.start_render_us, seen.speed_index_us, seen.visually_complete_us) == (None, None, None)
    assert [frame.complete_ppm for frame in seen.frames] == [0, 0]
    assert [frame.complete_ppm for frame in progress((-1, WHITE)).frames] == [0]


def test_no_frames_give_no_figures() -> None:
    assert progress() == VisualProgress()


def test_a_page_that_ends_as_blank_as_it_began_was_complete_when_it_was_blank_again() -> None:
    seen = progress((0, WHITE), (100_000, HALF), (300_000, WHITE))
    assert (seen.start_render_us, seen.speed_index_us, seen.visually_complete_us) == (100_000,) * 3


def test_of_too_many_frames_the_first_the_last_and_the_greatest_changes_stay() -> None:
    seen = progress(
        (0, WHITE), (1, (9, 1, 0)), (2, (1, 1, 8)), (3, (1, 1, 8)), (4, (1, 0, 9)), (5, BLACK), max_frames=4
    )
    assert seen.pictures == (0, 1, 2, 5)


@given(FILMS)
def test_completeness_stays_in_its_bounds_and_ends_where_it_should(frames: list[tuple[int, tuple[int, ...]]]) -> None:
    seen = progress(*frames)
    assert all(0 <= frame.complete_ppm <= COMPLETE_PPM for frame in seen.frames)
    assert seen.frames[-1].complete_ppm == (0 if seen.start_render_us is None else COMPLETE_PPM)
    instants = [frame.at_us for frame in seen.frames]
    assert instants == sorted(instants)
    assert len(seen.frames) == len(seen.pictures)


@given(FILMS, st.integers(2, 10))
def test_figures_are_of_all_frames_however_many_are_kept(frames: list[tuple[int, tuple[int, ...]]], limit: int) -> None:
    whole, short = progress(*frames), progress(*frames, max_frames=limit)
    assert len(short.frames) <= limit
    assert (short.speed_index_us, short.start_render_us, short.visually_complete_us) == (
        whole.speed_index_us,
        whole.start_render_us,
        whole.visually_complete_us,
    )


@given(FILMS)
def test_the_moments_come_in_their_order(frames: list[tuple[int, tuple[int, ...]]]) -> None:
    seen = progress(*frames)
    if seen.start_render_us is not None:
        assert seen.visually_complete_us is not None
        assert seen.speed_index_us is not None
        assert seen.start_render_us <= seen.visually_complete_us <= seen.frames[-1].at_us
        assert 0 <= seen.speed_index_us <= seen.frames[-1].at_us


@given(st.lists(st.integers(0, 10), min_size=2, max_size=20), st.integers(1, 100_000))
def test_of_pages_that_only_grow_the_later_one_has_the_greater_index(points: list[int], delay_us: int) -> None:
    steps = [(10 - white, 0, white) for white in sorted(points)]
    soon = progress((0, WHITE), *[((n + 1) * 1_000, step) for n, step in enumerate(steps)], (50_000, BLACK))
    late = progress((0, WHITE), *[((n + 1) * 1_000 + delay_us, step) for n, step in enumerate(steps)], (150_000, BLACK))
    assert soon.speed_index_us is not None
    assert late.speed_index_us is not None
    assert soon.speed_index_us < late.speed_index_us


@given(POINTS, POINTS, POINTS)
def test_distances_are_distances(one: tuple[int, ...], two: tuple[int, ...], three: tuple[int, ...]) -> None:
    assert distance(one, one) == 0
    assert distance(one, two) == distance(two, one)
    assert distance(one, three) <= distance(one, two) + distance(two, three)
