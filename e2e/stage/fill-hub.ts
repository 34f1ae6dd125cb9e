import { createHash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Stage } from "./open-stage.ts";

/**
 * Thousands of nodes, or of checkpoints, in a moment: written beside what really joined and was saved, into the database of
 * a hub that is stopped for it and started again. Credentials of nodes follow from the seed, so that a process that is told the seed can be them all.
 */

export const credentialOf = (seed: string, index: number): string =>
  `tmn_${createHash("sha256").update(`${seed} ${index}`).digest("base64url")}`;

export const nameOf = (index: number): string => `sim-${String(index).padStart(5, "0")}`;

type Row = Record<string, string | number | bigint | null | Uint8Array>;

/** Writes copies of the first row of a table, each changed by `change`. */
function copyRows(database: DatabaseSync, table: "Node" | "Checkpoint", changes: Iterable<Row>): void {
  const like = database.prepare(`select * from "${table}" limit 1`).get();
  if (like === undefined) throw new Error(`There is no ${table} yet to make more of.`);
  const columns = Object.keys(like);
  const names = columns.map((name) => `"${name}"`).join(", ");
  const insert = database.prepare(`insert into "${table}" (${names}) values (${columns.map(() => "?").join(", ")})`);
  database.exec("begin");
  for (const change of changes) {
    const row: Row = { ...like, ...change };
    insert.run(...columns.map((name) => row[name] ?? null));
  }
  database.exec("commit");
}

function* nodeRows({ seed, nodes }: Fill): Generator<Row> {
  for (let index = 0; index < nodes; index++) {
    const credentialHash = createHash("sha256").update(credentialOf(seed, index)).digest("hex");
    yield { id: `sim${index}`, name: nameOf(index), credentialHash, acceptedSeq: 0 };
  }
}

function* checkpointRows({ steps = [] }: Fill): Generator<Row> {
  for (const step of steps) yield { id: `filled-${step}`, attempt: `filled${step}`, step };
}

interface Fill {
  seed: string;
  nodes: number;
  /** Complete checkpoints of the first one's run, beside it. Their bytes are nowhere: they are to be looked at. */
  steps?: Iterable<number>;
}

/** The stage needs a node that has joined, and a checkpoint where there are to be more of them: all are copies of its rows. */
export async function fillHub(stage: Stage, fill: Fill): Promise<void> {
  await stage.hub.stop();
  const database = new DatabaseSync(join(stage.dir, "hub", "hub.db"));
  try {
    copyRows(database, "Node", nodeRows(fill));
    copyRows(database, "Checkpoint", checkpointRows(fill));
  } finally {
    database.close();
  }
  await stage.startHubAgain();
}
