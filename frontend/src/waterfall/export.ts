// The waterfall as a PNG: the server's SVG of what the address asks for, painted by this browser.

const SCALE = 2;

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
      void savePng(url.href, link.download).finally(() => link.removeAttribute("aria-busy"));
    });
    link.hidden = false;
  }
}

async function savePng(url: string, name: string): Promise<void> {
  const response = await fetch(url, { credentials: "same-origin" });
  if (!response.ok) return;
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(await response.text())}`;
  await picture.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [picture.width * SCALE, picture.height * SCALE];
  canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  const link = document.createElement("a");
  link.href = canvas.toDataURL("image/png");
  link.download = name;
  link.click();
}
