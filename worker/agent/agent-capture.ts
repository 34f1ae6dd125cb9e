import { join } from "node:path";
import { isTimeStep, stepSourceOf } from "#protocol/checkpoint/step-words.ts";
import { DEFAULT_PACKING } from "#protocol/checkpoint/packing.ts";
import type { Agent } from "./agent-assemble.ts";
import { judgeStateDisk } from "../host/judge-state-disk.ts";
import { doubtStored } from "./doubt-stored.ts";
import { judgeBeginning } from "./judge-beginning.ts";
import type { Watch } from "../capture/watch.ts";
import type { Capturing } from "../capture/keep-capturing.ts";
import type { Capture } from "../capture/capture.ts";
import { beginLine, unopenedOf } from "./begin-line.ts";
import { specialRefusal } from "../capture/refusals.ts";
import { takeCapture, type TakeParts } from "../capture/take-capture.ts";
import { warnOfPace } from "./warn-of-pace.ts";

/** Returns what every capture of this worker needs. */
const takingOf = (agent: Agent): TakeParts => ({
  ledger: agent.ledger,
  runs: agent.runs,
  disk: agent.disk,
  captures: join(agent.state, "captures"),
  traits: agent.storeSessions.traits,
  partBytes: agent.options.partBytes,
  packing: () => agent.session.store?.packing ?? DEFAULT_PACKING,
  wallNow: Date.now,
  hubKnows: (feature) => agent.session.knows(feature),
  group: agent.options.group,
});

/** Captures a checkpoint now, for any caller. Returns null when it was captured already. Faults: those of `takeCapture`. */
export async function captureNow(agent: Agent, about: Parameters<typeof takeCapture>[1]): Promise<Capture | null> {
  const inRoot = about.watchedRoot?.index ?? 0;
  const newLine = await unopenedOf(agent, { run: about.run, inRoot });
  const taken = await takeCapture(takingOf(agent), { ...about, newLine });
  if (taken === null) return null;
  sayCaptured(agent, taken);
  const left = specialRefusal(about.candidate, about.look);
  if (left !== null) agent.reporter.refused(left.candidate, left.fault);
  return taken;
}

/** Warns when captures do not fit on the state disk, or soon will not, although the checkpoints' own disk has room. */
async function warnOfDisk({ state, reporter }: Agent, folder: string): Promise<void> {
  const found = await judgeStateDisk(state, folder);
  if (found !== null) reporter.smallDisk(folder, found);
}

function sayCaptured(agent: Agent, captured: Capture): void {
  agent.refused.delete(captured.sourcePath);
  agent.doubtful.note(captured);
  agent.reporter.captured(captured);
  warnOfPace(agent, captured);
  agent.uploader.wake();
}

/** Limit of remembered paths, for a program that makes ever new names. */
const MOST_LEFT_OUT = 1_000;

/** Returns the parts and callbacks with which one watched folder is captured. */
export function capturingOf(
  agent: Agent,
  watch: Watch,
  about: Partial<Pick<Capturing, "until" | "over">> = {},
): Capturing {
  const { options, outbox, reporter, signal } = agent;
  return {
    ...takingOf(agent),
    watch,
    isLeft: (path, fingerprint) => agent.leftInPlace.get(path) === fingerprint,
    watchedSince: agent.watchedSince.get(watch.run) ?? 0,
    settleMs: options.settleMs,
    unfinishedAfterMs: options.unfinishedAfterMs,
    outbox,
    signal,
    until: signal,
    over: () => null,
    isPaused: () => agent.stand.isDrained || (agent.preparesRuns && !agent.prepared.has(watch.run)),
    ...about,
    onBefore: (candidate, look) => beginLine(agent, watch, { candidate, look }),
    onSeen: (run, { step, at }, { stepFrom }) => {
      // A step that was read from a timestamp counts seconds, not training steps.
      if (stepFrom === "time") return;
      const { training, runs, prepared, epochsBefore } = agent;
      if (at >= (agent.beginnings.get(run)?.startedAt ?? 0)) agent.bars?.confirm(step);
      const epoch = runs.get(run)?.claim?.epoch ?? null;
      // A checkpoint from before another node took the run over and gave it back says nothing about this epoch.
      if (epoch === null || (!prepared.has(run) && epochsBefore.get(run) !== epoch)) return;
      try {
        training.see(run, { step, at, epoch });
      } catch (error) {
        // Without this note lost work is only estimated less exactly; the capture itself must go on.
        reporter.waitingFor(error);
      }
    },
    onCaptured: (captured) => {
      sayCaptured(agent, captured);
      void warnOfDisk(agent, watch.folder);
      if (captured.role !== undefined) return;
      const { step, capturedAt: at, place } = captured;
      if (at < (agent.beginnings.get(watch.run)?.startedAt ?? 0)) return;
      // A checkpoint in another watched folder of the run is of another sequence.
      if ((agent.beginnings.get(watch.run)?.root ?? 0) !== (watch.root?.index ?? 0)) return;
      // A time of writing shows no step.
      if (isTimeStep({ step, at, source: stepSourceOf(place) })) return;
      judgeBeginning(agent, watch.run, { step, by: "checkpoint", path: captured.sourcePath }).catch(
        reporter.waitingFor,
      );
    },
    onFilesKnown: () => agent.uploader.wake(),
    onDoubt: (about) => doubtStored(agent, { run: watch.run, ...about }),
    onPassedOver: (candidate) => {
      agent.refused.delete(candidate.path);
      reporter.passedOver(candidate);
    },
    onRefused: (candidate, fault, look) => {
      if (fault.code === "NO_CHECKPOINT") {
        if (agent.leftOut.size >= MOST_LEFT_OUT) agent.leftOut.clear();
        agent.leftOut.add(candidate.path);
      }
      // A folder that is no checkpoint does not count as an unsafe one.
      else agent.refused.set(candidate.path, { run: watch.run, fingerprint: look?.fingerprint ?? null });
      reporter.refused(candidate, fault);
      if (fault.code === "DISK_BUDGET" || fault.code === "NO_SPACE") void warnOfDisk(agent, watch.folder);
    },
    onFault: reporter.waitingFor,
  };
}
