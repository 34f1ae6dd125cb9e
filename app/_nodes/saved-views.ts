/**
 * Named views of the list of nodes: a name and the words of the address that make it (filter, search, order, tiles). They are
 * kept by the browser that made them; to hand one on, its address is enough.
 */
export interface SavedView {
  name: string;
  /** Of the address, in one order, so that equal views are equal texts: `q=us-east&show=risk`. */
  query: string;
}

const MOST_VIEWS = 30;
const LONGEST_NAME = 40;
const LONGEST_QUERY = 1_000;
/** What of the address is part of a view. */
const WORDS = ["q", "show", "sort", "view"];

/** The words of an address that make its view. */
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

/** What a browser kept, by name. Whatever does not look like it is left out. */
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

/** Why a view cannot have this name; null when it can. */
export function nameWrong(name: string): string | null {
  if (name.trim() === "") return "A saved filter needs a name.";
  return name.length > LONGEST_NAME ? `A name has ${LONGEST_NAME} characters at most.` : null;
}

/** With one more; one of the same name is replaced. */
export const withView = (views: readonly SavedView[], view: SavedView): string =>
  JSON.stringify([{ ...view, name: view.name.trim() }, ...views.filter(({ name }) => name !== view.name.trim())]);

export const withoutView = (views: readonly SavedView[], gone: string): string =>
  JSON.stringify(views.filter(({ name }) => name !== gone));
