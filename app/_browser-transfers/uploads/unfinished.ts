/** Whether this browser has uploads to show or to go on with: looked at by every page, before anything of them is loaded. */

const NAME = "tidemark-browser-transfers";

export function hasUnfinished(): boolean {
  try {
    return localStorage.getItem(NAME) !== null;
  } catch {
    return false;
  }
}

export function setUnfinished(are: boolean): void {
  try {
    if (are) localStorage.setItem(NAME, "1");
    else localStorage.removeItem(NAME);
  } catch {
    // A browser that keeps nothing keeps no uploads either.
  }
}
