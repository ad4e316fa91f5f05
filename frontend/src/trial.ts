// Tries a rule on the past while it is written: the form is sent with its button's own name, and the answer's verdict is
// put in place. Nothing is stored by it.

const PAUSE_MS = 700;

export function mountTrial(root: HTMLElement): void {
  if (!(root instanceof HTMLFormElement)) return;
  let timer = 0;
  let newest = 0;
  const ask = async (): Promise<void> => {
    const number = ++newest;
    const fresh = await tried(root);
    const place = document.getElementById("trial");
    if (!fresh || !place || number !== newest) return;
    place.replaceChildren(...fresh.childNodes);
    place.hidden = false;
  };
  root.addEventListener("change", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void ask(), PAUSE_MS);
  });
  void ask();
}

async function tried(form: HTMLFormElement): Promise<Element | null> {
  const body = new FormData(form);
  body.set("preview", "1");
  try {
    const response = await fetch(location.href, { method: "POST", body, credentials: "same-origin" });
    // What is not valid yet is said when it is sent.
    if (!response.ok) return null;
    return new DOMParser().parseFromString(await response.text(), "text/html").getElementById("trial");
  } catch {
    return null;
  }
}
