const DAY = { day: "numeric", month: "short", year: "numeric" } as const;

/** `22 Nov 2026`. */
export const dayOf = (at: number): string => new Date(at).toLocaleDateString("en-GB", DAY);

/** `22 Nov, 13:53:07`, with the year when it is another one. */
export function momentOf(at: number, now: number): string {
  const date = new Date(at);
  const isOfThisYear = date.getFullYear() === new Date(now).getFullYear();
  const day = date.toLocaleDateString("en-GB", isOfThisYear ? { day: "numeric", month: "short" } : DAY);
  return `${day}, ${date.toLocaleTimeString("en-GB")}`;
}
