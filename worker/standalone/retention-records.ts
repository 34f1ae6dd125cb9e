import type { RunName } from "#protocol/base/names.ts";
import { OWN_FOLDERS } from "#protocol/checkpoint/keys.ts";
import type { KeepRecord } from "#protocol/retention/keeping.ts";
import { parseRecord } from "#protocol/retention/parse-record.ts";
import type { BucketCalls } from "./bucket-calls.ts";
import { readOnce } from "./read-once.ts";

/** Retention state of one checkpoint, from the records in the bucket. */
export interface Retention {
  /** Trash record in effect; null: it is not in the trash. */
  trash: { by: string; until: number } | null;
  /** A pin, a tag or an unreadable record protects it from every rule. */
  isKept: boolean;
  /** A person took it out of the trash. */
  wasBroughtBack: boolean;
}

const RECORD_NAME = /^([A-Za-z0-9-]{8,64})\/.+\.json$/s;

/** Reads the retention records of runs. Records never change, so each is fetched once. */
export interface RetentionRecords {
  /** Returns the state of every checkpoint with a record, by id. Faults: those of the store. */
  read(run: RunName): Promise<ReadonlyMap<string, Retention>>;
}

export function createRetentionRecords(calls: BucketCalls, prefix: string): RetentionRecords {
  /** By key. Null: unreadable, which counts as a pin. */
  const known = new Map<string, KeepRecord | null>();

  return {
    read: async (run) => {
      const folder = `${prefix}${OWN_FOLDERS.keeping}${run}/`;
      const found: { key: string; checkpointId: string }[] = [];
      for await (const { key } of calls.list(folder)) {
        const [, checkpointId] = RECORD_NAME.exec(key.slice(folder.length)) ?? [];
        if (checkpointId !== undefined) found.push({ key, checkpointId });
      }
      const keys = found.map(({ key }) => key);
      await readOnce(calls, keys, { known, parse: (object) => parseRecord({ prefix, run }, object) });
      return settle(
        found.flatMap(({ key, checkpointId }) =>
          known.has(key) ? [{ checkpointId, record: known.get(key) ?? null }] : [],
        ),
      );
    },
  };
}

function settle(records: readonly { checkpointId: string; record: KeepRecord | null }[]): Map<string, Retention> {
  const ended = new Set(records.flatMap(({ record }) => record?.ends ?? []));
  const states = new Map<string, Retention>();
  for (const { checkpointId, record } of records) {
    const state = states.get(checkpointId) ?? { trash: null, isKept: false, wasBroughtBack: false };
    states.set(checkpointId, state);
    if (record === null) state.isKept = true;
    else if (record.word.kind === "trash") {
      if (ended.has(record.id)) state.wasBroughtBack = true;
      else state.trash = { by: record.by, until: Math.max(record.word.until, state.trash?.until ?? 0) };
    } else if ((record.word.kind === "pin" || record.word.kind === "tag") && !ended.has(record.id)) state.isKept = true;
  }
  return states;
}
