import { hear, newestOf, send, startEcho, type Echo } from "../../_ui/controls/own-echo.ts";

/**
 * Changes the view state in the page's address. Each change applies to the newest address, even before the page has rendered
 * with it. Two filters changed in quick succession therefore both stay.
 */

/** `step` adds a history entry, as after a click, so that Back undoes it; `same` replaces the entry, as while typing. */
export type ChangeAs = "step" | "same";

/** The browser's address: its path, and its query without the question mark. */
export interface BrowserAddress {
  read: () => { path: string; query: string };
  write: (address: string, as: ChangeAs) => void;
}

export interface AddressChanges {
  /** Edits the query of the page at `path`; does nothing when the browser is on another page by now. */
  change: (path: string, edit: (words: URLSearchParams) => void, as: ChangeAs) => void;
  /** Records the address with which the page was rendered. */
  show: (path: string, query: string) => void;
  /** Drops the pending changes: Back or Forward went to another address. */
  forget: () => void;
}

export function createAddressChanges(browser: BrowserAddress): AddressChanges {
  let waiting: { path: string; echo: Echo } | null = null;
  const newest = (path: string, query: string): Echo =>
    waiting?.path === path ? waiting.echo : startEcho(new URLSearchParams(query).toString());
  return {
    change: (path, edit, as) => {
      const here = browser.read();
      if (here.path !== path) return;
      const echo = newest(path, here.query);
      const words = new URLSearchParams(newestOf(echo));
      edit(words);
      const query = words.toString();
      if (query === newestOf(echo)) return;
      waiting = { path, echo: send(echo, query) };
      browser.write(query === "" ? path : `${path}?${query}`, as);
    },
    show: (path, query) => {
      if (waiting === null) return;
      const { echo } = hear(waiting.echo, query);
      waiting = waiting.path === path && echo.sent.length > 0 ? { path, echo } : null;
    },
    forget: () => {
      waiting = null;
    },
  };
}
