import type { CheckpointRole } from "#protocol/checkpoint/checkpoint.ts";
import { damageWords, type DamageReport } from "#protocol/checkpoint/damage.ts";
import { sentenceOf, toFault, type Fault, type FaultData } from "#protocol/faults/fault.ts";
import { lostWords } from "#protocol/history/losses.ts";
import type { RunBacklog } from "#protocol/wire/reports.ts";
import type { TransferState } from "#protocol/wire/transfer.ts";
import type { ShownPlace } from "#protocol/checkpoint/place.ts";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import { formatBytes, formatCount, formatDuration, formatRate } from "#protocol/base/units.ts";
import type { Benches } from "./agent-store-sessions.ts";
import type { SmallDisk } from "../host/judge-state-disk.ts";
import type { NodeCredential } from "../hub-link/node-credential.ts";
import type { Session } from "../hub-link/session.ts";
import type { CheckCommand } from "../verification/checker.ts";
import type { RestoreCommand } from "../restore/restore.ts";
import { tellOrphans, type OrphanNarrator } from "../program/tell-orphans.ts";
import { tideLine, transferFacts, transferSentence } from "../transfer/progress/sentence.ts";
import type { Terminal } from "../command-line/terminal.ts";
import { endSentence, lastWords } from "./end-sentences.ts";
import { untakenWords, type Untaken } from "../capture/detection/untaken.ts";
import type { Capture } from "../capture/capture.ts";
import type { Candidate } from "../capture/detection/find.ts";
import type { Run } from "../capture/runs.ts";
import type { Uploader } from "../upload/uploader-parts.ts";
import type { Watch } from "../capture/watch.ts";

/** What the agent says: one line per milestone, and on a terminal the tide line of the upload under way. */
export interface Narrator extends OrphanNarrator {
  joined(credential: NodeCredential, how: { isNew: boolean }): void;
  watching(watch: Watch): void;
  answering(door: { url: string; tokenFile: string }): void;
  captured(capture: Capture): void;
  passedOver(candidate: Candidate): void;
  /** Captures go to a disk with much less room than that of the checkpoints. Said once for each folder. */
  smallDisk(folder: string, about: SmallDisk): void;
  refused(candidate: Candidate, fault: Fault): void;
  setAside(about: { path: string; place: string; state: "whole" | "doubtful" | "torn" }): void;
  /** A restore replaced something that is not in the bucket byte for byte, and kept it. */
  keptReplaced(place: string): void;
  /** Checkpoints above the chosen one, and nothing shows that this run wrote them. */
  leftInPlace(about: { run: string; folder: string; names: readonly string[] }): void;
  /** `--from` was obeyed at an earlier start. */
  chosenBefore(about: { run: string; from: number | "beginning"; step: number | null }): void;
  /** A program did not go on from the checkpoint that it was given. `from` null: it began at its beginning. */
  beganElsewhere(about: { run: string; given: number; from: number | null }): void;
  /** The framework makes a new folder at its next start, which nobody watches. */
  writesElsewhere(about: { run: string; folder: string; above: string; next: string }): void;
  /** A checkpoint that the state of the newest one names is back too. */
  restoredToo(about: { run: string; step: number; path: string; why: "named" | "kept" }): void;
  /** Not all that are kept fit on the disk. `left`: how many stay in the bucket, `step` being the newest of them. */
  keptNotAll(about: { run: string; step: number; left: number; neededBytes: number; freeBytes: number }): void;
  keptUnknown(about: { run: string }): void;
  /** The program ended, and nothing of what it wrote there was captured. */
  nothingTaken(about: { run: string; folder: string; untaken: Untaken; isRefused: boolean }): void;
  /** A program counts from a lower step again than the run had reached. */
  lineBegun(about: { run: string; step: number; after: number; epoch: number }): void;
  /** The program failed at once. `before`: the complete step before the one it was given; null: there is none. */
  failedAtOnce(about: { run: string; step: number; code: number; ranMs: number; before: number | null }): void;
  /** A later step than the one that is gone on from is in the bucket, and may not be whole. */
  doubtfulLater(about: { run: string; step: number; why: string }): void;
  /** `step` null: it starts from the beginning. */
  resuming(about: { run: string; step: number | null; path: string | null }): void;
  /** What an interruption cost. */
  lost(loss: {
    run: string;
    fromStep: number | null;
    lastStep: number;
    lostSteps: number;
    lostMs: number;
    isEstimated?: boolean | undefined;
  }): void;
  programEnded(end: { code: number | null; signal: string | null }): void;
  restarting(about: { code: number; waitMs: number }): void;
  /** Asked to stop while so many checkpoints are not safe. */
  draining(unsafe: number): void;
  uploadEnded(capture: Capture): void;
  /** A run saves more often than the uplink can carry. */
  cannotSustain(about: { run: string; intervalMs: number; leastMs: number }): void;
  restoreStarted(command: RestoreCommand): void;
  restoreEnded(command: RestoreCommand, about: { state: TransferState; fault: Fault | null }): void;
  /** What was restored runs code when it is loaded, and another node wrote it. */
  foreignPickles(command: RestoreCommand, about: { node: string; pickles: number }): void;
  /** The newest one is damaged. */
  fallingBack(about: { run: string; step: number; from: number; why: string }): void;
  checkStarted(command: CheckCommand): void;
  checkEnded(command: CheckCommand, about: { fault: FaultData | null; damage: DamageReport | null }): void;
  runOver(run: Run): void;
  /** 0 is no limit. */
  limited(direction: "up" | "down", bytesPerSecond: number): void;
  waitingFor(error: unknown): void;
  /** The hub asks for something. */
  obeying(order: { kind: string; id: string }): void;
  hubLost(error: unknown): void;
  hubBack(): void;
  leaving(backlog: readonly RunBacklog[]): void;
  /** Draws until the signal fires. */
  follow(about: { uploader: Uploader; benches: Benches; session: Session; signal: AbortSignal }): void;
  close(): void;
}

const TICK_MS = 100;
/** The same trouble is said again only after this long. */
const QUIET_MS = 60_000;
/** So is a forecast that has not changed. */
const FORECAST_QUIET_MS = 10 * 60_000;

export function createNarrator(terminal: Terminal): Narrator {
  const said = new Map<string, number>();
  let isHubLost = false;
  let timer: NodeJS.Timeout | null = null;
  const name = (about: {
    run: string;
    step: number;
    role?: CheckpointRole | undefined;
    place?: ShownPlace | undefined;
  }) =>
    about.role === "final-model"
      ? `the final model of ${about.run}`
      : `${about.run} ${stepWords(about.step, about.place?.stepFrom)}`;
  const facts = (capture: Capture) => ({
    run: capture.run,
    step: capture.step,
    checkpointId: capture.id,
    ...(capture.role !== undefined && { role: capture.role }),
    bytes: capture.sizeBytes,
  });

  const trouble = (error: unknown) => {
    const data = toFault(error).toData();
    const key = `${data.code} ${data.op ?? ""}`;
    if (performance.now() - (said.get(key) ?? -Infinity) < QUIET_MS) return;
    said.set(key, performance.now());
    terminal.say(sentenceOf(data), { type: "trouble", fault: data });
  };
  return {
    joined: ({ name: node, hub }, { isNew }) =>
      terminal.say(isNew ? `Enrolled at ${hub} as ${node}.` : `This is ${node} of ${hub}.`, {
        type: "joined",
        node,
        hub,
        isNew,
      }),
    answering: ({ url, tokenFile }) =>
      terminal.say(`Programs find the local API at ${url}, with the token in ${tokenFile}.`, {
        type: "local-api",
        url,
        tokenFile,
      }),
    watching: ({ folder, run }) =>
      terminal.say(`Watching ${folder} for checkpoints of ${run}.`, { type: "watching", folder, run }),
    captured: (capture) => {
      const { doubt } = capture;
      const doubtful = doubt === undefined ? "" : ` It is doubtful: ${visibleText(doubt)}.`;
      terminal.say(
        `Captured ${name(capture)}: ${formatCount(capture.files.length)} files, ${formatBytes(capture.sizeBytes)}.${doubtful}`,
        { type: "captured", ...facts(capture), ...(doubt !== undefined && { doubt }) },
      );
    },
    passedOver: ({ path, step }) =>
      terminal.say(`Left ${path} alone: a newer checkpoint is there.`, { type: "passed-over", path, step }),
    smallDisk: (folder, { says, fix }) => {
      const key = `small disk ${folder}`;
      if (said.has(key)) return;
      said.set(key, performance.now());
      terminal.say(`${says.charAt(0).toUpperCase()}${says.slice(1)}. ${fix}`, {
        type: "small-disk",
        folder,
        says,
        fix,
      });
    },
    refused: ({ path }, fault) =>
      terminal.say(`Did not take ${path}. ${sentenceOf(fault.toData())}`, {
        type: "refused",
        path,
        fault: fault.toData(),
      }),
    uploadEnded: (capture) =>
      terminal.say(endSentence(name(capture), capture), {
        type: capture.state,
        ...facts(capture),
        fault: capture.fault,
      }),
    restoreStarted: (command) =>
      terminal.say(`Restoring ${name(command)} to ${command.targetPath}.`, {
        type: "restore-started",
        run: command.run,
        step: command.step,
        path: command.targetPath,
      }),
    restoreEnded: (command, { state, fault }) => {
      const end =
        fault === null ? "is in place, every byte verified." : `did not arrive. ${sentenceOf(fault.toData())}`;
      const text =
        state === "cancelled"
          ? `Restore of ${name(command)} was cancelled.`
          : `Restore of ${name(command)} to ${command.targetPath} ${end}`;
      terminal.say(text, {
        type: `restore-${state}`,
        run: command.run,
        step: command.step,
        path: command.targetPath,
        fault: fault?.toData() ?? null,
      });
    },
    foreignPickles: (command, { node, pickles }) => {
      const files = pickles === 1 ? "one pickle file" : `${formatCount(pickles)} pickle files`;
      const text = `${name(command)} has ${files} written by ${visibleText(node)}: loading a pickle runs what is in it.`;
      terminal.say(text, { type: "foreign-pickles", run: command.run, step: command.step, node, pickles });
    },
    fallingBack: ({ run, step, from, why }) =>
      terminal.say(`Restoring step ${formatCount(step)} of ${run} in place of ${formatCount(from)}. ${why}`, {
        type: "falling-back",
        run,
        step,
        from,
      }),
    checkStarted: (command) => {
      const about = { run: command.run, step: command.step };
      if (command.kind === "verify") terminal.say(`Verifying ${name(command)}.`, { type: "verify-started", ...about });
      else terminal.say(`Rehearsing a restore of ${name(command)}.`, { type: "drill-started", ...about });
    },
    checkEnded: (command, { fault, damage }) => {
      const about = { run: command.run, step: command.step, fault, damage };
      const what = command.kind === "verify" ? "Verifying" : "The restore drill of";
      const text =
        damage !== null
          ? `${name(command)} is damaged: ${damageWords(damage)}.`
          : fault === null
            ? `${name(command)} is as it was committed, every byte.`
            : `${what} ${name(command)} did not end well. ${sentenceOf(fault)}`;
      if (command.kind === "verify") terminal.say(text, { type: "verify-ended", ...about });
      else terminal.say(text, { type: "drill-ended", ...about });
    },
    runOver: (run) => {
      const why = run.over === null ? "" : ` ${sentenceOf(run.over.toData())}`;
      terminal.say(`Stopped uploading ${run.name}.${why}`, { type: "run-over", run: run.name });
    },
    limited: (direction, bytesPerSecond) => {
      const limit = bytesPerSecond === 0 ? "none" : formatRate(bytesPerSecond, "bytes");
      terminal.say(`Limit ${direction}: ${limit}.`, { type: "limit", direction, bytesPerSecond });
    },
    obeying: ({ kind, id }) => terminal.say(`The hub asks: ${kind}.`, { type: "command", kind, id }),
    waitingFor: trouble,
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
    setAside: ({ path, place, state }) => {
      const why = {
        torn: "it was not finished",
        doubtful: "nothing says whether it was finished",
        whole: "the run does not go on from it",
      }[state];
      terminal.say(`Set ${path} aside as ${place}: ${why}.`, { type: "set-aside", path, place, state });
    },
    keptReplaced: (place) =>
      terminal.say(
        `Kept what was there before the restore as ${place}: it is not in the bucket. Remove it when you do not need it.`,
        { type: "kept-replaced", place },
      ),
    leftInPlace: ({ run, folder, names }) =>
      terminal.say(
        `Left ${names.join(", ")} in ${folder}: nothing shows that ${run} wrote ${names.length === 1 ? "it" : "them"}. A program that takes the highest number goes on from there.`,
        { type: "left-in-place", run, folder, names },
      ),
    chosenBefore: ({ run, from, step }) => {
      const chosen = from === "beginning" ? "from its beginning" : `from step ${formatCount(from)}`;
      const now = step === null ? "It has saved nothing since." : `It goes on from step ${formatCount(step)}.`;
      terminal.say(`${run} was started ${chosen} before (--from). ${now}`, { type: "chosen-before", run, from, step });
    },
    beganElsewhere: ({ run, given, from }) =>
      terminal.say(
        `The program of ${run} was given step ${formatCount(given)} and began ${from === null ? "at the beginning" : `at step ${formatCount(from)}`}: it looks for its checkpoint somewhere else. TIDEMARK_RESUME_PATH says where the checkpoint is.`,
        { type: "began-elsewhere", run, given, from },
      ),
    writesElsewhere: ({ run, folder, above, next }) =>
      terminal.say(
        `The program of ${run} may write elsewhere from now on: because ${folder} is there, its framework makes a new folder in ${above} (${next}). Watch ${above} instead.`,
        { type: "writes-elsewhere", run, folder, above, next },
      ),
    restoredToo: ({ run, step, path, why }) =>
      terminal.say(`Restored ${path} too: ${why === "named" ? `the state of ${run} names it` : "it is kept"}.`, {
        type: "restored-named",
        run,
        step,
        path,
        why,
      }),
    keptNotAll: ({ run, step, left, neededBytes, freeBytes }) =>
      terminal.say(
        `${left === 1 ? "One kept checkpoint" : `${formatCount(left)} kept checkpoints`} of ${run} ${left === 1 ? "stays" : "stay"} in the bucket: step ${formatCount(step)} and the next checkpoint of the program need ${formatBytes(neededBytes)}, ${formatBytes(freeBytes)} are free.`,
        { type: "kept-not-all", run, step, left, neededBytes, freeBytes },
      ),
    keptUnknown: ({ run }) =>
      terminal.say(
        `Only the newest checkpoint of ${run} and those that its state names come back: the hub is too old to list what is kept. Update it.`,
        { type: "kept-unknown", run },
      ),
    nothingTaken: ({ run, folder, untaken, isRefused }) =>
      terminal.say(
        `Nothing that the program wrote to ${folder} is safe: ${untakenWords(untaken)} ${untaken.files === 1 ? "is" : "are"} ${isRefused ? "not taken" : "in no checkpoint format"}. Where it is a checkpoint, name it with --pattern, or save it with \`tidemark save\`; \`tidemark doctor --watch ${folder}\` shows what would be taken.`,
        { type: "nothing-taken", run, folder, files: untaken.files, bytes: untaken.bytes },
      ),
    lineBegun: ({ run, step, after, epoch }) =>
      terminal.say(
        `Training of ${run} began anew: step ${formatCount(step)} was written after step ${formatCount(after)}. What it writes from now on is kept as epoch ${epoch}; everything before stays in the bucket.`,
        { type: "line-begun", run, step, after, epoch },
      ),
    failedAtOnce: ({ run, step, code, ranMs, before }) => {
      const what = `The program ended with ${code} after ${formatDuration(ranMs)}, before it saved anything: step ${formatCount(step)} of ${run} may not be what it expects.`;
      const way =
        before === null
          ? "There is no complete step before it; `--from none` starts from the beginning."
          : `The complete step before it is ${formatCount(before)}; \`tidemark run --from ${before}\` starts there.`;
      terminal.say(`${what} ${way}`, { type: "failed-at-once", run, step, code, ranMs, before });
    },
    doubtfulLater: ({ run, step, why }) =>
      terminal.say(
        `Step ${formatCount(step)} of ${run} is in the bucket and doubtful: ${visibleText(why)}. \`tidemark run --from ${step}\` goes on from it all the same.`,
        { type: "doubtful-later", run, step, why },
      ),
    resuming: ({ run, step, path }) => {
      const text =
        step === null ? `${run} starts from the beginning.` : `${run} goes on from step ${formatCount(step)}.`;
      terminal.say(text, { type: "resuming", run, step, path });
    },
    lost: ({ run, fromStep, lastStep, lostSteps, lostMs, isEstimated = false }) => {
      const again = `${lostWords({ lostSteps, lostMs, isEstimated })} ${lostSteps === 0 ? "is" : "are"} done again`;
      const about = isEstimated && lostSteps > 0 ? "about " : "";
      const facts = { run, fromStep, lastStep, lostSteps, lostMs, isEstimated };
      terminal.say(`${run} had come to ${about}step ${formatCount(lastStep)}: ${again}.`, {
        type: "work-lost",
        ...facts,
      });
    },
    cannotSustain: ({ run, intervalMs, leastMs }) => {
      const key = `sustain ${run}`;
      if (Date.now() - (said.get(key) ?? 0) < FORECAST_QUIET_MS) return;
      said.set(key, Date.now());
      const text = `${run} saves every ${formatDuration(intervalMs)}, and this uplink sustains one every ${formatDuration(leastMs)}: older ones will be passed over.`;
      terminal.say(text, { type: "cannot-sustain", run, intervalMs, leastIntervalMs: leastMs });
    },
    ...tellOrphans(terminal),
    programEnded: ({ code, signal }) =>
      terminal.say(signal === null ? `The program ended with ${code}.` : `The program was ended by ${signal}.`, {
        type: "program-ended",
        code,
        signal,
      }),
    restarting: ({ code, waitMs }) =>
      terminal.say(`The program failed (${code}); it is started again in ${formatDuration(waitMs)}.`, {
        type: "restarting",
        code,
        waitMs,
      }),
    draining: (unsafe) => {
      if (unsafe === 0) return;
      const text = `Uploading ${unsafe === 1 ? "one checkpoint" : `${formatCount(unsafe)} checkpoints`} while there is time.`;
      terminal.say(text, { type: "draining", checkpoints: unsafe });
    },
    leaving: (backlog) => {
      for (const run of backlog) terminal.say(...lastWords(run));
    },
    follow: ({ uploader, benches, session, signal }) => {
      timer = setInterval(() => {
        const active = uploader.active;
        const bench = benches.up();
        if (active?.tally == null || bench === null) return;
        const { tally } = active;
        const { bucket, prefix } = bench.store;
        const moving = () => ({
          from: session.name,
          to: `${bucket}/${prefix}${active.capture.run}@${active.capture.step}`,
          tally,
          bytesPerSecond: bench.engine.meter.bytesPerSecond(),
        });
        terminal.draw(
          () => [transferSentence(moving()), tideLine(tally)],
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
