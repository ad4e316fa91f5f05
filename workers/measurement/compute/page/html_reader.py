"""HTML as the standard library reads it, without what it stumbles over."""

from html.parser import HTMLParser


class HtmlReader(HTMLParser):
    """What begins as a section of SGML is a comment that ends with the next ">", as to browsers (HTML, "bogus
    comment"). Only that of SVG and MathML is one; by the name of any other the library fails."""

    def parse_html_declaration(self, i: int) -> int:
        if self.rawdata.startswith("<![", i) and not self.rawdata.startswith("<![CDATA[", i):
            return self.parse_bogus_comment(i)
        return super().parse_html_declaration(i)
