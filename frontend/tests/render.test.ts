import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChartData, FilmData, Moment, RowData } from "../src/contract";
import { type Axis, marksOn, ticksOf } from "../src/waterfall/axis";
import { filmHtml } from "../src/waterfall/film";
import { escape, labelsHtml, marksHtml, rowHtml } from "../src/waterfall/render";
import { boxOf, zoomOf } from "../src/waterfall/zoom";
import golden from "./golden/rows.json";
import views from "./golden/views.json";

test("script and server draw the same rows", () => {
  for (const { row, selected, box, html } of golden) {
    const drawn = { href: `?q=a&request=${row.number}`, selected, box, prefix: "r" };
    assert.equal(rowHtml(row as unknown as RowData, drawn), html);
  }
});

test("script and server draw the same lines, pictures and parts of the time", () => {
  const full: Axis = views.data as unknown as ChartData;
  for (const { zoom, box, marks, labels, film } of views.views) {
    const view = zoomOf(full, zoom);
    assert.equal(boxOf(full, view), box, zoom);
    const drawn = marksOn(view, views.data.moments as Moment[]);
    assert.equal(marksHtml(ticksOf(view), drawn), marks, zoom);
    assert.equal(labelsHtml(ticksOf(view), drawn), labels, zoom);
    assert.equal(filmHtml(views.data.film as FilmData, view), film, zoom);
  }
});

test("what a page wrote is never markup", () => {
  assert.equal(escape(`<a href="x" id='y'>&`), "&lt;a href=&quot;x&quot; id=&#x27;y&#x27;&gt;&amp;");
});
