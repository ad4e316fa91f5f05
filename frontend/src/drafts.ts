// What was typed is not lost when a session ends under somebody's hands. A form that is sent is remembered in this tab
// until the next page: where that one says that nothing was taken (`data-unsent`: the sign-in, a form out of date or of
// another organisation), the form is filled in again as soon as its own page opens for the same person in the same
// organisation. Secrets and files are not remembered.

import { organisationIn } from "./organisation";

const KEY = "draft";
const SECRET = "[type=password], [type=hidden], [type=file], [data-secret]";
const TOLD = "Nothing was sent yet. What you typed is here again, without secrets and files.";

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

export interface Draft {
  readonly page: string;
  readonly person: string;
  readonly action: string;
  readonly fields: readonly (readonly [name: string, value: string, chosen: boolean])[];
  readonly unsent: boolean;
}

export interface Place {
  readonly page: string;
  readonly person: string;
  readonly refuses: boolean;
}

/** What is to be done with a draft where one has arrived. */
export function fate(draft: Draft, at: Place): "keep" | "fill" | "forget" {
  if (at.refuses) return "keep";
  if (!draft.unsent || at.person !== draft.person) return "forget";
  return at.page === draft.page ? "fill" : "keep";
}

/** The steps of a script with the dots that ask for a stored secret in place of its secrets. */
export function masked(text: string): string {
  return text.replace(/^([ \t]*secret[ \t]+).*([ \t]+into[ \t])/gim, "$1••••••••$2");
}

export function keepDrafts(): void {
  settle(place());
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form instanceof HTMLFormElement && form.method === "post" && !place().refuses) remember(form, place());
  });
}

function place(): Place {
  return {
    page: location.pathname,
    person: `${document.querySelector(".who")?.textContent ?? ""} ${organisationIn(document)}`,
    refuses: document.querySelector("[data-unsent]") !== null,
  };
}

function remember(form: HTMLFormElement, at: Place): void {
  const fields = controls(form).flatMap(fieldsOf);
  const draft: Draft = { page: at.page, person: at.person, action: form.action, fields, unsent: false };
  store(draft);
}

function settle(at: Place): void {
  const draft = stored();
  if (!draft) return;
  const next = fate(draft, at);
  store(next === "keep" ? { ...draft, unsent: true } : null);
  if (next === "fill") fill(draft);
}

// A browser may keep nothing for us, by its settings or for want of room: then nothing is remembered, and all else works.
function stored(): Draft | null {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "null") as Draft | null;
  } catch {
    return null;
  }
}

function store(draft: Draft | null): void {
  try {
    sessionStorage.removeItem(KEY);
    if (draft) sessionStorage.setItem(KEY, JSON.stringify(draft));
  } catch {
    return;
  }
}

function fill(draft: Draft): void {
  const form = [...document.forms].find((one) => one.method === "post" && one.action === draft.action);
  if (!form || draft.fields.length === 0) return;
  for (const control of controls(form)) put(control, draft.fields);
  for (let fold = form.closest("details"); fold; fold = fold.parentElement?.closest("details") ?? null) fold.open = true;
  const note = document.createElement("p");
  note.className = "note";
  note.setAttribute("role", "status");
  form.before(note);
  note.textContent = TOLD;
}

function put(control: Control, fields: Draft["fields"]): void {
  const own = fields.filter(([name]) => name === control.name);
  if (control instanceof HTMLSelectElement) {
    for (const option of control.options) option.selected = own.some(([, value]) => value === option.value);
  } else if (isTicked(control)) {
    const found = own.find(([, value]) => value === control.value);
    if (found) control.checked = found[2];
  } else if (own[0]) control.value = own[0][1];
}

function controls(form: HTMLFormElement): Control[] {
  const known = [HTMLInputElement, HTMLTextAreaElement, HTMLSelectElement];
  return [...form.elements].filter(
    (one): one is Control => known.some((kind) => one instanceof kind) && !one.matches(SECRET),
  );
}

function fieldsOf(control: Control): [string, string, boolean][] {
  const { name } = control;
  if (control instanceof HTMLSelectElement) {
    return [...control.selectedOptions].map((option) => [name, option.value, true]);
  }
  // A recording does not say which of its values are secret.
  if (control.value.trimStart().startsWith("{")) return [];
  return [[name, masked(control.value), isTicked(control) && control.checked]];
}

function isTicked(control: Control): control is HTMLInputElement {
  return control instanceof HTMLInputElement && (control.type === "checkbox" || control.type === "radio");
}
