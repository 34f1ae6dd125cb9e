import { hubMarkKey, readMarkText } from "#protocol/checkpoint/writer-lease.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import type { BucketCalls } from "./bucket-calls.ts";

/**
 * Looks for the marker object of a hub that manages the checkpoints under a prefix. A node without a hub writes nothing
 * there.
 */
export interface HubMarkWatch {
  /** Set once the marker was seen: this process then writes nothing below the prefix any more. */
  readonly seen: Fault | null;
  /** Looks for the marker now. @throws Fault PREFIX_OF_HUB, those of the store */
  assertNone(): Promise<void>;
}

export function createHubMarkWatch(calls: BucketCalls, place: { prefix: string; shown: string }): HubMarkWatch {
  let seen: Fault | null = null;
  return {
    get seen() {
      return seen;
    },
    assertNone: async () => {
      if (seen !== null) throw seen;
      const found = await calls.read(hubMarkKey(place.prefix));
      if (found === null) return;
      // A marker with unknown content counts too.
      const url = readMarkText(found.text)?.url ?? null;
      const where = url === null ? "" : `it is at ${visibleText(url)}; `;
      const detail = `${where}where it is gone for good, remove its mark (tidemark rm ${place.shown}/_tidemark/hub.json) and start again`;
      throw (seen = new Fault("PREFIX_OF_HUB", { op: "--to", subject: place.shown, detail }));
    },
  };
}
