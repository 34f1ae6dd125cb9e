import { randomUUID } from "node:crypto";
import { join, resolve } from "node:path";
import type { NodeFacts } from "#protocol/wire/hello.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { Narrator } from "./console-reporter.ts";
import type { AgentOptions } from "./agent-options.ts";
import { createBenches, type Bench, type Benches } from "./agent-store-sessions.ts";
import { systemClock } from "../base/clock.ts";
import { createCopier, type Copier } from "../replicas/copier.ts";
import { openCopyLedger, type CopyLedger } from "../replicas/copy-ledger.ts";
import { openHomes, type Homes } from "../upload/homes.ts";
import { openMemory } from "../limits/learned.ts";
import type { Where } from "../engines/driver.ts";
import type { Imds } from "../host/imds.ts";
import { openStand, type Stand } from "./command-handlers/stand.ts";
import type { ProbeWishes } from "../probe/options.ts";
import type { LocalDoor, ProgramPlace } from "../local-api/serve-local.ts";
import { openThrottle, type Throttle } from "../limits/throttle.ts";
import type { Beginning } from "./judge-beginning.ts";
import { openStepRecords, type StepRecords } from "../lost-work/step-records.ts";
import { openTraining, type Training } from "../lost-work/training.ts";
import { openCommandMemory, type CommandMemory } from "../hub-link/command-memory.ts";
import type { EngineOptions } from "../transfer/engine.ts";
import type { Hub } from "../hub-link/hub.ts";
import type { NodeCredential } from "../hub-link/node-credential.ts";
import { openOutbox, type Outbox } from "../hub-link/outbox.ts";
import { openSession, type Session } from "../hub-link/session.ts";
import { createChecker, type Checker } from "../verification/checker.ts";
import { assertPlace, type Places } from "../restore/placement/assert-place.ts";
import { isStoredNow, storedOf } from "../restore/confirm-stored.ts";
import { noteRestored, rememberRestored } from "../restore/placement/remember-restored.ts";
import { createRestorer, type Restorer } from "../restore/restorer.ts";
import { readRoom } from "../base/room.ts";
import type { Capture } from "../capture/capture.ts";
import { createEnds, type Ends } from "../capture/ends.ts";
import { createDisk, heldBytes, type Disk } from "../capture/disk-budget.ts";
import { openLedger, type Ledger } from "../capture/ledger.ts";
import { createRuns, type Runs } from "../capture/runs.ts";
import { sweepCaptures } from "../capture/sweep.ts";
import type { ProgressBars } from "../program/progress-bars.ts";
import { createUplink, type Uplink } from "../capture/uplink.ts";
import { createUploader } from "../upload/uploader.ts";
import type { SendingParts, Uploader } from "../upload/uploader-parts.ts";
import { warnOfPace } from "./warn-of-pace.ts";

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
  const stand = await openStand(state);
  const wallNow = Date.now;
  const bootId = randomUUID();
  const outbox = await openOutbox(join(state, "outbox.jsonl"), wallNow);
  const ledger = await openLedger(join(state, "ledger.jsonl"), wallNow);
  const copies = await openCopyLedger(join(state, "copies.jsonl"));
  const kept = copies.all().map(({ capture }) => capture);
  await sweepCaptures(join(state, "captures"), ledger, kept);
  const budget = { mostBytes: options.diskBudgetBytes ?? (await defaultBudget(state, [...ledger.all(), ...kept])) };
  const memory = await openCommandMemory(join(state, "commands.jsonl"));
  const session = await openSession({ hub, state, name: credential.name, bootId, facts, outbox, wallNow });
  const throttle = await openThrottle({ limits: options.limits, state, onChange: narrator.limited });
  const links = await openMemory(state, wallNow);
  const benches = createBenches({ options, createSource: beginning.createSource, session, throttle, memory: links });
  const homes = await openHomes({
    hub,
    state,
    clock: systemClock,
    wallNow,
    memory: links,
    onAway: (_, fault) => narrator.waitingFor(fault),
  });
  const benchOf = ({ run, home }: Pick<Capture, "run" | "home">): Bench | null => {
    const store = home == null ? null : homes.storeOf(run, home);
    return store === null ? benches.up() : benches.at(store).up;
  };
  const epochsBefore = new Map(options.watches.map(({ run }) => [run as string, ledger.writerEpoch(run)]));
  const watchedSince = new Map<string, number>();
  for (const { run } of options.watches) watchedSince.set(run, await ledger.runStartedAt(run));
  const stepRecords = openStepRecords(join(beginning.program?.folder ?? state, "steps"), beginning.program);
  const ends = createEnds();
  const rateBefore = () => {
    const { store } = session;
    const known = store === null ? null : links.recall({ ...store, direction: "up" });
    const rate = beginning.probedUp ?? known?.bytesPerSecond ?? null;
    const limit = throttle.limits().up;
    return rate !== null && limit > 0 ? Math.min(rate, limit) : rate;
  };
  const uplink = createUplink({
    running: () => {
      const { active } = uploader;
      if (active?.tally == null) return null;
      return { sentBytes: active.tally.sentBytes, tookMs: systemClock.now() - active.startedAt };
    },
    before: rateBefore,
  });
  // Those a program named itself have captures here and no folder that is watched.
  const names = new Set([...options.watches, ...ledger.all()].map(({ run }) => run));
  const runs = createRuns([...names], {
    hub,
    group: options.group,
    onOver: narrator.runOver,
    onClaimed: ({ name }, { epoch }) => ledger.noteEpoch(name, epoch),
  });
  const sending: SendingParts = {
    hub,
    outbox,
    clock: systemClock,
    wallNow,
    journals: join(state, "uploads"),
    node: () => ({ id: credential.nodeId, name: session.name }),
    signal,
  };
  const savedRuns = new Set<RunName>();
  const uploader = createUploader({
    ...sending,
    ledger,
    runs,
    bench: (item) => (item === undefined ? benches.up() : benchOf(item)),
    homes,
    // What is joined from pieces lies where its pieces are.
    keepForCopies: async (item) =>
      item.piece === undefined && (await copier.keep(item, runs.get(item.run)?.claim ?? null)),
    onEnd: (capture) => {
      narrator.uploadEnded(capture);
      if (capture.state === "done") savedRuns.add(capture.run);
      ends.tell(capture);
      warnOfPace({ ledger, uplink, narrator }, capture);
    },
    onSent: uplink.add,
    onWaiting: narrator.waitingFor,
  });
  const places: Places = {
    watches: options.watches.map(({ folder }) => folder),
    state,
    allowed: options.restoreTo,
    restored: resolve("restored"),
    home: beginning.home,
  };
  const stored = storedOf({ ledger, hub });
  const restorer = createRestorer({
    memory,
    outbox,
    hub,
    clock: systemClock,
    journals: join(state, "restores"),
    engine: () => benches.down()?.engine ?? null,
    copies: { engineAt: (store) => benches.at(store).down.engine, memory: links },
    signal,
    member: options.group,
    beforePlaced: (staging, target, layout) => rememberRestored(ledger, { staging, target, layout }),
    // Not before: what is replaced is compared with what was stored under this name until now.
    afterPlaced: (target, layout, content) => noteRestored(ledger, { target, layout, ...content }),
    replaced: {
      isStored: (path, fingerprint) => isStoredNow(stored, path, fingerprint),
      onKept: narrator.keptReplaced,
    },
    mayPlace: (target) => assertPlace(target, places),
    isHeld: stand.isDownHeld,
    onStart: narrator.restoreStarted,
    onEnd: (restored, about) => {
      narrator.restoreEnded(restored, about);
      const { origin } = about;
      if (about.state === "done" && origin?.node != null && origin.node.id !== credential.nodeId && origin.pickles > 0)
        narrator.foreignPickles(restored, { node: origin.node.name, pickles: origin.pickles });
      const isWatched = options.watches.some(
        ({ run, folder }) => run === restored.run && restored.targetPath.startsWith(`${folder}/`),
      );
      if (about.state === "done" && isWatched && about.origin?.role == null && restored.isAlone !== true) {
        // Training goes on from here: what would be lost is what comes after.
        const { tally } = about;
        const epoch = origin?.writerEpoch ?? null;
        const point = { step: restored.step, at: wallNow(), sizeBytes: tally?.bytesTotal ?? 0, epoch };
        ledger.noteSafe(restored.run, point).catch(narrator.waitingFor);
      }
    },
  });
  const copier = createCopier({
    ...sending,
    ledger: copies,
    homes,
    own: () => session.store,
    bench: (store) => benches.at(store).up,
    isBusy: () => hasOwnWork({ ledger, uploader, restorer }),
    isHeld: ledger.isHeld,
  });
  const checker = createChecker({
    memory,
    outbox,
    hub,
    clock: systemClock,
    state,
    engine: () => benches.aside()?.engine ?? null,
    engineAt: (store) => benches.at(store).aside.engine,
    copyTo: async (run, profileId) => {
      await homes.ask(run);
      const store = homes.storeOf(run, profileId);
      return store === null ? null : benches.at(store).up;
    },
    signal,
    isBusy: () => hasOwnWork({ ledger, uploader, restorer }),
    isHeld: stand.isDownHeld,
    onStart: narrator.checkStarted,
    onEnd: narrator.checkEnded,
  });
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
    runs,
    benches,
    throttle,
    uploader,
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
    savedRuns,
    doubtful: [],
    linesBegun: new Map(),
    preparesRuns: beginning.preparesRuns,
    engines,
    turns: new Map(),
    ends,
    uplink,
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

/** Half of the disk that is free now, or held by captures of an earlier life. */
async function defaultBudget(state: string, captures: readonly Capture[]): Promise<number> {
  return Math.floor(((await readRoom(state)).freeBytes + heldBytes(captures)) / 2);
}
