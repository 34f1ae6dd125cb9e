import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { Fault, isFault, toFault } from "#protocol/fault.ts";
import { PROTOCOL_VERSION } from "#protocol/version.ts";
import type { NodeFacts } from "#protocol/hello.ts";
import { readAgentOptions, type AgentOptions } from "./agent-options.ts";
import { createNarrator, type Narrator } from "./agent-narrator.ts";
import { composeReport } from "./agent-report.ts";
import { createBenches, type Benches } from "./agent-benches.ts";
import type { Config, PlatformFacts } from "./config.ts";
import { systemClock } from "./engine/clock.ts";
import { readFacts } from "./host/facts.ts";
import { lockFolder } from "./host/lock.ts";
import { stateFolder } from "./host/state-folder.ts";
import { openCommandMemory, type CommandMemory } from "./link/command-memory.ts";
import { enrol } from "./link/enrol.ts";
import { connectHub, type Hub } from "./link/hub.ts";
import { readCredential, type NodeCredential } from "./link/node-credential.ts";
import { openMemory } from "./limits/learned.ts";
import { openThrottle, type Throttle } from "./limits/throttle.ts";
import { openOutbox, type Outbox } from "./link/outbox.ts";
import { deliver, keepDelivering, keepReporting } from "./link/report.ts";
import { openSession, type Session } from "./link/session.ts";
import { listen } from "./link/stream.ts";
import { finishTaken, takeCommand, type Taking } from "./link/take-command.ts";
import { createRestorer, type Restorer } from "./restore/restorer.ts";
import { readRoom } from "./restore/room.ts";
import type { Terminal } from "./terminal.ts";
import { readBacklog } from "./upload/backlog.ts";
import { createDisk, type Disk } from "./upload/disk-budget.ts";
import { keepCapturing } from "./upload/keep-capturing.ts";
import { openLedger, type Ledger } from "./upload/ledger.ts";
import { lookAt } from "./upload/look.ts";
import { createRuns, type Runs } from "./upload/runs.ts";
import { sweepCaptures } from "./upload/sweep.ts";
import { createUploader, type Uploader } from "./upload/uploader.ts";

/**
 * `tidemark agent`: keeps the checkpoints of this machine safe and puts others back when the hub asks. Everything it was
 * told or has seen is on disk before it acts, so it may be killed at any instant; started again, it goes on.
 */
export interface AgentCommand {
  config: Config;
  terminal: Terminal;
  signal: AbortSignal;
  /** The machine will be gone soon; `signal` follows. */
  stopping: AbortSignal;
  /** Longest time for the last words to the hub. */
  goodbyeMs: number;
  platform: PlatformFacts;
}

interface Agent {
  options: AgentOptions;
  narrator: Narrator;
  hub: Hub;
  session: Session;
  outbox: Outbox;
  ledger: Ledger;
  memory: CommandMemory;
  runs: Runs;
  benches: Benches;
  throttle: Throttle;
  uploader: Uploader;
  restorer: Restorer;
  bootId: string;
  state: string;
  disk: Disk;
  signal: AbortSignal;
}

/** Runs until the signal fires. Faults: of enrolling and starting; NODE_UNKNOWN, NODE_REVOKED, PROTOCOL_MISMATCH while it runs. */
export async function runAgent(command: AgentCommand): Promise<void> {
  const { config, terminal } = command;
  const options = readAgentOptions(config);
  const state = await stateFolder(config.text("state"), command.platform.home);
  const facts = await readFacts({ labels: config.list("label"), ...command.platform });
  const unlock = await lockFolder(state);
  const narrator = createNarrator(terminal);
  try {
    const lifetime = new AbortController();
    const credential: { held: NodeCredential | null } = { held: await readCredential(state) };
    if (credential.held !== null && credential.held.hub !== options.hub) {
      // Another hub than the one this node belongs to: it has to be enrolled there.
      credential.held = null;
    }
    const hub = connectHub(options.hub, {
      credential: () => credential.held?.credential ?? null,
      signal: lifetime.signal,
    });
    if (credential.held !== null && options.token !== null && !(await isKnown(hub, facts))) credential.held = null;
    const isNew = credential.held === null;
    credential.held ??= await enrol(hub, {
      ...options,
      base: options.hub,
      facts,
      state,
      clock: systemClock,
      signal: command.signal,
    });
    narrator.joined(credential.held, { isNew });
    await live({
      command,
      options,
      state,
      facts,
      hub,
      credential: credential.held,
      narrator,
      end: () => lifetime.abort(),
    });
  } finally {
    narrator.close();
    await unlock();
  }
}

/** A hub that was rebuilt does not know its old nodes; with a join token at hand the node enrols again by itself. */
async function isKnown(hub: Hub, facts: NodeFacts): Promise<boolean> {
  try {
    const bootId = randomUUID();
    await hub.ask("hello", (client, signal) =>
      client.node.hello.mutate({ protocol: PROTOCOL_VERSION, bootId, facts }, { signal }),
    );
    return true;
  } catch (error) {
    return !isFault(error) || error.code !== "NODE_UNKNOWN";
  }
}

interface Beginning {
  command: AgentCommand;
  options: AgentOptions;
  state: string;
  facts: NodeFacts;
  hub: Hub;
  credential: NodeCredential;
  narrator: Narrator;
  end(): void;
}

async function live(beginning: Beginning): Promise<void> {
  const { command, options, narrator } = beginning;
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, command.signal]);
  const agent = await assemble(beginning, signal);
  const { hub, outbox } = agent;
  narrator.follow({ ...agent, signal });
  for (const watch of options.watches) narrator.watching(watch);
  const link = { hub, clock: systemClock, signal };
  const tasks = [
    agent.uploader.run(),
    drainWhenAsked(agent, { stopping: command.stopping, end: () => stop.abort(new Fault("CANCELLED")) }),
    agent.restorer.run(),
    keepListening(agent),
    keepDelivering(outbox, link),
    keepReporting({
      ...link,
      everyMs: () => agent.session.settings.reportEveryMs,
      compose: () => composeReport(agent),
      onSettings: (settings) => {
        agent.session.settings = settings;
      },
    }),
    ...options.watches.map((watch) => capture({ ...agent, signal: AbortSignal.any([signal, command.stopping]) }, watch)),
  ];
  const failures: unknown[] = [];
  await Promise.all(
    tasks.map((task) =>
      task.catch((error: unknown) => {
        failures.push(error);
        stop.abort(new Fault("CANCELLED"));
      }),
    ),
  );
  await sayGoodbye(agent, command.goodbyeMs);
  beginning.end();
  agent.throttle.close();
  await agent.benches.close();
  await Promise.all([agent.ledger.close(), agent.memory.close(), outbox.close()]);
  if (failures.length > 0) throw toFault(failures[0], { op: "agent" });
}

async function assemble(beginning: Beginning, signal: AbortSignal): Promise<Agent> {
  const { options, state, facts, hub, credential, narrator } = beginning;
  const wallNow = Date.now;
  const bootId = randomUUID();
  const outbox = await openOutbox(join(state, "outbox.jsonl"), wallNow);
  const ledger = await openLedger(join(state, "ledger.jsonl"), wallNow);
  await sweepCaptures(join(state, "captures"), ledger);
  const budget = { mostBytes: options.diskBudgetBytes ?? (await defaultBudget(state, ledger)) };
  const memory = await openCommandMemory(join(state, "commands.jsonl"));
  const session = await openSession({ hub, state, name: credential.name, bootId, facts, outbox, wallNow });
  const throttle = await openThrottle({ limits: options.limits, state, onChange: narrator.limited });
  const benches = createBenches({ options, hub, session, throttle, memory: await openMemory(state, wallNow) });
  const runs = createRuns(
    options.watches.map(({ run }) => run),
    { hub, onOver: narrator.runOver },
  );
  const uploader = createUploader({
    ledger,
    runs,
    hub,
    outbox,
    clock: systemClock,
    wallNow,
    journals: join(state, "uploads"),
    node: () => ({ id: credential.nodeId, name: session.name }),
    bench: benches.up,
    signal,
    onEnd: narrator.uploadEnded,
    onWaiting: narrator.waitingFor,
  });
  const restorer = createRestorer({
    memory,
    outbox,
    hub,
    clock: systemClock,
    journals: join(state, "restores"),
    engine: () => benches.down()?.engine ?? null,
    signal,
    beforePlaced: (staging, target) => rememberRestored(ledger, staging, target),
    onStart: narrator.restoreStarted,
    onEnd: (restored, about) => {
      narrator.restoreEnded(restored, about);
      const isWatched = options.watches.some(
        ({ run, folder }) => run === restored.run && restored.targetPath.startsWith(`${folder}/`),
      );
      if (about.state === "done" && isWatched) {
        // Training goes on from here: what would be lost is what comes after.
        const point = { step: restored.step, at: wallNow(), sizeBytes: about.tally?.bytesTotal ?? 0 };
        ledger.noteSafe(restored.run, point).catch(narrator.waitingFor);
      }
    },
  });
  return {
    options,
    narrator,
    hub,
    session,
    outbox,
    ledger,
    memory,
    runs,
    benches,
    throttle,
    uploader,
    restorer,
    bootId,
    state,
    disk: createDisk({ budget, captures: ledger.all, passOver: uploader.passOver }),
    signal,
  };
}

/** Half of the disk that is free now, or held by captures of an earlier life. */
async function defaultBudget(state: string, ledger: Ledger): Promise<number> {
  const held = ledger.all().reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  return Math.floor(((await readRoom(state)).freeBytes + held) / 2);
}

/** A restored folder is the bucket's own content; the watcher must not take it for news. */
async function rememberRestored(ledger: Ledger, staging: string, target: string): Promise<void> {
  const look = await lookAt({ path: staging, kind: "folder" });
  if (look !== null) await ledger.remember(target, look.fingerprint);
}

function capture(agent: Agent, watch: AgentOptions["watches"][number]): Promise<void> {
  const { options, ledger, runs, outbox, narrator, uploader, signal, state } = agent;
  return keepCapturing({
    watch,
    settleMs: options.settleMs,
    ledger,
    runs,
    outbox,
    captures: join(state, "captures"),
    traits: agent.benches.traits,
    partBytes: options.partBytes,
    disk: agent.disk,
    signal,
    wallNow: Date.now,
    onCaptured: (captured) => {
      narrator.captured(captured);
      uploader.wake();
    },
    onPassedOver: narrator.passedOver,
    onRefused: narrator.refused,
    onFault: narrator.waitingFor,
  });
}

async function keepListening(agent: Agent): Promise<void> {
  const { hub, session, options, bootId, signal, narrator, uploader, restorer } = agent;
  const taking: Taking = {
    memory: agent.memory,
    outbox: agent.outbox,
    now: Date.now,
    hands: { restore: restorer.wake, steer: (transferId, wish) => steer(agent, transferId, wish) },
  };
  await finishTaken(taking);
  // One after the other, in the order in which the hub said them.
  let queue: Promise<void> = Promise.resolve();
  const inTurn = (work: () => Promise<void>) => {
    queue = queue.then(work).catch((error: unknown) => narrator.waitingFor(toFault(error, { op: "command" })));
  };
  await listen({
    hub,
    base: options.hub,
    bootId,
    clock: systemClock,
    signal,
    beforeOpen: async () => {
      await session.hello();
      narrator.hubBack();
      uploader.wake();
      restorer.wake();
    },
    onMessage: (message) => {
      switch (message.type) {
        case "settings":
          session.settings = message.settings;
          return;
        case "command":
          inTurn(() => takeCommand(taking, message.command));
          return;
        case "refresh":
          inTurn(async () => {
            await session.hello();
            await uploader.retryFailed();
          });
          return;
        case "beat":
      }
    },
    onLost: narrator.hubLost,
  });
}

async function steer(agent: Agent, transferId: string, wish: Parameters<Uploader["steer"]>[1]): Promise<void> {
  if (agent.ledger.byTransfer(transferId) !== undefined) await agent.uploader.steer(transferId, wish);
  else await agent.restorer.steer(transferId, wish);
}

/** Uploads what can still be safe in the time that is left, and ends early when that is all. */
async function drainWhenAsked(agent: Agent, about: { stopping: AbortSignal; end(): void }): Promise<void> {
  const { signal, uploader, narrator, ledger } = agent;
  await new Promise<void>((resolve) => {
    for (const asked of [about.stopping, signal]) {
      if (asked.aborted) resolve();
      asked.addEventListener("abort", () => resolve(), { once: true });
    }
  });
  if (signal.aborted) return;
  narrator.draining(ledger.all().filter(({ state }) => state === "waiting" || state === "running").length);
  await uploader.drain();
  about.end();
}

/** The last words: to the hub, and to the person at the terminal. */
async function sayGoodbye(agent: Agent, mostMs: number): Promise<void> {
  const { hub, outbox, narrator } = agent;
  const words = async () => {
    await deliver(outbox, hub);
    await hub.ask("goodbye", (client, signal) => client.node.goodbye.mutate(undefined, { signal }));
  };
  await Promise.race([words().catch(() => undefined), systemClock.sleep(mostMs)]);
  narrator.leaving(await readBacklog(agent));
}
