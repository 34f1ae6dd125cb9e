import { join, resolve } from "node:path";
import type { NodeFacts } from "#protocol/wire/hello.ts";
import type { LiveLog, ReportAnswer } from "#protocol/wire/reports.ts";
import type { Fault } from "#protocol/faults/fault.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { ConsoleReporter } from "./console-reporter.ts";
import type { AgentOptions } from "./agent-options.ts";
import { assembleCopies } from "./assemble/assemble-copies.ts";
import { assembleRestorer } from "./assemble/assemble-restores.ts";
import { assembleUploads } from "./assemble/assemble-uploads.ts";
import { openLeftState } from "./assemble/open-left-state.ts";
import { createStoreSessions, type StoreSession, type StoreSessions } from "./agent-store-sessions.ts";
import { systemClock } from "../base/clock.ts";
import { createWakeableSleep, type WakeableSleep } from "../base/wakeable-sleep.ts";
import type { Copier } from "../replicas/copier-parts.ts";
import type { CopyLedger } from "../replicas/copy-ledger.ts";
import { openHomes, type Homes } from "../upload/homes.ts";
import { openMemory } from "../limits/learned.ts";
import type { Where } from "../engines/driver.ts";
import type { Imds } from "../host/imds.ts";
import type { Stand } from "./command-handlers/stand.ts";
import type { ProbeOptions } from "../probe/options.ts";
import type { LocalListener, ProgramPlace } from "../local-api/serve-local.ts";
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
import type { DoubtfulCaptures } from "../capture/doubtful-captures.ts";
import type { Ledger } from "../capture/ledger.ts";
import type { Runs } from "../capture/runs.ts";
import type { ProgressBars } from "../program/progress-bars.ts";
import type { Uplink } from "../capture/uplink.ts";
import type { SendingParts, Uploader } from "../upload/uploader-parts.ts";

/** A machine with several workers (`tidemark work --slots`), and the folders that they share. */
export interface Machine {
  /** Folder for the limits of the machine, and for findings about its links. */
  state: string;
  /** Folder of each of these workers for its own state. */
  folders: readonly string[];
}

/** Parts of a running worker, assembled from its options and from what lies in its state folder. */
export interface Agent {
  options: AgentOptions;
  reporter: ConsoleReporter;
  hub: Hub;
  session: Session;
  /** Replaces this node's credential with a new one. */
  rotate(): Promise<void>;
  /** Returns the present credential, for a second Tidemark process on this machine. */
  secret(): string;
  outbox: Outbox;
  ledger: Ledger;
  memory: CommandMemory;
  runs: Runs;
  storeSessions: StoreSessions;
  throttle: Throttle;
  uploader: Uploader;
  restorer: Restorer;
  checker: Checker;
  homes: Homes;
  copies: CopyLedger;
  copier: Copier;
  /** Returns the engine and bucket that a capture is sent with; null until the hub has named a bucket. */
  storeSessionOf(item: Capture): StoreSession | null;
  /** Folders in which the hub may place checkpoints. */
  places: Places;
  /** This node's id at its hub. */
  nodeId: string;
  bootId: string;
  state: string;
  machine: Machine | null;
  disk: Disk;
  ends: Ends;
  uplink: Uplink;
  training: Training;
  /** Files in which programs write their last step themselves. */
  stepRecords: StepRecords;
  /** Local API through which programs on this machine reach this worker; null until it listens. */
  local: { listener: LocalListener | null };
  /** Epoch in which this node last wrote each run before this start; null when this node never did. */
  epochsBefore: ReadonlyMap<string, number | null>;
  /** Runs that `tidemark run` has prepared since this worker started: the checkpoint to resume from is in place. */
  prepared: Set<string>;
  /** Checkpoints above the chosen one that this run did not write, with their fingerprints by path. */
  leftInPlace: Map<string, string>;
  /** Checkpoints that lay in the watched folders before the program first started, with their fingerprints by path. */
  laidBefore: Map<string, string>;
  /** Checkpoints whose last outcome is a refusal, by path. The fingerprint is null for one that could not be read. */
  refused: Map<string, { run: RunName; fingerprint: string | null }>;
  /** Paths in watched folders that were reported as no checkpoint. */
  leftOut: Set<string>;
  /** Starts of programs that have not yet shown from which step they continue; `judgeBeginning` compares. */
  beginnings: Map<RunName, Beginning>;
  /** Runs with a checkpoint that this worker made safe since its start. */
  savedRuns: Set<RunName>;
  doubtful: DoubtfulCaptures;
  /** Number of epochs that this worker opened per run because training began anew (`beginLine`). */
  linesBegun: Map<RunName, number>;
  /** Lines that this process opens or has opened, by the id of the line. */
  openedLines: Map<string, Promise<number | null>>;
  /** Opens the lines of a run that could not be opened when they began. */
  openLines(run: RunName): Promise<void>;
  /** When this worker began to watch each run, epoch ms. */
  watchedSince: ReadonlyMap<string, number>;
  /**
   * Whether `tidemark run` prepares each run before its program starts. Until then no file there is known to be of the present
   * epoch.
   */
  preparesRuns: boolean;
  /** Returns the last output of the program beside this worker; null without one. */
  logTail: (() => string) | null;
  /** The output of the job that this worker runs, for people who read it now; null without one. */
  jobLog: { text: (fromByte: number) => LiveLog | null; wanted: ReportAnswer["jobLog"] } | null;
  /** Steps that the progress bars of the program show; null without a program. */
  bars: ProgressBars | null;
  stand: Stand;
  /** Sleep of a worker for which the hub looks for a job. Woken by the hub when it has one, and when it may have forgotten the worker. */
  jobWait: WakeableSleep;
  platform: { imds: Imds; machineId: string | null };
  probeOptions: ProbeOptions;
  /** Where the programs of other transfer engines are looked for. */
  engines: Where;
  /** Benchmark turns of this node that run now, by turn id. An abort ends the turn. */
  turns: Map<string, AbortController>;
  /** Ends this worker as a signal would, after at most `graceMs` of further work. */
  stopWithin(graceMs: number): void;
  signal: AbortSignal;
}

export interface AgentParts {
  options: AgentOptions;
  /** New at each start of the worker. */
  bootId: string;
  state: string;
  machine: Machine | null;
  facts: NodeFacts;
  hub: Hub;
  /** Creates a source of signatures for one engine. `profileId`: that of a replica; none: the node's own. */
  createSource(profileId?: string): EngineOptions["source"];
  credential: NodeCredential;
  rotate(): Promise<void>;
  secret(): string;
  reporter: ConsoleReporter;
  platform: Agent["platform"];
  probeOptions: ProbeOptions;
  engines: Where;
  preparesRuns: boolean;
  /** Home directory of the user; null when it is unknown. */
  home: string | null;
  /** Upload rate measured at this start, bytes per second; null when it was not measured. */
  probedUp: number | null;
  /** Where a program that runs as another user reaches this worker; null when no program does. */
  program: ProgramPlace | null;
  stopWithin(graceMs: number): void;
}

/** Opens the state that earlier processes left, removes orphaned captures, and creates the parts. Starts no transfer. */
export async function assemble(beginning: AgentParts, signal: AbortSignal): Promise<Agent> {
  const { options, state, machine, facts, hub, credential, reporter, platform, probeOptions, engines } = beginning;
  const { stopWithin, bootId } = beginning;
  const wallNow = Date.now;
  const left = await openLeftState(state, { diskBudgetBytes: options.diskBudgetBytes, wallNow });
  const { stand, outbox, ledger, copies, memory, budget } = left;
  const session = await openSession({ hub, state, name: credential.name, bootId, facts, outbox, wallNow });
  const { throttle, links } = await openLinkState(beginning, wallNow);
  const storeSessions = createStoreSessions({
    options,
    createSource: beginning.createSource,
    session,
    throttle,
    memory: links,
  });
  const onAway = (_: string, fault: Fault) => reporter.waitingFor(fault);
  const homes = await openHomes({ hub, state, clock: systemClock, wallNow, memory: links, onAway });
  const storeSessionOf = ({ run, home }: Pick<Capture, "run" | "home">): StoreSession | null => {
    const store = home == null ? null : homes.storeOf(run, home);
    return store === null ? storeSessions.up() : storeSessions.at(store).up;
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
    reporter,
    session,
    throttle,
    links,
    storeSessions,
    memory,
    stand,
    state,
  };
  const uploads = assembleUploads({
    ...shared,
    probedUp: beginning.probedUp,
    storeSession: (item) => (item === undefined ? storeSessions.up() : storeSessionOf(item)),
    keepForCopies: (item, runs) => copier.keep(item, runs.claimOf(item.run, item.epoch)),
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
    reporter,
    hub,
    session,
    rotate: beginning.rotate,
    secret: beginning.secret,
    outbox,
    ledger,
    memory,
    storeSessions,
    throttle,
    ...uploads,
    restorer,
    checker,
    homes,
    copies,
    copier,
    storeSessionOf,
    places,
    nodeId: credential.nodeId,
    bootId,
    state,
    machine,
    epochsBefore,
    prepared: new Set(),
    watchedSince,
    leftInPlace: new Map(),
    laidBefore: new Map(),
    refused: new Map(),
    leftOut: new Set(),
    beginnings: new Map(),
    preparesRuns: beginning.preparesRuns,
    engines,
    turns: new Map(),
    training: openTraining(join(state, "training.json"), { records: stepRecords, wallNow }),
    stepRecords,
    local: { listener: null },
    logTail: null,
    jobLog: null,
    bars: null,
    stand,
    jobWait: createWakeableSleep(systemClock, signal),
    platform,
    probeOptions,
    stopWithin,
    disk: createDisk({ budget, captures: ledger.all, spare: copier.spare, passOver }),
    signal,
  };
}

/** Opens the limits of this worker, and what is known of its links; workers of one machine share both. */
async function openLinkState({ options, state: own, machine, reporter }: AgentParts, wallNow: () => number) {
  const { state, folders } = machine ?? { state: own, folders: [own] };
  const sharers = folders.length;
  const throttle = await openThrottle({ limits: options.limits, state, sharers, onChange: reporter.limited });
  return { throttle, links: await openMemory(state, wallNow) };
}

/** Returns whether an own upload or restore runs or waits for its turn. Paused and failed ones wait for a person. */
export const hasOwnWork = ({ ledger, uploader, restorer }: Pick<Agent, "ledger" | "uploader" | "restorer">): boolean =>
  uploader.active !== null ||
  ledger.all().some(({ state: at }) => at === "waiting" || at === "running") ||
  restorer.progress().some(({ state: at }) => at === "waiting" || at === "running");
