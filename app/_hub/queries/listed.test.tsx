import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { Listed, type PagedQuery } from "./listed.tsx";

const never = () => Promise.reject(new Error("nobody asked"));
const query = (over: Partial<PagedQuery>): PagedQuery => ({
  data: { pages: [], pageParams: [] },
  isError: false,
  error: null,
  refetch: never,
  hasNextPage: false,
  isFetchingNextPage: false,
  isFetchNextPageError: false,
  fetchNextPage: never,
  ...over,
});
const shown = (over: Partial<PagedQuery>, rows: readonly string[] | null) =>
  renderToStaticMarkup(
    <Listed query={query(over)} rows={rows} loading={{ label: "Loading things", rows: 2 }} empty={<p>None at all.</p>}>
      {(things) => <ul>{things.join(" and ")}</ul>}
    </Listed>,
  );
const failed = { isError: true, error: new Error("no answer") };

test("what is on its way is neither empty nor there", () => {
  const page = shown({ data: undefined }, null);
  expect(page).toContain("Loading things");
  expect(page).not.toContain("None at all.");
});

test("a list that was refused says why instead of being empty", () => {
  const page = shown({ data: undefined, ...failed }, null);
  expect(page).toContain("Try again");
  expect(page).not.toContain("Loading things");
  expect(page).not.toContain("None at all.");
});

test("nothing is called empty while pages are still to come", () => {
  expect(shown({}, [])).toContain("None at all.");
  const page = shown({ hasNextPage: true }, []);
  expect(page).not.toContain("None at all.");
  expect(page).toContain("Earlier");
});

test("what has come stays when the next page fails, and the failure is said below it", () => {
  const page = shown({ ...failed, isFetchNextPageError: true, hasNextPage: true }, ["one", "two"]);
  expect(page.indexOf("one and two")).toBeGreaterThan(0);
  expect(page.indexOf("Try again")).toBeGreaterThan(page.indexOf("one and two"));
});

test("a refresh that failed behind rows that are there is left to the banner of the page", () => {
  expect(shown(failed, ["one"])).not.toContain("Try again");
});
