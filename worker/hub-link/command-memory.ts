import { randomUUID } from "node:crypto";
import * as z from "zod";
import { command, type Command } from "#protocol/wire/commands.ts";
import { faultData } from "#protocol/faults/fault-data.ts";
import type { FaultData } from "#protocol/faults/fault.ts";
import { transferState, type TransferState } from "#protocol/wire/transfer.ts";
import { openJournal } from "../base/journal.ts";

/**
 * A command that this node has accepted, on disk before the hub is told. The hub delivers commands at least once, again
 * after every reconnection; this journal makes each take effect once.
 */
export interface Taken {
  command: Command;
  at: number;
  /** State of the transfer, for commands that move data. `running` becomes `waiting` when the journal is opened again. */
  state: TransferState;
  fault: FaultData | null;
  /** Carrying out the command has begun. */
  started: boolean;
  /** The event about its end is in the outbox. */
  ended: boolean;
}

export interface CommandMemory {
  has(id: string): boolean;
  accept(command: Command, at: number): Promise<void>;
  /** Records on disk that a command begins, so that after a kill an interrupted command is recognized. */
  start(id: string): Promise<void>;
  setState(id: string, state: TransferState, fault: FaultData | null): Promise<void>;
  end(id: string): Promise<void>;
  /** Restores, oldest first. Ended ones stay for a while, so that they can be retried. */
  restores(): readonly Taken[];
  /** Verifications, drills and copies between buckets, kept in the same way. */
  checks(): readonly Taken[];
  /** Commands that have not ended, as far as this journal knows. */
  open(): readonly Taken[];
  close(): Promise<void>;
}

const line = z.discriminatedUnion("t", [
  z.object({ t: z.literal("accepted"), command, at: z.number() }),
  z.object({ t: z.literal("state"), id: z.string(), state: transferState, fault: faultData.nullable() }),
  z.object({ t: z.literal("started"), id: z.string() }),
  z.object({ t: z.literal("ended"), id: z.string() }),
]);
type Line = z.infer<typeof line>;

const OWN = "start-";
/** Returns an id for a restore that this node starts itself; the hub does not know such commands. */
export const ownCommandId = (): string => `${OWN}${randomUUID()}`;
export const isOwn = ({ id }: Pick<Command, "id">): boolean => id.startsWith(OWN);

/** Number of commands to keep. The hub repeats only commands that have not ended, so older ended ones may be dropped. */
const KEPT = 500;

export async function openCommandMemory(path: string): Promise<CommandMemory> {
  const journal = await openJournal(path, line);
  const taken = new Map<string, Taken>();
  const apply = (record: Line) => {
    if (record.t === "accepted") {
      const { command: accepted, at } = record;
      taken.set(accepted.id, { command: accepted, at, state: "waiting", fault: null, started: false, ended: false });
      return;
    }
    const item = taken.get(record.id);
    if (item === undefined) return;
    if (record.t === "ended") item.ended = true;
    else if (record.t === "started") item.started = true;
    else {
      item.state = record.state;
      item.fault = record.fault;
      if (record.state === "waiting" || record.state === "running") item.ended = false;
    }
  };
  for (const record of journal.takeRecords()) apply(record);
  for (const [id, item] of taken) if (item.ended && taken.size > KEPT) taken.delete(id);
  for (const item of taken.values()) if (item.state === "running") item.state = "waiting";
  await journal.compact(() => [...taken].flatMap(([id, item]) => linesOf(id, item)));

  const write = async (record: Line) => {
    apply(record);
    await journal.append(record);
  };
  return {
    has: (id) => taken.has(id),
    accept: (accepted, at) => write({ t: "accepted", command: accepted, at }),
    setState: (id, state, fault) => write({ t: "state", id, state, fault }),
    start: (id) => write({ t: "started", id }),
    end: (id) => write({ t: "ended", id }),
    restores: () => [...taken.values()].filter((item) => item.command.kind === "restore"),
    checks: () => [...taken.values()].filter(({ command: { kind } }) => ["verify", "drill", "copy"].includes(kind)),
    open: () => [...taken.values()].filter((item) => !item.ended),
    close: journal.close,
  };
}

function linesOf(id: string, item: Taken): Line[] {
  const lines: Line[] = [
    { t: "accepted", command: item.command, at: item.at },
    { t: "state", id, state: item.state, fault: item.fault },
  ];
  if (item.started) lines.push({ t: "started", id });
  if (item.ended) lines.push({ t: "ended", id });
  return lines;
}
