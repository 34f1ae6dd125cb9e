import { createHash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Stage } from "./open-stage.ts";

/**
 * Inserts thousands of nodes or checkpoints into the database of a stopped hub as copies of real rows. Credentials derive from
 * the seed, so that another process can impersonate every node.
 */

export const credentialOf = (seed: string, index: number): string =>
  `tmn_${createHash("sha256").update(`${seed} ${index}`).digest("base64url")}`;

export const nameOf = (index: number): string => `sim-${String(index).padStart(5, "0")}`;

type Row = Record<string, string | number | bigint | null | Uint8Array>;

/** Inserts copies of the first row of a table, one per entry of `changes`. */
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
  /** Steps of complete checkpoints to add to the first checkpoint's run. They have no bytes: they are only for display. */
  steps?: Iterable<number>;
}

/**
 * Fills the hub's database. The stage needs a node that has joined, and for `steps` a checkpoint, because their rows are
 * copied.
 */
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
