import { join } from "node:path";
import * as z from "zod";
import { formatCount } from "#protocol/base/units.ts";
import { shownName } from "../command-line/command-context.ts";
import { readStateFile, writeStateFile } from "../host/state-file.ts";

/** Tells a person, once for each bucket and prefix, what a hub adds when several nodes write there. */

const told = z.object({ places: z.array(z.string().max(4096)).max(1_000) });
const MOST_NAMED = 3;

interface Writer {
  run: string;
  node: string;
}

/**
 * Returns the sentence; null when this state folder has shown it before, or when no other node writes there. `place`:
 * `s3://bucket/prefix`. Faults: READ_FAILED.
 */
export async function suggestHub(state: string, place: string, others: readonly Writer[]): Promise<string[]> {
  if (others.length === 0) return [];
  const path = join(state, "hub-suggested.json");
  const before = (await readStateFile(path, told))?.places ?? [];
  if (before.includes(place)) return [];
  // A read-only folder does not prevent the status; the sentence is then shown again the next time.
  await writeStateFile(path, { places: [...before, place].slice(-1_000) }).catch(() => undefined);
  return [suggestion(place, others)];
}

function suggestion(place: string, others: readonly Writer[]): string {
  const named = others.slice(0, MOST_NAMED).map(({ run, node }) => `${shownName(node)} (${shownName(run)})`);
  const more = others.length > MOST_NAMED ? ` and ${formatCount(others.length - MOST_NAMED)} more` : "";
  const who = `${named.join(", ")}${more}`;
  return `Below ${shownName(place)} other nodes write too: ${who}. A hub would add one page for all of them, alerts, replicas in other buckets, restores by a click, and nodes that hold no key of the bucket. It takes this prefix over as it is, and no byte moves: add it as a bucket in the hub, press "Take runs over", and start the nodes with --hub (docs/standalone.md).`;
}
