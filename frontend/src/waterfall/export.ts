// The waterfall as a PNG: the server's SVG of what the address asks for, painted by this browser.

const SCALE = 2;
// Chromium's canvases end at 16,384 pixels.
const MAX_PIXELS = 16_000;

export function mountPictures(root: HTMLElement): void {
  for (const link of root.querySelectorAll<HTMLAnchorElement>("a[data-export]")) {
    const kind = link.dataset["export"];
    link.addEventListener("click", (event) => {
      const url = new URL(link.href);
      url.search = location.search;
      link.href = url.href;
      if (kind !== "png") return;
      event.preventDefault();
      link.setAttribute("aria-busy", "true");
      // Where no picture comes of it the address itself is gone to: it says why, or gives the SVG.
      void savePng(url.href, link.download)
        .catch(() => location.assign(url))
        .finally(() => link.removeAttribute("aria-busy"));
    });
  }
}

async function savePng(url: string, name: string): Promise<void> {
  const response = await fetch(url, { credentials: "same-origin" });
  if (!response.ok) throw new Error(`the service answered ${response.status}`);
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(await response.text())}`;
  await picture.decode();
  const canvas = document.createElement("canvas");
  const scale = Math.min(SCALE, MAX_PIXELS / Math.max(picture.width, picture.height));
  [canvas.width, canvas.height] = [Math.round(picture.width * scale), Math.round(picture.height * scale)];
  canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (!blob) throw new Error("the picture is too large");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
