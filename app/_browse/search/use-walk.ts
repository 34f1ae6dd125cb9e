"use client";
import { useEffect, useRef, useState } from "react";
import { WALK_LIMITS, type BucketObject } from "#protocol/buckets/bucket.ts";
import type { FaultData } from "#protocol/faults/fault.ts";
import { hub } from "../../_hub/queries/client.ts";
import { faultOf } from "../../_hub/faults/fault-of.ts";

/** Result so far of listing everything below a folder. The walk pauses after each `STRETCH` and can be stopped. */
export interface Walked {
  objects: readonly BucketObject[];
  looked: { objects: number; bytes: number; requests: number };
  matching: { objects: number; bytes: number };
  /** Names that are not valid UTF-8: their count and the first of them. They are in no sum. */
  unreadable: { count: number; first: readonly string[] };
  /** Number of keys that the store listed again. */
  repeated: number;
  through: string | null;
  state: "walking" | "stopped" | "paused" | "done" | "failed";
  fault: FaultData | null;
}

/** Objects after which the walk pauses. At most `MOST_ROWS` matches are kept. */
const STRETCH = 250_000;
const MOST_ROWS = 5000;

const NOTHING: Walked = {
  objects: [],
  looked: { objects: 0, bytes: 0, requests: 0 },
  matching: { objects: 0, bytes: 0 },
  unreadable: { count: 0, first: [] },
  repeated: 0,
  through: null,
  state: "walking",
  fault: null,
};

/** Walks through a place while the component is mounted. Another place needs another component instance (`key`). */
export function useWalk(at: { profileId: string; prefix: string; words: string }): {
  walked: Walked;
  stop: () => void;
  goOn: () => void;
} {
  const { profileId, prefix, words } = at;
  const [walked, setWalked] = useState(NOTHING);
  // A new object at each continuation, so that the effect runs again.
  const [from, setFrom] = useState<{ cursor: string | null }>({ cursor: null });
  const held = useRef<{ next: string | null; stop: () => void }>({ next: null, stop: () => undefined });
  useEffect(() => {
    const controller = new AbortController();
    held.current.stop = () => controller.abort();
    const walk = async (): Promise<void> => {
      let here = 0;
      for (let { cursor } = from; ;) {
        const page = await hub.bucket.walk.query({ profileId, prefix, words, cursor }, { signal: controller.signal });
        cursor = page.nextCursor;
        held.current.next = cursor;
        here += page.looked.objects;
        const state = page.nextCursor === null ? "done" : here >= STRETCH ? "paused" : "walking";
        setWalked((old) => ({
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
          repeated: old.repeated + page.repeated,
          through: page.through ?? old.through,
          state,
          fault: null,
        }));
        if (state !== "walking") return;
      }
    };
    walk().catch((error: unknown) => {
      setWalked((old) =>
        controller.signal.aborted ? { ...old, state: "stopped" } : { ...old, state: "failed", fault: faultOf(error) },
      );
    });
    return () => controller.abort();
  }, [from, profileId, prefix, words]);
  return {
    walked,
    stop: () => held.current.stop(),
    goOn: () => {
      setWalked((old) => ({ ...old, state: "walking", fault: null }));
      setFrom({ cursor: held.current.next });
    },
  };
}
