// Takes a file that is dropped anywhere on the page, sends it with its form and shows how far it is. Without it the
// browser sends the form, and shows nothing meanwhile.

const REFUSED = 422;
const FORM = "form[enctype]";

export function mountUpload(root: HTMLElement): void {
  const form = (): HTMLFormElement | null => root.querySelector<HTMLFormElement>(FORM);
  root.addEventListener("change", () => judge(form()));
  root.addEventListener("submit", (event) => {
    event.preventDefault();
    const sent = form();
    if (sent) send(root, sent);
  });
  // A file that misses the form would otherwise take the page's place.
  for (const kind of ["dragover", "drop", "dragleave"] as const) {
    document.addEventListener(kind, (event) => drag(event, form()));
  }
}

/** Why a file is not sent; empty when it may be. */
export function fault(size: number, limit: number): string {
  if (size <= limit) return "";
  return `The file has ${inMebibytes(size)} MiB, and at most ${inMebibytes(limit)} are taken. Pack it with gzip.`;
}

/** How far it is, in words. The service reads the file once it has all of it. */
export function told(sent: number, total: number): string {
  return sent < total ? `Sent ${Math.floor((100 * sent) / total)} %` : "Reading the file …";
}

/** What is said of files that were dropped; only one is taken. */
export function dropped(names: readonly string[]): string {
  const [name] = names;
  if (name === undefined) return "That is no file.";
  return names.length > 1 ? `These are ${names.length} files. Drop one at a time.` : `${name} is chosen.`;
}

/** Rounded up, so that a file that is a byte too large does not read as one that is taken. */
function inMebibytes(bytes: number): string {
  return String(Math.ceil((10 * bytes) / 1_048_576) / 10);
}

function chooser(form: HTMLFormElement | null): HTMLInputElement | null {
  return form?.querySelector<HTMLInputElement>("input[type=file]") ?? null;
}

function judge(form: HTMLFormElement | null): void {
  const input = chooser(form);
  input?.setCustomValidity(fault(input.files?.[0]?.size ?? 0, Number(input.dataset["maxBytes"] ?? Infinity)));
}

function drag(event: DragEvent, form: HTMLFormElement | null): void {
  const held = event.dataTransfer;
  const input = chooser(form);
  if (!form || !input || !held?.types.includes("Files")) return;
  event.preventDefault();
  form.classList.toggle("dropping", event.type === "dragover");
  if (event.type !== "drop" || isBusy(form)) return;
  const names = Array.from(held.files, (file) => file.name);
  if (names.length === 1) {
    input.files = held.files;
    judge(form);
  }
  show(form, dropped(names), null);
}

function send(root: HTMLElement, form: HTMLFormElement): void {
  const request = new XMLHttpRequest();
  const say = (text: string, share: number | null): void => show(form, text, share);
  request.upload.addEventListener("progress", (event) => {
    if (event.lengthComputable) say(told(event.loaded, event.total), (100 * event.loaded) / event.total);
  });
  request.addEventListener("load", () => arrived(root, form, request));
  request.addEventListener("error", () => {
    free(form, true);
    say("The connection broke before the file was whole. Try again.", null);
  });
  request.open("POST", form.action);
  request.setRequestHeader("X-Requested-With", "XMLHttpRequest");
  request.send(new FormData(form));
  free(form, false);
  say("Sending …", 0);
}

/** What was made has an address; a form that was not taken comes back with the reasons at its fields. */
function arrived(root: HTMLElement, form: HTMLFormElement, request: XMLHttpRequest): void {
  if (request.status < 400) {
    location.assign(request.getResponseHeader("Location") ?? request.responseURL);
    return;
  }
  const answer = new DOMParser().parseFromString(request.responseText, "text/html");
  const fresh = request.status === REFUSED ? answer.querySelector<HTMLFormElement>(`[data-mount="upload"] ${FORM}`) : null;
  if (!fresh) {
    free(form, true);
    show(form, answer.querySelector("h1")?.textContent ?? `The service answered ${request.status}.`, null);
    return;
  }
  const [before, after] = [chooser(form), chooser(fresh)];
  root.replaceChild(fresh, form);
  if (after && before) after.files = before.files;
  after?.focus();
}

function show(form: HTMLFormElement, text: string, share: number | null): void {
  const bar = form.querySelector("progress");
  const status = form.querySelector("[role=status]");
  if (bar) {
    bar.hidden = share === null;
    bar.value = share ?? 0;
  }
  if (status && status.textContent !== text) status.textContent = text;
}

function isBusy(form: HTMLFormElement): boolean {
  return form.querySelector("button")?.disabled ?? false;
}

function free(form: HTMLFormElement, enabled: boolean): void {
  for (const button of form.querySelectorAll("button")) button.disabled = !enabled;
}
