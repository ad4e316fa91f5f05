// Forms that are sent with a passkey: the browser asks for it, and what it says goes with the form. WebAuthn, Level 3.
import { readData } from "./mount";

const TOO_OLD = "This browser is too old for passkeys.";
const SENTENCES: Readonly<Record<string, string>> = {
  NotAllowedError: "No passkey was shown, or it took too long. Try once more.",
  InvalidStateError: "There is a passkey of yours already where you wanted to keep this one.",
  NotSupportedError: "What was chosen cannot keep a passkey.",
};

export function mountPasskey(root: HTMLElement): void {
  const credential = root.querySelector<HTMLInputElement>("[name=credential]");
  if (!(root instanceof HTMLFormElement) || credential === null) return;
  root.hidden = false;
  let isAsking = false;
  root.addEventListener("submit", (event) => {
    if (credential.value) return;
    event.preventDefault();
    // A second challenge would make the first one's answer worth nothing.
    if (isAsking) return;
    isAsking = true;
    say(root, "");
    void shown(root).then(
      (answer) => {
        credential.value = JSON.stringify(answer);
        root.requestSubmit();
        // Who comes back to the page shows it once more.
        credential.value = "";
      },
      (error: unknown) => say(root, sentence(error, root)),
    ).finally(() => {
      isAsking = false;
    });
  });
}

async function shown(form: HTMLFormElement): Promise<unknown> {
  const { publicKey } = form.dataset["options"] ? await fetched(form.dataset["options"]) : written();
  return ((await ask(publicKey)) as PublicKeyCredential).toJSON();
}

interface Options {
  publicKey: PublicKeyCredentialCreationOptionsJSON | PublicKeyCredentialRequestOptionsJSON;
}

/** Who is named in what the service wrote is about to get a new one. */
function ask(publicKey: Options["publicKey"]): Promise<Credential | null> {
  return "user" in publicKey
    ? navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey) })
    : navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey) });
}

function written(): Options {
  const options = readData<Options>("passkey-options");
  if (options === null) throw new Error("The page lost what it needs for passkeys.");
  return options;
}

/** A challenge is made for who asks for it, and not for everybody who looks at the page. */
async function fetched(address: string): Promise<Options> {
  const response = await fetch(address, { headers: { Accept: "application/json" }, credentials: "same-origin" });
  if (!response.ok) throw new Error(response.status === 429 ? "Too many tries. Wait a minute." : `Firstbyte answered ${response.status}.`);
  const told = (response.redirected ? {} : await response.json()) as { request_options?: Options };
  return told.request_options ?? ledOn();
}

/** Who has come in by another tab meanwhile, or is half in, is not asked: the page itself leads there. */
function ledOn(): Promise<never> {
  location.assign(location.href);
  return new Promise(() => undefined);
}

function sentence(error: unknown, form: HTMLFormElement): string {
  if (!("PublicKeyCredential" in window) || !("parseRequestOptionsFromJSON" in PublicKeyCredential)) return TOO_OLD;
  const name = error instanceof Error ? error.name : "";
  if (name === "SecurityError") return `Passkeys are for ${form.dataset["home"] ?? ""} alone: open Firstbyte there.`;
  return SENTENCES[name] ?? (error instanceof Error ? error.message : String(error));
}

function say(form: HTMLFormElement, text: string): void {
  const place = form.querySelector<HTMLElement>("[data-said]");
  if (place === null) return;
  place.textContent = text;
  place.hidden = text === "";
}
