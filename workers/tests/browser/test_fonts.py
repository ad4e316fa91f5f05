"""Pages are drawn as their visitors see them: letters have widths of their own, unless a font for code is asked for."""

from workers.tests.browser.conftest import Load, measured
from workers.tests.browser.sites import Answer, Site

_FAMILIES = ("system-ui", "sans-serif", "serif")
_PAGE = f"""<!doctype html><title>none</title><p>text<script>
const context = document.createElement("canvas").getContext("2d");
const width = (family, text) => {{ context.font = `20px ${{family}}`; return context.measureText(text).width; }};
document.title = {list(_FAMILIES)}.filter(family => width(family, "iii") < width(family, "MMM")).join(" ");
</script>"""


def test_a_machine_has_a_font_for_text_whichever_kind_a_page_asks_for(load: Load, site: Site) -> None:
    """Without any that fontconfig knows as the usual one, it takes what is first: letters of one width, for code."""
    site.answers["/"] = Answer(body=_PAGE.encode())
    assert measured(load(site.url())).title == " ".join(_FAMILIES)
