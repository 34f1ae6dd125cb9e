"use client";
import { useEffect, useRef, useState } from "react";
import { WALK_LIMITS, type BucketObject } from "#protocol/bucket.ts";
import type { FaultData } from "#protocol/fault.ts";
import { hub } from "../_hub/client.ts";
import { faultOf } from "../_hub/fault-of.ts";

/** A walk through everything below a folder, a stretch at a time, until it is stopped or has looked at enough. */
export interface Walked {
  objects: readonly BucketObject[];
  looked: { objects: number; bytes: number; requests: number };
  matching: { objects: number; bytes: number };
  /** Names that are not valid UTF-8, and the first of them: they are in no sum. */
  unreadable: { count: number; first: readonly string[] };
  through: string | null;
  state: "walking" | "stopped" | "paused" | "done" | "failed";
  fault: FaultData | null;
}

/** Objects after which it asks whether to go on, and rows that are kept. */
const STRETCH = 250_000;
const MOST_ROWS = 5000;

const NOTHING: Walked = {
  objects: [],
  looked: { objects: 0, bytes: 0, requests: 0 },
  matching: { objects: 0, bytes: 0 },
  unreadable: { count: 0, first: [] },
  through: null,
  state: "walking",
  fault: null,
};

export function useWalk(at: { profileId: string; prefix: string; words: string }): {
  walked: Walked;
  stop: () => void;
  goOn: () => void;
} {
  const { profileId, prefix, words } = at;
  const name = JSON.stringify([profileId, prefix, words]);
  const [of, setOf] = useState({ name, walked: NOTHING, turn: 0 });
  if (of.name !== name) setOf({ name, walked: NOTHING, turn: 0 });
  const held = useRef<{ name: string; cursor: string | null; stop: () => void }>({
    name,
    cursor: null,
    stop: () => undefined,
  });
  const { turn } = of;
  useEffect(() => {
    if (turn < 0) return;
    const controller = new AbortController();
    if (held.current.name !== name) held.current = { name, cursor: null, stop: () => undefined };
    held.current.stop = () => controller.abort();
    const change = (to: (walked: Walked) => Walked): void =>
      setOf((old) => (old.name === name ? { ...old, walked: to(old.walked) } : old));
    const walk = async (): Promise<void> => {
      let here = 0;
      for (;;) {
        const asked = { profileId, prefix, words, cursor: held.current.cursor };
        const page = await hub.bucket.walk.query(asked, { signal: controller.signal });
        held.current.cursor = page.nextCursor;
        here += page.looked.objects;
        const state = page.nextCursor === null ? "done" : here >= STRETCH ? "paused" : "walking";
        change((old) => ({
          objects: [...old.objects, ...page.objects].slice(0, MOST_ROWS),
          looked: {
            objects: old.looked.objects + page.looked.objects,
            bytes: old.looked.bytes + page.looked.bytes,
            requests: old.looked.requests + page.looked.requests,
          },
          matching: {
            objects: old.matching.objects + page.matching.objects,
            bytes: old.matching.bytes + page.matching.bytes,
          },
          unreadable: {
            count: old.unreadable.count + page.unreadable.count,
            first: [...old.unreadable.first, ...page.unreadable.first].slice(0, WALK_LIMITS.unreadable),
          },
          through: page.through ?? old.through,
          state,
          fault: null,
        }));
        if (state !== "walking") return;
      }
    };
    walk().catch((error: unknown) => {
      change((old) =>
        controller.signal.aborted ? { ...old, state: "stopped" } : { ...old, state: "failed", fault: faultOf(error) },
      );
    });
    return () => controller.abort();
  }, [name, turn, profileId, prefix, words]);
  return {
    walked: of.name === name ? of.walked : NOTHING,
    stop: () => held.current.stop(),
    goOn: () =>
      setOf((old) => ({ ...old, walked: { ...old.walked, state: "walking", fault: null }, turn: old.turn + 1 })),
  };
}
