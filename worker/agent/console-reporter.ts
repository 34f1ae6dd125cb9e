import { formatRate } from "#protocol/base/units.ts";
import { sentenceOf, toFault } from "#protocol/faults/fault.ts";
import type { Run } from "../capture/runs.ts";
import type { Watch } from "../capture/watch.ts";
import type { Terminal } from "../command-line/terminal.ts";
import type { NodeCredential } from "../hub-link/node-credential.ts";
import type { Session } from "../hub-link/session.ts";
import type { LocalListener } from "../local-api/serve-local.ts";
import { tellOrphans, type OrphanReporter } from "../program/tell-orphans.ts";
import { tideLine, transferFacts, transferSentence } from "../transfer/progress/sentence.ts";
import type { Uploader } from "../upload/uploader-parts.ts";
import type { StoreSessions } from "./agent-store-sessions.ts";
import { createCaptureMessages, type CaptureMessages } from "./messages/capture-messages.ts";
import { createProgramMessages, type ProgramMessages } from "./messages/program-messages.ts";
import { createRestoreMessages, type RestoreMessages } from "./messages/restore-messages.ts";

/** Prints one line for each milestone, and on a terminal the progress line of the active upload. */
export interface ConsoleReporter extends OrphanReporter, CaptureMessages, RestoreMessages, ProgramMessages {
  joined(credential: NodeCredential, how: { isNew: boolean }): void;
  watching(watch: Watch): void;
  /** Prints the address on loopback, or that no unix socket could be created. */
  answering(listener: Pick<LocalListener, "socket" | "url" | "tokenFile">, state: string): void;
  runOver(run: Run): void;
  /** Prints a changed limit; 0 is no limit. */
  limited(direction: "up" | "down", bytesPerSecond: number): void;
  waitingFor(error: unknown): void;
  /** Prints a command of the hub. */
  handling(command: { kind: string; id: string }): void;
  hubLost(error: unknown): void;
  hubBack(): void;
  /** Redraws the progress of the active upload until the signal fires. */
  follow(about: { uploader: Uploader; storeSessions: StoreSessions; session: Session; signal: AbortSignal }): void;
  close(): void;
}

const TICK_MS = 100;
/** The same fault is printed again only after this long. */
const QUIET_MS = 60_000;

export function createConsoleReporter(terminal: Terminal): ConsoleReporter {
  const said = new Map<string, number>();
  let isHubLost = false;
  let timer: NodeJS.Timeout | null = null;
  const trouble = (error: unknown) => {
    const data = toFault(error).toData();
    const key = `${data.code} ${data.op ?? ""}`;
    if (performance.now() - (said.get(key) ?? -Infinity) < QUIET_MS) return;
    said.set(key, performance.now());
    terminal.say(sentenceOf(data), { type: "trouble", fault: data });
  };
  return {
    ...createCaptureMessages(terminal),
    ...createRestoreMessages(terminal),
    ...createProgramMessages(terminal),
    ...tellOrphans(terminal),
    joined: ({ name: node, hub }, { isNew }) =>
      terminal.say(isNew ? `Enrolled at ${hub} as ${node}.` : `This is ${node} of ${hub}.`, {
        type: "joined",
        node,
        hub,
        isNew,
      }),
    watching: ({ folder, run, isDefault }) => {
      const named = `Watching ${folder} for checkpoints of ${run}.`;
      const unnamed = `Watching the working folder ${folder} for checkpoints of ${run} that the program writes there, because no --watch names a folder. Left out: data, dataset, datasets, cache, env, venv and restored in it.`;
      terminal.say(isDefault === true ? unnamed : named, { type: "watching", folder, run });
    },
    answering: ({ socket, url, tokenFile }, state) => {
      if (socket === null) {
        const sentence = `Commands of this machine cannot ask this worker: the path of its state folder ${state} is too long for a unix socket, and there is no short private folder for one. Name a shorter folder with --state, or a short TMPDIR.`;
        terminal.say(sentence, { type: "note", sentence });
      }
      if (url === null || tokenFile === null) return;
      const sentence = `Programs find the local API at ${url}, with the token in ${tokenFile}.`;
      terminal.say(sentence, { type: "local-api", url, tokenFile });
    },
    runOver: (run) => {
      const why = run.over === null ? "" : ` ${sentenceOf(run.over.toData())}`;
      terminal.say(`Stopped uploading ${run.name}.${why}`, { type: "run-over", run: run.name });
    },
    limited: (direction, bytesPerSecond) => {
      const limit = bytesPerSecond === 0 ? "none" : formatRate(bytesPerSecond, "bytes");
      terminal.say(`Limit ${direction}: ${limit}.`, { type: "limit", direction, bytesPerSecond });
    },
    waitingFor: trouble,
    handling: ({ kind, id }) => terminal.say(`The hub asks: ${kind}.`, { type: "command", kind, id }),
    hubLost: (error) => {
      if (isHubLost) return;
      isHubLost = true;
      const data = toFault(error).toData();
      terminal.say(`${sentenceOf(data)} Uploads go on while their signatures last; the queue is kept.`, {
        type: "hub-lost",
        fault: data,
      });
    },
    hubBack: () => {
      if (isHubLost) terminal.say("The hub is back.", { type: "hub-back" });
      isHubLost = false;
    },
    follow: ({ uploader, storeSessions, session, signal }) => {
      timer = setInterval(() => {
        const active = uploader.active;
        const storeSession = storeSessions.up();
        if (active?.counters == null || storeSession === null) return;
        const { counters } = active;
        const { bucket, prefix } = storeSession.store;
        const moving = () => ({
          from: session.name,
          to: `${bucket}/${prefix}${active.capture.run}@${active.capture.step}`,
          counters,
          bytesPerSecond: storeSession.engine.meter.bytesPerSecond(),
        });
        terminal.draw(
          () => [transferSentence(moving()), tideLine(counters)],
          () => ({ type: "progress", ...transferFacts(moving()) }),
        );
      }, TICK_MS);
      signal.addEventListener("abort", () => timer !== null && clearInterval(timer), { once: true });
    },
    close: () => {
      if (timer !== null) clearInterval(timer);
      terminal.close();
    },
  };
}
