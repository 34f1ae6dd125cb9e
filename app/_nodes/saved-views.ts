/**
 * A named view of the node list: the query parameters for filter, search, order and tiles. Views are kept in this browser;
 * sharing one needs only its address.
 */
export interface SavedView {
  name: string;
  /** Query in a fixed order, so that equal views have equal texts: `q=us-east&show=risk`. */
  query: string;
}

const MOST_VIEWS = 30;
const LONGEST_NAME = 40;
const LONGEST_QUERY = 1_000;
/** Query parameters that are part of a view. */
const WORDS = ["q", "show", "sort", "view"];

/** Returns the query of the current view. */
export function queryOf(address: URLSearchParams): string {
  const words = new URLSearchParams();
  for (const name of WORDS) {
    const word = address.get(name);
    if (word !== null && word !== "") words.set(name, word);
  }
  return words.toString();
}

const textOf = (value: unknown, key: string): string => {
  const text: unknown = typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
  return typeof text === "string" ? text : "";
};

/** Parses stored views, sorted by name. Invalid entries are dropped. */
export function readViews(text: string | null): SavedView[] {
  if (text === null) return [];
  let kept: unknown;
  try {
    kept = JSON.parse(text);
  } catch {
    return [];
  }
  if (!Array.isArray(kept)) return [];
  const views = kept.map((one: unknown) => ({ name: textOf(one, "name"), query: textOf(one, "query") }));
  const good = views.filter(({ name, query }) => nameWrong(name) === null && query.length <= LONGEST_QUERY);
  return [...new Map(good.map((view) => [view.name, view])).values()]
    .slice(0, MOST_VIEWS)
    .map(({ name, query }) => ({ name, query: queryOf(new URLSearchParams(query)) }))
    .sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

/** Returns why a name is invalid; null when it is valid. */
export function nameWrong(name: string): string | null {
  if (name.trim() === "") return "A saved filter needs a name.";
  return name.length > LONGEST_NAME ? `A name has ${LONGEST_NAME} characters at most.` : null;
}

/** Returns the views with one added, as text; it replaces one with the same name. */
export const withView = (views: readonly SavedView[], view: SavedView): string =>
  JSON.stringify([{ ...view, name: view.name.trim() }, ...views.filter(({ name }) => name !== view.name.trim())]);

export const withoutView = (views: readonly SavedView[], gone: string): string =>
  JSON.stringify(views.filter(({ name }) => name !== gone));
