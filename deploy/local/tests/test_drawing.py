from backend.bench.waterfall import made_up_page
from deploy.local.drawing import Figure


def test_a_figure_over_its_limit_is_missed() -> None:
    assert "met" in Figure(name="first draw", value=49.9, limit=50).line()
    assert "MISSED" in Figure(name="first draw", value=50.1, limit=50).line()
    assert Figure(name="told only", value=1_000).met


def test_the_page_that_is_drawn_has_every_phase() -> None:
    timings = [request.timing for request in made_up_page(100).waterfall.requests]
    assert len(timings) == 100
    phases = ("dns", "connect", "tls", "send", "wait", "download")
    assert all(any(getattr(timing, phase) for timing in timings) for phase in phases)
