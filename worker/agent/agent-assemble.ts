import { randomUUID } from "node:crypto";
import { join, resolve } from "node:path";
import type { NodeFacts } from "#protocol/wire/hello.ts";
import type { Fault } from "#protocol/faults/fault.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { Narrator } from "./console-reporter.ts";
import type { AgentOptions } from "./agent-options.ts";
import { assembleCopies } from "./assemble/assemble-copies.ts";
import { assembleRestorer } from "./assemble/assemble-restores.ts";
import { assembleUploads } from "./assemble/assemble-uploads.ts";
import { openLeftState } from "./assemble/open-left-state.ts";
import { createBenches, type Bench, type Benches } from "./agent-store-sessions.ts";
import { systemClock } from "../base/clock.ts";
import type { Copier } from "../replicas/copier-parts.ts";
import type { CopyLedger } from "../replicas/copy-ledger.ts";
import { openHomes, type Homes } from "../upload/homes.ts";
import { openMemory } from "../limits/learned.ts";
import type { Where } from "../engines/driver.ts";
import type { Imds } from "../host/imds.ts";
import type { Stand } from "./command-handlers/stand.ts";
import type { ProbeWishes } from "../probe/options.ts";
import type { LocalDoor, ProgramPlace } from "../local-api/serve-local.ts";
import { openThrottle, type Throttle } from "../limits/throttle.ts";
import type { Beginning } from "../lost-work/beginning.ts";
import { openStepRecords, type StepRecords } from "../lost-work/step-records.ts";
import { openTraining, type Training } from "../lost-work/training.ts";
import type { CommandMemory } from "../hub-link/command-memory.ts";
import type { EngineOptions } from "../transfer/engine.ts";
import type { Hub } from "../hub-link/hub.ts";
import type { NodeCredential } from "../hub-link/node-credential.ts";
import type { Outbox } from "../hub-link/outbox.ts";
import { openSession, type Session } from "../hub-link/session.ts";
import type { Checker } from "../verification/checker.ts";
import type { Places } from "../restore/placement/assert-place.ts";
import type { Restorer } from "../restore/restorer.ts";
import type { Capture } from "../capture/capture.ts";
import type { Ends } from "../capture/ends.ts";
import { createDisk, type Disk } from "../capture/disk-budget.ts";
import type { Ledger } from "../capture/ledger.ts";
import type { Runs } from "../capture/runs.ts";
import type { ProgressBars } from "../program/progress-bars.ts";
import type { Uplink } from "../capture/uplink.ts";
import type { SendingParts, Uploader } from "../upload/uploader-parts.ts";
/** The parts of a worker that lives, put together from what it was told and what lies in its state folder. */
export interface Agent {
  options: AgentOptions;
  narrator: Narrator;
  hub: Hub;
  session: Session;
  /** Replaces this node's credential. */
  rotate(): Promise<void>;
  /** The one that holds now, for a second Tidemark on this machine. */
  secret(): string;
  outbox: Outbox;
  ledger: Ledger;
  memory: CommandMemory;
  runs: Runs;
  benches: Benches;
  throttle: Throttle;
  uploader: Uploader;
  restorer: Restorer;
  checker: Checker;
  homes: Homes;
  copies: CopyLedger;
  copier: Copier;
  /** Where a capture goes. */
  benchOf(item: Capture): Bench | null;
  /** Where the hub may have checkpoints put. */
  places: Places;
  /** This node's id at its hub. */
  nodeId: string;
  bootId: string;
  state: string;
  disk: Disk;
  ends: Ends;
  uplink: Uplink;
  training: Training;
  /** Where programs write their last step themselves. */
  stepRecords: StepRecords;
  /** Where programs on this machine reach this worker; null until it is open. */
  local: { door: LocalDoor | null };
  /** The epoch in which this node wrote each run before this start; null when it never did. */
  epochsBefore: ReadonlyMap<string, number | null>;
  /** Runs that were put in place in this life. */
  prepared: Set<string>;
  /** Checkpoints above the chosen one that this run did not write, by path, with their fingerprints. */
  leftInPlace: Map<string, string>;
  /** What lay in the watched folders before the first start of the program, by path, with its fingerprint. */
  laidBefore: Map<string, string>;
  /** Checkpoints whose last outcome is a refusal, by path. The fingerprint is null where they could not be looked at. */
  refused: Map<string, { run: RunName; fingerprint: string | null }>;
  /** Of programs that have not shown yet where they really began; `judge-beginning` compares. */
  beginnings: Map<RunName, Beginning>;
  /** Runs of which this life of the worker made something safe. */
  savedRuns: Set<RunName>;
  /** What this worker kept safe since its start although it may not be whole. */
  doubtful: { run: RunName; step: number; why: string }[];
  /** How many new lines this worker opened of each run. */
  linesBegun: Map<RunName, number>;
  /** When this worker began to watch each run, epoch ms. */
  watchedSince: ReadonlyMap<string, number>;
  /** Runs are put in place before a program goes on: until then nothing in their folders is known to be of the present epoch. */
  preparesRuns: boolean;
  /** What the program beside this worker said last; null without one. */
  logTail: (() => string) | null;
  /** What its progress bars show; null without a program. */
  bars: ProgressBars | null;
  stand: Stand;
  platform: { imds: Imds; machineId: string | null };
  probeWishes: ProbeWishes;
  /** Where engines of other people are looked for. */
  engines: Where;
  /** This node's turns in benchmarks that run now. */
  turns: Map<string, AbortController>;
  /** Ends this worker as a signal would, after so much time for work at most. */
  stopWithin(graceMs: number): void;
  signal: AbortSignal;
}

export interface AgentParts {
  options: AgentOptions;
  state: string;
  facts: NodeFacts;
  hub: Hub;
  /** Signatures for one engine; `profileId`: of another home than the node's own. */
  createSource(profileId?: string): EngineOptions["source"];
  credential: NodeCredential;
  rotate(): Promise<void>;
  secret(): string;
  narrator: Narrator;
  platform: Agent["platform"];
  probeWishes: ProbeWishes;
  engines: Where;
  preparesRuns: boolean;
  /** Of the user; null where none is known. */
  home: string | null;
  /** What the uplink did when it was measured at this start, bytes per second; null when it was not. */
  probedUp: number | null;
  /** Of a program that runs as another user. */
  program: ProgramPlace | null;
  stopWithin(graceMs: number): void;
}

/** Reads what earlier lives left, and removes what belongs to nobody. Nothing moves yet. */
export async function assemble(beginning: AgentParts, signal: AbortSignal): Promise<Agent> {
  const { options, state, facts, hub, credential, narrator, platform, probeWishes, engines, stopWithin } = beginning;
  const wallNow = Date.now;
  const bootId = randomUUID();
  const left = await openLeftState(state, { diskBudgetBytes: options.diskBudgetBytes, wallNow });
  const { stand, outbox, ledger, copies, memory, budget } = left;
  const session = await openSession({ hub, state, name: credential.name, bootId, facts, outbox, wallNow });
  const throttle = await openThrottle({ limits: options.limits, state, onChange: narrator.limited });
  const links = await openMemory(state, wallNow);
  const benches = createBenches({ options, createSource: beginning.createSource, session, throttle, memory: links });
  const onAway = (_: string, fault: Fault) => narrator.waitingFor(fault);
  const homes = await openHomes({ hub, state, clock: systemClock, wallNow, memory: links, onAway });
  const benchOf = ({ run, home }: Pick<Capture, "run" | "home">): Bench | null => {
    const store = home == null ? null : homes.storeOf(run, home);
    return store === null ? benches.up() : benches.at(store).up;
  };
  const epochsBefore = new Map(options.watches.map(({ run }) => [run as string, ledger.writerEpoch(run)]));
  const watchedSince = new Map<string, number>();
  for (const { run } of options.watches) watchedSince.set(run, await ledger.runStartedAt(run));
  const stepRecords = openStepRecords(join(beginning.program?.folder ?? state, "steps"), beginning.program);
  const sending: SendingParts = {
    hub,
    outbox,
    clock: systemClock,
    wallNow,
    journals: join(state, "uploads"),
    node: () => ({ id: credential.nodeId, name: session.name }),
    signal,
  };
  const shared = {
    options,
    sending,
    outbox,
    ledger,
    homes,
    narrator,
    session,
    throttle,
    links,
    benches,
    memory,
    stand,
    state,
  };
  const uploads = assembleUploads({
    ...shared,
    probedUp: beginning.probedUp,
    bench: (item) => (item === undefined ? benches.up() : benchOf(item)),
    keepForCopies: (item, runs) => copier.keep(item, runs.get(item.run)?.claim ?? null),
  });
  const { uploader } = uploads;
  const places: Places = {
    watches: options.watches.map(({ folder }) => folder),
    state,
    allowed: options.restoreTo,
    restored: resolve("restored"),
    home: beginning.home,
  };
  const restorer = assembleRestorer({ ...shared, places, nodeId: credential.nodeId });
  const isBusy = () => hasOwnWork({ ledger, uploader, restorer });
  const { copier, checker } = assembleCopies({ ...shared, copies, isBusy });
  const passOver = async (captures: readonly Capture[]) => {
    await copier.passOver(captures);
    await uploader.passOver(captures.filter(({ id }) => ledger.get(id) !== undefined));
  };
  return {
    options,
    narrator,
    hub,
    session,
    rotate: beginning.rotate,
    secret: beginning.secret,
    outbox,
    ledger,
    memory,
    benches,
    throttle,
    ...uploads,
    restorer,
    checker,
    homes,
    copies,
    copier,
    benchOf,
    places,
    nodeId: credential.nodeId,
    bootId,
    state,
    epochsBefore,
    prepared: new Set(),
    watchedSince,
    leftInPlace: new Map(),
    laidBefore: new Map(),
    refused: new Map(),
    beginnings: new Map(),
    doubtful: [],
    linesBegun: new Map(),
    preparesRuns: beginning.preparesRuns,
    engines,
    turns: new Map(),
    training: openTraining(join(state, "training.json"), { records: stepRecords, wallNow }),
    stepRecords,
    local: { door: null },
    logTail: null,
    bars: null,
    stand,
    platform,
    probeWishes,
    stopWithin,
    disk: createDisk({ budget, captures: ledger.all, spare: copier.spare, passOver }),
    signal,
  };
}

/** Something of this node's own is moving, or waits for its turn to. What is paused or failed waits for a person. */
const hasOwnWork = ({ ledger, uploader, restorer }: Pick<Agent, "ledger" | "uploader" | "restorer">): boolean =>
  uploader.active !== null ||
  ledger.all().some(({ state: at }) => at === "waiting" || at === "running") ||
  restorer.progress().some(({ state: at }) => at === "waiting" || at === "running");
