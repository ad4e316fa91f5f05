"""Whole pages, as Chrome loads them."""

from collections.abc import Mapping

from workers.diagnosis.catalogue.entry import Counts, Entry
from workers.measurement.finding import FindingId

ENTRIES: Mapping[FindingId, Entry] = {
    FindingId.PAGE_CSS_IMPORT: Entry(
        title="Style sheets import others",
        explanation=(
            "A style sheet names another by @import, and the browser learns of that only when the first has come: they "
            "come one after the other, and nothing is painted before the last. The time is what the first paint would "
            "gain if all were asked for at once."
        ),
        advice=(
            "Name each style sheet in the document with a link of its own, or have your build put them into one file. "
            "Where the @import must stay, preload what it names."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.PAGE_RENDER_BLOCKING: Entry(
        title="Style sheets or scripts hold the first paint up",
        explanation=(
            "The browser paints nothing before these files of the site have come, although the document itself was "
            "there earlier: they stand in the head, or in the body ahead of all that it shows. The time is what the "
            "first paint would gain if none of them blocked it."
        ),
        advice=(
            "Put the few styles that the first screen needs into the document, load the rest without blocking, and "
            "give scripts defer or async, or their place behind what is shown."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.PAGE_THIRD_PARTY_BLOCKING: Entry(
        title="A host outside the site's domain holds the first paint up",
        explanation=(
            "The browser paints nothing before a file of a host outside the site's own domain has come. When that host "
            "is slow, the page is slow; when it fails, the page stays blank until the browser gives up."
        ),
        advice=(
            "Load it with async or defer, or serve the file from the page's own host. Where it must block, preconnect "
            "to its host. If the host is yours, say so on the site's page of hosts."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.PAGE_CLIENT_RENDERED: Entry(
        title="Visitors wait for scripts to make the page",
        explanation=(
            "The document itself shows nothing, or not its largest text: scripts make or uncover that when they have "
            "come and run, with what they fetch meanwhile. The time is what the first paint, or the largest one, would "
            "gain if the document held it; what servers took for the data is not in it, as it would be taken before."
        ),
        advice=(
            "Render the first view on the server or when the site is built, and let scripts take it over. Where they "
            "have to make it, keep what it needs small and in one file, and preload that and the data in the head. "
            "What only hides the page until a test of variants is there should give up sooner."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.PAGE_LCP_LATE: Entry(
        title="The largest picture is found late",
        explanation=(
            "The browser asked for the picture that makes the largest paint long after the document had begun to come, "
            "since a script, a style sheet or lazy loading had to name it first. A hint in the head of the document is "
            "read with its first bytes."
        ),
        advice=(
            "Name the picture in the document itself, without loading=lazy and with fetchpriority=high: that gains "
            "what is told. To preload it in the head gains less where a script makes its place, since it is shown no "
            "sooner than that."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.PAGE_LCP_HELD: Entry(
        title="Files in the body hold the largest picture up",
        explanation=(
            "The picture that makes the largest paint was there before the browser had read of its place in the page. "
            "A script or a style sheet that stands ahead of that place in the body stopped it from reading on."
        ),
        advice=(
            "Give scripts ahead of the picture defer or async, or move them behind it; load style sheets of later "
            "parts without blocking."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.PAGE_LCP_BEHIND: Entry(
        title="The largest picture comes among others",
        explanation=(
            "The document names other pictures ahead of the one that makes the largest paint, and the browser asked "
            "for that as one of the least urgent, since it takes only the first five large ones for more. All of them "
            "shared the line, and how much of that a repair saves depends on the order in which the server sends."
        ),
        advice=(
            "Give the picture fetchpriority=high: browsers then ask for it ahead of the others. Give those that the "
            "first screen does not show loading=lazy."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.PAGE_FONT_LATE: Entry(
        title="The font of the largest text is found late",
        explanation=(
            "The largest text stayed invisible until its font had come, which the browser asked for only when a style "
            "sheet had named it and the text needed it. A hint in the head of the document is read with its first "
            "bytes."
        ),
        advice=(
            "Preload the font in the head of the document, with crossorigin even where it comes from the page's own "
            "host, as fonts are asked for so. The browser waits up to a tenth of a second for it before it paints "
            "anything. With font-display: swap or optional the text does not wait for it."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.PAGE_TEXT_HIDDEN: Entry(
        title="The largest text is hidden until its font has come",
        explanation=(
            "The largest text of the page was there, and the browser did not show it before its font had come or had "
            "failed. Where the font's face does not say otherwise, a text waits so for three seconds, or until the "
            "page has been loading for two where the face says nothing at all."
        ),
        advice=(
            "Give the font's face font-display: swap or optional, so that the text is shown with another font until "
            "then. Where a host of fonts writes the face, ask that for it (display=swap)."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.PAGE_PRECONNECT_MISSING: Entry(
        title="A connection is opened late",
        explanation=(
            "A paint waited for a connection to another host, which was opened only when its file was asked for. With "
            "a hint in the head of the document it would have been open by then."
        ),
        advice="Preconnect to the host in the head of the document; for fonts with crossorigin.",
        counts=Counts.NEW_VISIT,
    ),
    FindingId.PAGE_PRELOAD_UNUSED: Entry(
        title="Files are preloaded that nothing uses",
        explanation=(
            "A hint (rel=preload) had these files come early and urgently, and the page took none of them within three "
            "seconds of its load, as Chrome says. Where a paint waited for the line meanwhile, the time is what it "
            "gains without their bytes."
        ),
        advice=(
            "Remove the hint. Where the file is needed, give the hint the very address that the page uses, down to its "
            "version; for what a later page needs write rel=prefetch, which comes when nothing else does."
        ),
        counts=Counts.NEW_VISIT,
    ),
    FindingId.PAGE_UNCOMPRESSED: Entry(
        title="Texts are sent uncompressed",
        explanation=(
            "Style sheets, scripts, documents or data come as they are, although every browser takes them compressed. "
            "Where a paint waits for them, the time is what fewer bytes would save on this line."
        ),
        advice="Compress all texts with Brotli or gzip; fonts as WOFF2 are compressed already.",
        counts=Counts.NEW_VISIT,
    ),
    FindingId.PAGE_UNCACHED: Entry(
        title="Files must be fetched again at the next visit",
        explanation=(
            "The server does not let browsers keep these files for a day, or a cache before it hands them out when "
            "their time is over (Age). A returning visitor asks for them again, or for whether they have changed, and "
            "waits for the answer."
        ),
        advice=(
            "Give each version of a file its own name and let it be kept for a year; let files without a version be "
            "kept for a day at least."
        ),
        counts=Counts.RETURNING_VISIT,
    ),
    FindingId.PAGE_IMAGE_OVERSIZED: Entry(
        title="Pictures are larger than they are shown",
        explanation=(
            "These pictures have more than twice the pixels that a screen of double density would need at the size at "
            "which the page shows them on this screen. The rest was sent and thrown away."
        ),
        advice="Offer pictures in several widths with srcset and sizes, and let the browser choose.",
        counts=Counts.NEW_VISIT,
    ),
}
