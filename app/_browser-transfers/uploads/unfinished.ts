/** Remembers whether this browser has uploads to show or resume. Every page checks that before it loads the upload script. */

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
    // A browser that blocks localStorage keeps no uploads either.
  }
}
