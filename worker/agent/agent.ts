import { randomUUID } from "node:crypto";
import { Fault, toFault } from "#protocol/faults/fault.ts";
import { capturingOf } from "./agent-capture.ts";
import { readAgentOptions } from "./agent-options.ts";
import { createConsoleReporter, type ConsoleReporter } from "./console-reporter.ts";
import { probeFirst, tellCost } from "./agent-probe.ts";
import { composeReport } from "./agent-report.ts";
import { assemble, type Agent, type AgentParts, type Machine } from "./agent-assemble.ts";
import type { Config, PlatformFacts } from "../command-line/config.ts";
import { systemClock } from "../base/clock.ts";
import { readFacts } from "../host/facts.ts";
import { createImds } from "../host/imds.ts";
import { lockFolder } from "../host/lock.ts";
import { lowerPriority } from "../host/nice.ts";
import { stateFolder, statesBeside, unusualState } from "../host/state-folder.ts";
import { keepConfirmingPieces } from "./confirm-pieces.ts";
import { keepTellingDoubts } from "./doubt-stored.ts";
import { keepMetricsFile } from "./keep-metrics-file.ts";
import { startNotifying } from "./keep-notifying.ts";
import { join, type Joined } from "./join.ts";
import { answerLocal } from "./local-api/answer-local.ts";
import { serveLocal, type ProgramPlace } from "../local-api/serve-local.ts";
import { deliver, keepDelivering, keepReporting } from "../hub-link/report.ts";
import { listen } from "../hub-link/stream.ts";
import { whereOf } from "../engines/find-program.ts";
import { finishTaken, takeCommand, type Taking } from "../hub-link/take-command.ts";
import { handleCommand } from "./command-handlers/command-handlers.ts";
import { readProbeOptions } from "../probe/options.ts";
import type { Terminal } from "../command-line/terminal.ts";
import { readBacklog } from "../upload/backlog.ts";
import type { ProgramOver } from "../capture/detection/settle.ts";
import { keepCapturing } from "../capture/keep-capturing.ts";
import type { Watch } from "../capture/watch.ts";

/**
 * `tidemark agent`: keeps the checkpoints of this machine safe and restores others when the hub asks. Everything it was told or
 * has seen is on disk before it acts. It may be killed at any instant and continues when started again.
 */
export interface AgentCommand {
  config: Config;
  terminal: Terminal;
  signal: AbortSignal;
  /** Fires when the machine will be gone soon; `signal` follows. */
  stopping: AbortSignal;
  /** Longest time for the last messages to the hub. */
  goodbyeMs: number;
  platform: PlatformFacts;
  /** State folder, if it is not the one of the settings. It exists. */
  state?: string;
  /** The machine that this worker shares with others of the same start; none: it has the machine alone. */
  machine?: Machine;
  /** Watched folders, if they are not those of the settings. */
  watches?: readonly Watch[];
  /** Id of this start, if several agents follow each other in this process. */
  bootId?: string;
  /** Reads the bucket of `--to` and writes nothing there. */
  readsOnly?: true;
  /** Whether work beside the worker prepares each run before anything of the run is captured. */
  preparesRuns?: boolean;
  /** Returns where a program that runs as another user reaches this worker; null when no program does. */
  programPlace?(state: string): ProgramPlace | null;
  /** Called once this worker has locked the state folder, before it contacts the hub. Returns what to call at the end. */
  takePlace?(place: Place): Promise<() => Promise<void>>;
}

export interface Place {
  state: string;
  watches: readonly Watch[];
  reporter: ConsoleReporter;
}

/** Runs until the signal fires. Faults: of enrolling and starting; NODE_UNKNOWN, NODE_REVOKED, PROTOCOL_MISMATCH while it runs. */
export async function runAgent(command: AgentCommand, beside: Beside = untilAsked): Promise<void> {
  const { config, terminal } = command;
  const settings = readAgentOptions(config);
  const options = command.watches === undefined ? settings : { ...settings, watches: [...command.watches] };
  const state = command.state ?? (await stateOfWorker(command));
  const facts = await readFacts({ labels: config.list("label"), ...command.platform });
  const unlock = await lockFolder(state);
  const reporter = createConsoleReporter(terminal);
  let leavePlace: () => Promise<void> = async () => {};
  try {
    leavePlace = (await command.takePlace?.({ state, watches: options.watches, reporter })) ?? leavePlace;
    const joined = await join(command, { options, state, facts, reporter });
    const { hub } = joined;
    const probedUp = await probeFirst(command, { hub, options, facts });
    const machine = command.machine ?? null;
    const beginning = { ...joined, options, state, machine, facts, reporter, probedUp };
    await live(command, { ...beginning, ...platformOf(command) }, beside);
  } finally {
    reporter.close();
    await leavePlace();
    await unlock();
  }
}

/**
 * Returns the state folder; beside the watched folders if neither usual place works. @throws Fault FOLDER_UNWRITABLE,
 * FOLDER_NOT_OWN
 */
export async function stateOfWorker({
  config,
  platform,
  terminal,
}: Pick<AgentCommand, "config" | "platform" | "terminal">): Promise<string> {
  const [requested, { home }] = [config.text("state"), platform];
  const state = await stateFolder(requested, home, statesBeside(config.list("watch")));
  const sentence = unusualState(state, { requested, home });
  if (sentence !== null) terminal.say(sentence, { type: "note", sentence });
  return state;
}

const platformOf = ({ config, platform, preparesRuns = false, bootId = randomUUID() }: AgentCommand) => ({
  preparesRuns,
  bootId,
  home: platform.home,
  platform: { imds: createImds(platform.imdsUrl), machineId: platform.machineId },
  probeOptions: readProbeOptions(config),
  engines: whereOf(platform),
});

/** Work that runs beside the worker's own tasks, such as a supervised program. It may end the worker. */
export type Beside = (agent: Agent, life: Life) => Promise<void>;

export interface Life {
  /** Fires when the machine will be gone soon, or when the hub asked this worker to stop. */
  stopping: AbortSignal;
  /** Fires when the hub asked for the stop, or `endWithin` did. A program beside the worker has received no signal then. */
  askedByHub: AbortSignal;
  /** Fires when the hub asked this node to stop, and not only the work beside the worker. */
  leaving: AbortSignal;
  /** Asks the work beside the worker to end within this time. */
  endWithin(graceMs: number): void;
  /** Stops captures. `after`: how the program ended; what it left is captured first. Resolves when that is done. */
  endCaptures(after: ProgramOver | null): Promise<void>;
  /** Ends all tasks of the worker. */
  end(): void;
  /** Does the same for another agent that follows in this process: the hub is not told that the node leaves. */
  makeWay(): void;
}

async function live(
  command: AgentCommand,
  beginning: Omit<AgentParts, "stopWithin" | "program"> & Pick<Joined, "leave">,
  beside: Beside,
): Promise<void> {
  const { options, reporter } = beginning;
  const stop = new AbortController();
  const untilOver = new AbortController();
  const over: { how: ProgramOver | null } = { how: null };
  let isFollowed = false;
  const signal = AbortSignal.any([stop.signal, command.signal]);
  const asked = new AbortController();
  const leaving = new AbortController();
  const stopWithin = (graceMs: number) => {
    leaving.abort(new Fault("CANCELLED"));
    endWithin(graceMs);
  };
  const endWithin = (graceMs: number) => {
    asked.abort(new Fault("CANCELLED"));
    const end = () => stop.abort(new Fault("CANCELLED"));
    if (graceMs > 0) setTimeout(end, graceMs).unref();
    else end();
  };
  const program = command.programPlace?.(beginning.state) ?? null;
  const agent = await assemble({ ...beginning, program, stopWithin }, signal);
  const { hub, outbox } = agent;
  agent.local.listener = await serveLocal({
    state: agent.state,
    program,
    port: options.localPort,
    answer: (request) => answerLocal(agent, request),
    signal,
  });
  reporter.answering(agent.local.listener, agent.state);
  reporter.follow({ ...agent, signal });
  for (const watch of options.watches) reporter.watching(watch);
  const link = { hub, clock: systemClock, signal };
  const telling = new AbortController();
  const stopping = AbortSignal.any([command.stopping, asked.signal, command.signal]);
  const notifying = startNotifying(agent, { lifetime: telling.signal, stopping });
  const until = AbortSignal.any([signal, untilOver.signal]);
  const captures = options.watches.map((watch) =>
    keepCapturing(capturingOf(agent, watch, { until, over: () => over.how })),
  );
  const life: Life = {
    stopping: AbortSignal.any([command.stopping, asked.signal]),
    askedByHub: asked.signal,
    leaving: leaving.signal,
    endWithin,
    endCaptures: async (how) => {
      over.how = how;
      untilOver.abort(new Fault("CANCELLED"));
      await Promise.allSettled(captures);
    },
    end: () => stop.abort(new Fault("CANCELLED")),
    makeWay: () => {
      isFollowed = true;
      life.end();
    },
  };
  const tasks = [
    agent.uploader.run(),
    beside(agent, life),
    agent.restorer.run(),
    agent.checker.run(),
    agent.copier.run(),
    keepListening(agent),
    keepDelivering(outbox, link),
    keepReporting({
      ...link,
      everyMs: () => agent.session.settings.reportEveryMs,
      compose: () => composeReport(agent),
      onAnswer: ({ settings, jobLog }) => {
        agent.session.settings = settings;
        if (agent.jobLog !== null) agent.jobLog.wanted = jobLog;
      },
    }),
    ...captures,
    tellCost(agent, command.platform),
    notifying.run(),
    keepMetricsFile(agent),
    keepConfirmingPieces(agent),
    keepTellingDoubts(agent),
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
  await Promise.all([
    sayGoodbye(agent, { mostMs: command.goodbyeMs, isFollowed }),
    Promise.race([notifying.idle(), systemClock.sleep(command.goodbyeMs)]),
  ]);
  telling.abort(new Fault("CANCELLED"));
  await beginning.leave();
  await agent.local.listener.close();
  agent.training.close();
  agent.throttle.close();
  await agent.storeSessions.close();
  await Promise.all([agent.ledger.close(), agent.memory.close(), outbox.close(), agent.copies.close()]);
  if (failures.length > 0) throw toFault(failures[0], { op: "agent" });
}

async function keepListening(agent: Agent): Promise<void> {
  const { hub, session, options, bootId, signal, reporter, uploader, restorer } = agent;
  const taking: Taking = {
    memory: agent.memory,
    outbox: agent.outbox,
    now: session.hubNow,
    signal,
    handlers: {
      wakeJobs: () => {
        restorer.wake();
        agent.checker.wake();
      },
      // The hub looks for no job after some commands, also when the node refused them.
      handle: (command) => handleCommand(agent, command).finally(() => agent.jobWait.wake()),
    },
    onTrouble: (error) => reporter.waitingFor(toFault(error, { op: "command" })),
  };
  await finishTaken(taking);
  // Commands run one at a time, in the order in which the hub sent them.
  let queue: Promise<void> = Promise.resolve();
  const inTurn = (work: () => Promise<void>) => {
    queue = queue.then(work).catch((error: unknown) => reporter.waitingFor(toFault(error, { op: "command" })));
  };
  let isNewStream = false;
  await listen({
    hub,
    base: options.hub,
    bootId,
    clock: systemClock,
    signal,
    withinMs: () => session.settings.returnWithinMs,
    beforeOpen: async () => {
      await session.hello();
      reporter.hubBack();
      uploader.wake();
      restorer.wake();
      agent.checker.wake();
      agent.copier.wake();
      isNewStream = true;
      // Best effort: until the answer comes, the replicas known so far apply.
      void agent.homes.refresh().catch(() => undefined);
    },
    onMessage: (message) => {
      // A message about a job may have gone to an earlier stream.
      if (isNewStream) agent.jobWait.wake();
      isNewStream = false;
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
            await agent.homes.refresh();
            await uploader.retryFailed();
          });
          return;
        case "rotate":
          inTurn(agent.rotate);
          return;
        case "job":
          agent.jobWait.wake();
          return;
      }
    },
    onLost: reporter.hubLost,
    onRefused: reporter.waitingFor,
  });
}

/** Resolves when one of the signals fires. */
export const aborted = (...signals: readonly AbortSignal[]): Promise<void> =>
  new Promise((resolve) => {
    const any = AbortSignal.any([...signals]);
    if (any.aborted) resolve();
    else any.addEventListener("abort", () => resolve(), { once: true });
  });

/** Runs without a program. When asked to stop, uploads what can still be made safe, and ends early once all is. */
const untilAsked: Beside = async (agent, life) => {
  lowerPriority();
  const { signal } = agent;
  await aborted(life.stopping, signal);
  if (signal.aborted) return;
  await life.endCaptures(null);
  await drain(agent);
  life.end();
};

/** Uploads unsafe captures, those with the fewest bytes left first. Resolves when all are safe or time is over. */
export async function drain({ ledger, reporter, uploader }: Agent): Promise<void> {
  reporter.draining(ledger.all().filter(({ state }) => state === "waiting" || state === "running").length);
  await uploader.drain();
}

/** Sends the hub a last report and, unless another agent follows, a goodbye, and prints what is not safe. Waits at most `mostMs`. */
async function sayGoodbye(agent: Agent, about: { mostMs: number; isFollowed: boolean }): Promise<void> {
  const { mostMs, isFollowed } = about;
  const { hub, outbox, reporter } = agent;
  const words = async () => {
    await deliver(outbox, hub);
    const report = await composeReport(agent);
    const told = hub.ask("progress", (client, signal) => client.node.progress.mutate(report, { signal }));
    await told.catch(() => undefined);
    if (!isFollowed) await hub.ask("goodbye", (client, signal) => client.node.goodbye.mutate(undefined, { signal }));
  };
  await Promise.race([words().catch(() => undefined), systemClock.sleep(mostMs)]);
  reporter.leaving(await readBacklog(agent), (run) => ({
    doubtful: agent.doubtful.unresolved(run),
    piece: agent.ledger.piece(run),
  }));
}
