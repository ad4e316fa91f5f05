// Asks again and again as long as somebody looks: not in a tab that is hidden, and at once in one that is looked at again.

type Page = Pick<Document, "hidden" | "addEventListener">;

/** Acts after each pause until an act comes to false. */
export function whileSeen(act: () => Promise<boolean>, pauseMs: () => number, page: Page = document): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const later = (): void => {
    // Who looks away and back has one act begin before another one has ended: of both only one goes on.
    clearTimeout(timer);
    if (!page.hidden) timer = setTimeout(() => void turn(), pauseMs());
  };
  const turn = async (): Promise<void> => {
    if (await act()) later();
  };
  page.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (!page.hidden) void turn();
  });
  later();
}
