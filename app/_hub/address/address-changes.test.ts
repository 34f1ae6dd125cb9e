import { expect, test } from "vitest";
import { createAddressChanges, type ChangeAs } from "./address-changes.ts";

/** A browser whose page is drawn only when `show` is called; its address may lag behind, too. */
function browserAt(query: string) {
  const written: [string, ChangeAs][] = [];
  const here = { path: "/nodes", query };
  const changes = createAddressChanges({ read: () => here, write: (address, as) => written.push([address, as]) });
  const set = (name: string, value: string, as: ChangeAs = "step"): void =>
    changes.change("/nodes", (words) => words.set(name, value), as);
  return { written, here, changes, set };
}

test("two words that are changed before the page is drawn both stay", () => {
  const { written, set } = browserAt("sort=name");
  set("show", "risk");
  set("q", "gpu", "same");
  expect(written).toEqual([
    ["/nodes?sort=name&show=risk", "step"],
    ["/nodes?sort=name&show=risk&q=gpu", "same"],
  ]);
});

test("a page that was drawn with the older of two changes does not take the newer one back", () => {
  const { written, changes, here, set } = browserAt("");
  set("show", "risk");
  set("q", "gpu");
  here.query = "show=risk";
  changes.show("/nodes", "show=risk");
  set("sort", "name");
  expect(written.at(-1)).toEqual(["/nodes?show=risk&q=gpu&sort=name", "step"]);
});

test("after Back, and after a link to another query, changes begin from there", () => {
  const { written, changes, here, set } = browserAt("");
  set("show", "risk");
  changes.forget();
  set("q", "gpu");
  expect(written.at(-1)?.[0]).toBe("/nodes?q=gpu");
  here.query = "show=online";
  changes.show("/nodes", "show=online");
  set("sort", "name");
  expect(written.at(-1)?.[0]).toBe("/nodes?show=online&sort=name");
});

test("what changes nothing is no step, and what comes after the page was left is dropped", () => {
  const { written, changes, here, set } = browserAt("show=risk");
  set("show", "risk");
  here.path = "/runs";
  set("show", "all");
  changes.change("/runs", (words) => words.delete("show"), "step");
  expect(written).toEqual([["/runs", "step"]]);
});
