import { join } from "node:path";
import { DEFAULT_PACKING } from "#protocol/checkpoint/packing.ts";
import type { Agent } from "./agent-assemble.ts";
import { judgeStateDisk } from "../host/judge-state-disk.ts";
import { judgeBeginning } from "./judge-beginning.ts";
import type { Watch } from "../capture/watch.ts";
import type { Capturing } from "../capture/keep-capturing.ts";
import type { Capture } from "../capture/capture.ts";
import { beginLine } from "./begin-line.ts";
import { takeCapture, type TakeParts } from "../capture/take-capture.ts";
import { warnOfPace } from "./warn-of-pace.ts";

/** What this worker takes captures with. */
const takingOf = (agent: Agent): TakeParts => ({
  ledger: agent.ledger,
  runs: agent.runs,
  disk: agent.disk,
  captures: join(agent.state, "captures"),
  traits: agent.benches.traits,
  partBytes: agent.options.partBytes,
  packing: () => agent.session.store?.packing ?? DEFAULT_PACKING,
  wallNow: Date.now,
  hubKnows: (feature) => agent.session.knows(feature),
  group: agent.options.group,
});

/** Takes one now, whoever asks for it. Null when it has been taken already. Faults: those of `takeCapture`. */
export async function captureNow(agent: Agent, about: Parameters<typeof takeCapture>[1]): Promise<Capture | null> {
  const taken = await takeCapture(takingOf(agent), about);
  if (taken !== null) sayCaptured(agent, taken);
  return taken;
}

/** Where captures do not fit, or will not for long, although there is room beside the checkpoints. */
async function warnOfDisk({ state, narrator }: Agent, folder: string): Promise<void> {
  const found = await judgeStateDisk(state, folder);
  if (found !== null) narrator.smallDisk(folder, found);
}

function sayCaptured(agent: Agent, captured: Capture): void {
  const { run, step, doubt } = captured;
  agent.refused.delete(captured.sourcePath);
  if (doubt !== undefined) agent.doubtful.push({ run, step, why: doubt });
  agent.narrator.captured(captured);
  warnOfPace(agent, captured);
  agent.uploader.wake();
}

/** What one watched folder is captured with. */
export function capturingOf(
  agent: Agent,
  watch: Watch,
  about: Partial<Pick<Capturing, "until" | "over">> = {},
): Capturing {
  const { options, outbox, narrator, signal } = agent;
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
    isClosed: () => agent.stand.isDrained || (agent.preparesRuns && !agent.prepared.has(watch.run)),
    ...about,
    // Several nodes open the next epoch by starting their programs anew.
    ...(watch.group === undefined && {
      onBefore: (candidate, look) => beginLine(agent, watch.run, { candidate, look }),
    }),
    onSeen: (run, { step, at }, { stepFrom }) => {
      // Seconds are no steps that a program could have done or lost.
      if (stepFrom === "time") return;
      const { training, runs, prepared, epochsBefore } = agent;
      if (at >= (agent.beginnings.get(run)?.startedAt ?? 0)) agent.bars?.confirm(step);
      const epoch = runs.get(run)?.claim?.epoch ?? null;
      // What lay there before another node took the run over and gave it back says nothing of this epoch.
      if (epoch === null || (!prepared.has(run) && epochsBefore.get(run) !== epoch)) return;
      try {
        training.see(run, { step, at, epoch });
      } catch (error) {
        // Only losses are told less exactly; the checkpoint itself is what matters.
        narrator.waitingFor(error);
      }
    },
    onCaptured: (captured) => {
      sayCaptured(agent, captured);
      void warnOfDisk(agent, watch.folder);
      if (captured.role !== undefined || captured.capturedAt < (agent.beginnings.get(watch.run)?.startedAt ?? 0))
        return;
      const { step } = captured;
      judgeBeginning(agent, watch.run, { step, by: "checkpoint" }).catch(narrator.waitingFor);
    },
    onPassedOver: (candidate) => {
      agent.refused.delete(candidate.path);
      narrator.passedOver(candidate);
    },
    onRefused: (candidate, fault, look) => {
      // What is no checkpoint is not missing among those that are safe.
      if (fault.code !== "NO_CHECKPOINT")
        agent.refused.set(candidate.path, { run: watch.run, fingerprint: look?.fingerprint ?? null });
      narrator.refused(candidate, fault);
      if (fault.code === "DISK_BUDGET" || fault.code === "NO_SPACE") void warnOfDisk(agent, watch.folder);
    },
    onFault: narrator.waitingFor,
  };
}
