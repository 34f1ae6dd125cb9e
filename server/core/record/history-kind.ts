import type { Database } from "#prisma/open.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { OpenStore } from "../api/ports/stores.ts";

/** A kind of object in a bucket from which the past of a run can be rebuilt. */

export interface HistoryScope {
  db: Database;
  store: OpenStore;
  run: RunName;
  /** Epoch ms. */
  now: number;
}

export interface HistoryObject {
  key: string;
  text: string;
  /** Epoch ms by the store's clock. */
  modifiedAt: number;
}

export interface HistoryKind {
  /** The objects of a run lie below `{prefix}{folder}/{run}/`. */
  folder: string;
  mostBytes: number;
  /** Returns the epoch in a key relative to the run's folder; null when it is no key of this kind. */
  epochOf: (name: string) => number | null;
  /** Returns whether the database already has this object, so that it is not fetched. */
  isKnown: (scope: HistoryScope, key: string) => Promise<boolean>;
  /**
   * Records the object's content, once. Returns whether something was new. @throws Fault BAD_INPUT, NOT_THIS_NODES, CONFLICT
   * and those of comparing objects: this one is refused
   */
  take: (scope: HistoryScope, object: HistoryObject) => Promise<boolean>;
  /** Handles an object that was refused. */
  onRefused?: (scope: HistoryScope, key: string) => Promise<void>;
  /** Returns how many objects of this run the database knows that are not among `keys`. */
  countMissing: (scope: HistoryScope, keys: ReadonlySet<string>) => Promise<number>;
}

export const refused = (object: Pick<HistoryObject, "key">, detail: string): Fault =>
  new Fault("BAD_INPUT", { op: "rebuild", subject: object.key, detail });

/** Parses an object's text as JSON. @throws Fault BAD_INPUT */
export function readJson(object: HistoryObject): unknown {
  try {
    return JSON.parse(object.text);
  } catch {
    throw refused(object, "it is not JSON");
  }
}
