import { randomUUID } from "node:crypto";
import type { RunName } from "#protocol/base/names.ts";
import { parseJsonOrNull } from "#protocol/base/parse-json-or-null.ts";
import type { DamageReport } from "#protocol/checkpoint/damage.ts";
import { finding, type Finding } from "#protocol/checkpoint/findings.ts";
import { FINDINGS, findingKey } from "#protocol/checkpoint/keys.ts";
import type { BucketCalls } from "./bucket-calls.ts";
import { readOnce } from "./read-once.ts";

/**
 * Reads the results of verifications, which lie in the bucket as a hub writes them. They never change, so each is
 * fetched once.
 */
export interface Findings {
  /**
   * Returns the ids of the checkpoints of a run whose latest verification found damage, and the reasons why others are
   * doubtful, by id. Faults: those of the store.
   */
  of(run: RunName): Promise<{ damaged: ReadonlySet<string>; doubted: ReadonlyMap<string, string> }>;
}

export function createFindings(calls: BucketCalls, prefix: string): Findings {
  /** By key. Null: unreadable, and ignored. */
  const known = new Map<string, Finding | null>();

  /** Parses a finding; returns null unless it is one of this run under its own key. */
  const parseFinding = (run: RunName, { key, text }: { key: string; text: string }): Finding | null => {
    const { data } = finding.safeParse(parseJsonOrNull(text));
    const isOwn =
      data?.run === run && findingKey(prefix, { run, checkpointId: data.checkpointId, id: data.id }) === key;
    return isOwn ? data : null;
  };

  return {
    of: async (run) => {
      const keys: string[] = [];
      for await (const { key } of calls.list(`${prefix}${FINDINGS}/${run}/`)) keys.push(key);
      await readOnce(calls, keys, { known, parse: (object) => parseFinding(run, object) });
      const latest = new Map<string, Finding>();
      const doubted = new Map<string, string>();
      for (const one of keys.flatMap((key) => known.get(key) ?? [])) {
        if (one.found.kind === "doubtful") doubted.set(one.checkpointId, one.found.why);
        else if (one.at >= (latest.get(one.checkpointId)?.at ?? -1)) latest.set(one.checkpointId, one);
      }
      const isDamaged = ({ found }: Finding) => found.kind === "damaged";
      return {
        damaged: new Set([...latest.values()].filter(isDamaged).map(({ checkpointId }) => checkpointId)),
        doubted,
      };
    },
  };
}

/** Records for other nodes and for a hub that a checkpoint is damaged. Faults: those of the store. */
export const writeDamage = (
  at: { calls: BucketCalls; prefix: string },
  { report, ...about }: { run: RunName; checkpointId: string; report: DamageReport },
): Promise<void> => writeFinding(at, { ...about, found: { kind: "damaged", report } });

/** Writes a finding about a checkpoint. Faults: those of the store. */
export async function writeFinding(
  { calls, prefix }: { calls: BucketCalls; prefix: string },
  about: { run: RunName; checkpointId: string; found: Finding["found"] },
): Promise<void> {
  const { run, checkpointId, found } = about;
  const body: Finding = {
    format: "tidemark.finding",
    version: 1,
    id: randomUUID(),
    run,
    checkpointId,
    at: Math.round(calls.now()),
    found,
  };
  await calls.write(findingKey(prefix, { run, checkpointId, id: body.id }), JSON.stringify(body));
}
