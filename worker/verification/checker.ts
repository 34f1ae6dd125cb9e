import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { damageReport, damageWords, type DamageReport } from "#protocol/checkpoint/damage.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import { clearCopy } from "../replicas/copy-objects.ts";
import type { Engine } from "../transfer/engine.ts";
import type { ProgressCounters } from "../transfer/progress/transfer-progress.ts";
import { readStateFile, writeStateFile } from "../host/state-file.ts";
import type { Taken } from "../hub-link/command-memory.ts";
import { createJobRunner, type End, type RunningJob, type JobRunner } from "../job-runner/job-runner.ts";
import { tellEnd } from "../job-runner/tell-end.ts";
import { readCheckpoint } from "../restore/read-checkpoint.ts";
import { clearRestore, restore } from "../restore/restore.ts";
import { tellSums } from "../restore/tell-sums.ts";
import type { CheckCommand, CheckerParts } from "./checker-parts.ts";
import { copyAcross, copyPlaces } from "./copy-across.ts";
import { engineFor } from "./engine-for.ts";
import { verify, verifyJournalOf } from "./verify.ts";

/**
 * Carries out verifications, restore drills and copies between buckets when the hub asks. These run one at a time, on
 * connections of their own, and only while this node has nothing of its own to move. A transfer that begins interrupts the
 * extent under way, which is read again later. Verification rests after each extent in proportion to its duration. So it takes
 * a bounded share of the link, whatever the link's rate. Commands are on disk before they begin, and continue after a kill.
 */
export interface Checker extends JobRunner {
  has(transferId: string): boolean;
}

/** Share of the link that verification takes, over time. */
const SHARE = 0.25;
const LONGEST_REST_MS = 60_000;
const LOOK_MS = 250;

type CheckTaken = Taken & { command: CheckCommand };
const isCheck = (item: Taken): item is CheckTaken => ["verify", "drill", "copy"].includes(item.command.kind);

export function createChecker(parts: CheckerParts): Checker {
  const { memory, clock, signal } = parts;
  const checks = () => memory.checks().filter(isCheck);
  const tell = async (item: CheckTaken, how: Pick<End, "counters" | "damage">) => {
    await tellEnd(parts, item, how);
    await removeOwned("state-file", foundOf(parts, item.command));
  };
  const jobs = createJobRunner<CheckTaken>({
    memory,
    clock,
    signal,
    engine: parts.engine,
    items: checks,
    mayGo: ({ command }) => !parts.isBusy() && !parts.isHeld(command.run),
    lookMs: LOOK_MS,
    onStart: ({ command }) => parts.onStart(command),
    work: ({ command }, about) => doCheck(parts, command, about),
    clear: ({ command }) => clear(parts, command),
    end: async (item, how) => {
      // Written before the state, so that a repetition after a kill reports the same damage.
      if (how.damage !== null) {
        await mkdir(join(parts.state, "verifies"), { recursive: true });
        await writeStateFile(foundOf(parts, item.command), how.damage);
      }
      const fault = how.fault?.toData() ?? null;
      await memory.setState(item.command.id, how.to, fault);
      parts.onEnd(item.command, { fault, damage: how.damage });
      await tell(item, how);
    },
    tellAgain: async (item) => tell(item, { counters: null, damage: await readFound(parts, item.command) }),
  });
  return { ...jobs, has: (transferId) => checks().some(({ command }) => command.transferId === transferId) };
}

/** Returns the Fault for damage. The first range stands for all; the report has the others. */
const faultOf = (report: DamageReport): Fault =>
  new Fault("CHECKPOINT_DAMAGED", { op: "verify", detail: damageWords(report) });

const foundOf = ({ state }: CheckerParts, { transferId }: CheckCommand): string =>
  join(state, "verifies", `${transferId}.found.json`);

const readFound = (parts: CheckerParts, command: CheckCommand): Promise<DamageReport | null> =>
  readStateFile(foundOf(parts, command), damageReport);

const scratchOf = ({ state }: CheckerParts, { transferId }: CheckCommand): string => join(state, "drills", transferId);

async function doCheck(
  parts: CheckerParts,
  command: CheckCommand,
  { engine, running, signal: until }: { engine: Engine; running: RunningJob; signal: AbortSignal },
): Promise<Fault | null> {
  const { hub, clock, state } = parts;
  const onStart = (counters: ProgressCounters) => {
    running.counters = counters;
  };
  if (command.kind === "verify") {
    const { profileId } = command;
    const home = profileId === undefined ? {} : { profileId };
    const offered = await readCheckpoint(clock, { command, hub, signal: until, ...home });
    const { manifest } = offered;
    const own = engineFor(parts, engine, offered);
    const { damage, sums } = await verify(own, {
      manifest,
      transferId: command.transferId,
      journals: join(state, "verifies"),
      signal: until,
      onStart,
      turn: async () => {
        if (until.aborted) throw new Fault("CANCELLED");
      },
      rest: (tookMs) => clock.sleep(Math.min(LONGEST_REST_MS, (tookMs * (1 - SHARE)) / SHARE), until),
    });
    running.damage = damage;
    if (damage !== null) return faultOf(damage);
    await tellSums({ hub, command }, manifest, sums);
    return null;
  }
  if (command.kind === "copy") {
    await copyAcross(parts, engine, { command, until, onStart });
    return null;
  }
  const drill = drilledAs(parts, command);
  const offered = await readCheckpoint(clock, { command: drill, hub, signal: until });
  await restore(engineFor(parts, engine, offered), {
    command: drill,
    manifest: offered.manifest,
    hub,
    journals: join(state, "verifies"),
    signal: until,
    onStart,
    beforePlaced: async () => undefined,
    replaced: {},
    onDamage: (report) => {
      running.damage ??= report;
    },
  });
  await removeOwned("scratch", scratchOf(parts, command));
  return null;
}

const drilledAs = (parts: CheckerParts, command: CheckCommand) => ({
  ...command,
  kind: "restore" as const,
  targetPath: join(scratchOf(parts, command), `checkpoint-${command.step}`),
});

async function clear(parts: CheckerParts, command: CheckCommand): Promise<void> {
  const journals = join(parts.state, "verifies");
  if (command.kind === "copy") return clearCopy(copyPlaces(parts, command));
  if (command.kind === "verify")
    return removeOwned("journal", verifyJournalOf({ journals, transferId: command.transferId }));
  await clearRestore({ command: drilledAs(parts, command), journals, replaced: {} });
  await removeOwned("scratch", scratchOf(parts, command));
}
