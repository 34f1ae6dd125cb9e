import { expect, test } from "vitest";
import { nameWrong, queryOf, readViews, withoutView, withView } from "./saved-views.ts";

const risky = { name: "At risk in the east", query: "q=us-east&show=risk" };

test("a view is the words of the address that make it, in one order", () => {
  const address = new URLSearchParams("show=risk&dialog=x&q=us-east&sort=");
  expect(queryOf(address)).toBe("q=us-east&show=risk");
  expect(queryOf(new URLSearchParams(""))).toBe("");
});

test("views are kept by name, in the order of names, and one of the same name is replaced", () => {
  const two = readViews(withView([risky], { name: " 10 slow ", query: "sort=rtt" }));
  expect(two.map(({ name }) => name)).toEqual(["10 slow", risky.name]);
  const replaced = readViews(withView(two, { name: "10 slow", query: "sort=-rtt" }));
  expect(replaced).toEqual([{ name: "10 slow", query: "sort=-rtt" }, risky]);
  expect(readViews(withoutView(replaced, "10 slow"))).toEqual([risky]);
});

test("what a browser kept that is no view is left out", () => {
  expect(readViews(null)).toEqual([]);
  expect(readViews("{")).toEqual([]);
  expect(readViews('"text"')).toEqual([]);
  expect(readViews(JSON.stringify([null, { name: "" }, { name: "a".repeat(41), query: "" }, risky]))).toEqual([risky]);
  expect(readViews(JSON.stringify([{ name: "x", query: "next=//evil.example&q=a" }]))[0]?.query).toBe("q=a");
});

test("a name is there and short", () => {
  expect(nameWrong(" ")).toContain("needs a name");
  expect(nameWrong("n".repeat(41))).toContain("40");
  expect(nameWrong("ours")).toBeNull();
});
