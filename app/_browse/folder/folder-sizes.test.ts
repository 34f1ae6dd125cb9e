import { expect, test, vi } from "vitest";
import { createFolderSizes, type WalkFolder } from "./folder-sizes.ts";

const page = (objects: number, bytes: number, nextCursor: string | null = null) => ({
  looked: { objects, bytes, requests: 1 },
  nextCursor,
});

test("each folder that is looked at is counted to its end, once, two at a time", async () => {
  const asked: string[] = [];
  let most = 0;
  let under = 0;
  const walk: WalkFolder = async ({ prefix, cursor }) => {
    asked.push(`${prefix}${cursor ?? ""}`);
    most = Math.max(most, ++under);
    await Promise.resolve();
    under--;
    return cursor === null ? page(2, 10, "next") : page(1, 5);
  };
  const sizes = createFolderSizes(walk);
  sizes.need(["a/", "b/", "c/"]);
  await vi.waitFor(() => expect(sizes.state()("c/")?.state).toBe("whole"));
  expect(sizes.state()("a/")).toMatchObject({ objects: 3, bytes: 15, state: "whole" });
  expect(most).toBe(2);
  sizes.need(["a/", "b/", "c/"]);
  expect(asked.toSorted()).toEqual(["a/", "a/next", "b/", "b/next", "c/", "c/next"]);
});

test("a folder that never ends is counted so far, and the sum is called so", async () => {
  const sizes = createFolderSizes(async () => page(100_000, 1, "next"));
  sizes.need(["a/"]);
  await vi.waitFor(() => expect(sizes.state()("a/")).toMatchObject({ objects: 300_000, state: "partial" }));
});

test("a folder that cannot be listed holds up no other and says why", async () => {
  const sizes = createFolderSizes(async ({ prefix }) => {
    if (prefix === "a/") throw new Error("no");
    return page(1, 7);
  });
  sizes.need(["a/", "b/", "c/"]);
  await vi.waitFor(() => expect(sizes.state()("c/")?.bytes).toBe(7));
  expect(sizes.state()("a/")?.state).toBe("failed");
  expect(sizes.state()("a/")?.fault).not.toBeNull();
});

test("folders that are out of sight before their turn are not counted, and nothing is after the list was closed", async () => {
  const asked: string[] = [];
  const release: (() => void)[] = [];
  const sizes = createFolderSizes(async ({ prefix }) => {
    asked.push(prefix);
    await new Promise<void>((resolve) => release.push(resolve));
    return page(1, 1);
  });
  sizes.need(["a/", "b/", "c/"]);
  sizes.need(["d/"]);
  for (const go of release.splice(0)) go();
  await vi.waitFor(() => expect(asked).toEqual(["a/", "b/", "d/"]));
  sizes.need(["e/", "f/"]);
  sizes.close();
  for (const go of release.splice(0)) go();
  await vi.waitFor(() => expect(sizes.state()("d/")).not.toBeNull());
  expect(asked).not.toContain("f/");
});
