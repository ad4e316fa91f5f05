// Which organisation a page is of; empty for one that is of none, such as the sign-in.

export function organisationIn(page: Document): string {
  return page.querySelector<HTMLElement>("[data-organisation]")?.dataset["organisation"] ?? "";
}
