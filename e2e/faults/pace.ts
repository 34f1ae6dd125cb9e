import { waitUntil } from "../stage/wait-until.ts";
import type { Copy } from "./copy.ts";
import type { Scene } from "./fault-class.ts";
import { readCounters } from "../stage/store-control.ts";

/** For faults that must come in mid-transfer: the transfer is made to last, and the instant is drawn. */

/** About a second for the small files of the tests. */
export const slowly = (scene: Scene): string[] => [
  scene.direction === "up" ? "--limit-up" : "--limit-down",
  String(Math.round(scene.payload.totalBytes / (scene.scale === "short" ? 1 : 3))),
];

/** Resolves when about this share of the bytes went through the link; "over" when the program ended before. */
export async function whenMoved(scene: Scene, copy: Copy, share: number): Promise<"moved" | "over"> {
  const wanted = Math.max(1, scene.payload.totalBytes * share);
  let isOver = false;
  void copy.ended.then(() => {
    isOver = true;
  });
  const read = async () => {
    if (isOver) return "over" as const;
    const { upBytes, downBytes } = scene.rig.proxy.seen();
    const moved = scene.direction === "up" ? upBytes : downBytes;
    return moved >= wanted ? ("moved" as const) : null;
  };
  return waitUntil("bytes move", read, { everyMs: 5 });
}

/** Resolves when the store has answered this many requests of a kind; "over" when the program ended before. */
export async function whenAnswered(scene: Scene, copy: Copy, about: { op: string; count: number }) {
  let isOver = false;
  void copy.ended.then(() => {
    isOver = true;
  });
  return waitUntil(
    `${about.count} times ${about.op}`,
    async () => {
      if (isOver) return "over" as const;
      const { targets } = await readCounters(scene.rig.store, about.op);
      return targets.reduce((sum, one) => sum + one.succeeded, 0) >= about.count ? ("answered" as const) : null;
    },
    { everyMs: 10 },
  );
}

/** Resolves when the program has said that it begins (it listens by then), or ended. */
export async function whenStarted(copy: Copy): Promise<void> {
  let isOver = false;
  void copy.ended.then(() => {
    isOver = true;
  });
  const begun = () => isOver || copy.said.some(({ type }) => type === "started");
  await waitUntil("the transfer starts", begun, { everyMs: 10 });
}

export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
