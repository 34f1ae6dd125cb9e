import {
  checkpointOf,
  isKnownRecord,
  isTagKey,
  MOST_RECORD_BYTES,
  takeObject,
  takeUnread,
} from "../retention/read-record.ts";
import type { HistoryKind } from "./history-kind.ts";

const nameIn = ({ store, run }: { store: { prefix: string }; run: string }, key: string): string =>
  key.slice(`${store.prefix}keeping/${run}/`.length);

/**
 * Retention records in the bucket: pins, tags, notes and trash. They are read after the manifests. Records of a removed
 * checkpoint are not fetched, except tags, which may have moved to another one. An unreadable record protects its checkpoint.
 */
export const KEEP_RECORDS: HistoryKind = {
  folder: "keeping",
  mostBytes: MOST_RECORD_BYTES,
  epochOf: (name) => (checkpointOf(name) === null ? null : 0),
  isKnown: async (scope, key) => {
    const { db } = scope;
    if (await isKnownRecord(db, key)) return true;
    const id = checkpointOf(nameIn(scope, key)) ?? "";
    return !isTagKey(key) && (await db.checkpoint.count({ where: { id } })) === 0;
  },
  take: ({ db, store, run, now }, object) => takeObject({ db, run, prefix: store.prefix, now }, object),
  onRefused: async (scope, key) => {
    const { db, store, run, now } = scope;
    const checkpointId = checkpointOf(nameIn(scope, key));
    if (checkpointId !== null) await takeUnread({ db, run, prefix: store.prefix, now }, { key, checkpointId });
  },
  countMissing: async () => 0,
};
