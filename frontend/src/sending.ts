// A form that is on its way is not sent once more: while the service takes its time, a second press would do it twice.

// Who has stopped the browser meanwhile may send it again after this.
const PATIENCE_MS = 10_000;

export function sendOnce(): void {
  let sent = new WeakMap<HTMLFormElement, number>();
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || form.method !== "post" || event.defaultPrevented) return;
    if (event.timeStamp - (sent.get(form) ?? -Infinity) < PATIENCE_MS) event.preventDefault();
    else sent.set(form, event.timeStamp);
  });
  // A page that is gone back to is kept as it was left.
  addEventListener("pageshow", () => {
    sent = new WeakMap();
  });
}
