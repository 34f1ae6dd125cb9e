import { describe, expect, it } from "vitest";
import type { FolderPage } from "#protocol/buckets/bucket.ts";
import { rowsOf } from "./folder-pages.ts";
import { createFolder, type Asked, type Folder } from "./folder.ts";

const object = (key: string, sizeBytes = 1) => ({ key, sizeBytes, etag: '"e"', modifiedAt: 1, storageClass: null });
const nameOf = (index: number) => `k${String(index).padStart(7, "0")}`;

/** A listing of this many keys; its cursors are numbers. */
function listing(total: number) {
  const asked: Asked[] = [];
  const list = async (one: Asked): Promise<FolderPage> => {
    asked.push(one);
    const start =
      one.cursor === null ? (one.startAfter === null ? 0 : Number(one.startAfter.slice(1)) + 1) : Number(one.cursor);
    const end = Math.min(total, start + one.limit);
    const objects = Array.from({ length: end - start }, (_, at) => object(nameOf(start + at)));
    return { folders: [], objects, unreadable: [], repeated: 0, nextCursor: end === total ? null : String(end) };
  };
  return { list, asked };
}

async function settle(until: () => boolean): Promise<void> {
  for (let turn = 0; !until(); turn++) {
    if (turn > 10_000) throw new Error("it never settled");
    await new Promise<void>((resolve) => queueMicrotask(resolve));
  }
}

/** Counted by the first row of each page: of 200 rows first, of 1,000 after that. */
const heldRows = (folder: Folder): number => {
  const { count, rowAt } = folder.state();
  const pages = Array.from({ length: Math.ceil((count - 200) / 1000) }, (_, page) => 200 + page * 1000);
  return pages.filter((index) => rowAt(index) !== null).length * 1000 + (rowAt(0) === null ? 0 : 200);
};

describe("a folder", () => {
  it("has its folders and objects in one order, in which nothing moves", () => {
    const page = {
      folders: ["b/"],
      objects: [object("a"), object("c")],
      unreadable: [],
      repeated: 0,
      nextCursor: null,
    };
    expect(rowsOf(page).map(({ key }) => key)).toEqual(["a", "b/", "c"]);
  });

  it("begins with a short page and fetches only as far as somebody looks", async () => {
    const { list, asked } = listing(1_000_000);
    const folder = createFolder(list);
    folder.need(0, 20);
    await settle(() => !folder.state().isLoading);
    expect(asked.map(({ limit }) => limit)).toEqual([200, 1000]);
    folder.need(1000, 1040);
    await settle(() => !folder.state().isLoading);
    expect(folder.state()).toMatchObject({ count: 2200, isComplete: false, isWhole: true });
  });

  it("of a million keys is walked through with a bounded number of rows in hand", async () => {
    const { list } = listing(1_000_000);
    const folder = createFolder(list);
    let most = 0;
    let asked = 0;
    for (let at = 0; !folder.state().isComplete; at = folder.state().count) {
      folder.need(Math.max(0, at - 30), at);
      await settle(() => !folder.state().isLoading);
      if (asked++ % 50 === 0) most = Math.max(most, heldRows(folder));
    }
    expect(folder.state()).toMatchObject({ count: 1_000_000, isWhole: false, objects: 1_000_000, bytes: 1_000_000 });
    expect(most).toBeLessThanOrEqual(40_000);
    expect(folder.state().rowAt(5)).toBeNull();
    folder.need(0, 40);
    await settle(() => !folder.state().isLoading);
    expect(folder.state().rowAt(5)?.key).toBe(nameOf(5));
    folder.need(999_990, 1_000_000);
    await settle(() => !folder.state().isLoading);
    expect(folder.state().rowAt(999_999)?.key).toBe(nameOf(999_999));
  });

  it("goes on from the last key when the hub knows the place no more", async () => {
    const { list, asked } = listing(3000);
    const over = { data: { fault: { code: "LISTING_OVER" } } };
    const folder = createFolder((one) =>
      one.cursor === null ? list(one) : Promise.reject(Object.assign(new Error("over"), over)),
    );
    folder.need(0, 3000);
    await settle(() => folder.state().isComplete || folder.state().fault !== null);
    expect(folder.state()).toMatchObject({ count: 3000, fault: null });
    expect(asked[1]?.startAfter).toBe(nameOf(199));
  });

  it("that could not be listed is not empty, and goes on when it is tried again", async () => {
    const { list } = listing(500);
    let isDown = false;
    const folder = createFolder((one) => (isDown ? Promise.reject(new Error("down")) : list(one)));
    folder.need(0, 10);
    isDown = true;
    await settle(() => folder.state().fault !== null);
    expect(folder.state()).toMatchObject({ count: 200, isComplete: false, fault: { code: "HUB_UNREACHABLE" } });
    isDown = false;
    folder.retry();
    await settle(() => folder.state().isComplete);
    expect(folder.state().count).toBe(500);
  });
});
