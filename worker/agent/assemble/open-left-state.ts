import { join } from "node:path";
import { readRoom } from "../../base/room.ts";
import type { Capture } from "../../capture/capture.ts";
import { heldBytes } from "../../capture/disk-budget.ts";
import { openLedger, type Ledger } from "../../capture/ledger.ts";
import { sweepCaptures } from "../../capture/sweep.ts";
import { openCommandMemory, type CommandMemory } from "../../hub-link/command-memory.ts";
import { openOutbox, type Outbox } from "../../hub-link/outbox.ts";
import { openCopyLedger, type CopyLedger } from "../../replicas/copy-ledger.ts";
import { openStand, type Stand } from "../command-handlers/stand.ts";

/** State that earlier processes of the worker left in its folder. */
export interface LeftState {
  stand: Stand;
  outbox: Outbox;
  ledger: Ledger;
  copies: CopyLedger;
  memory: CommandMemory;
  /** Upper limit of disk space for captures, bytes. */
  budget: { mostBytes: number };
}

/**
 * Opens the journals of the state folder, and removes captures that no journal names. `diskBudgetBytes` null: half of the disk
 * space that is free. Faults: NO_SPACE, WRITE_FAILED, READ_FAILED.
 */
export async function openLeftState(
  state: string,
  { diskBudgetBytes, wallNow }: { diskBudgetBytes: number | null; wallNow(): number },
): Promise<LeftState> {
  const stand = await openStand(state);
  const outbox = await openOutbox(join(state, "outbox.jsonl"), wallNow);
  const ledger = await openLedger(join(state, "ledger.jsonl"), wallNow);
  const copies = await openCopyLedger(join(state, "copies.jsonl"));
  const kept = copies.all().map(({ capture }) => capture);
  await sweepCaptures(join(state, "captures"), ledger, kept);
  const budget = { mostBytes: diskBudgetBytes ?? (await defaultBudget(state, [...ledger.all(), ...kept])) };
  const memory = await openCommandMemory(join(state, "commands.jsonl"));
  return { stand, outbox, ledger, copies, memory, budget };
}

/** Returns half of the disk space that is free now or held by captures of earlier processes. */
async function defaultBudget(state: string, captures: readonly Capture[]): Promise<number> {
  return Math.floor(((await readRoom(state)).freeBytes + heldBytes(captures)) / 2);
}
