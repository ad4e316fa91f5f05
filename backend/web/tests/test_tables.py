"""The frame of a table says what it lists, to who cannot see it, whatever that holds."""

from django.template import Context, Template


def test_a_caption_from_outside_stays_a_text() -> None:
    source = (
        '{% load tables %}{% table "Rules of "|add:name %}<tbody><tr><td>{{ name }}</td></tr></tbody>{% endtable %}'
    )
    text = Template(source).render(Context({"name": "<b>shop"}))
    assert '<caption class="visually-hidden">Rules of &lt;b&gt;shop</caption><tbody>' in text
    assert "<td>&lt;b&gt;shop</td>" in text
    assert text.startswith('<div class="table-wrap">\n<table class="table stacked">')
    assert text.endswith("</tbody></table>\n</div>")
