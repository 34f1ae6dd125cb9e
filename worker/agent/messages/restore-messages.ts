import { shownStep, stepWords } from "#protocol/checkpoint/step-words.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import { damageWords, type DamageReport } from "#protocol/checkpoint/damage.ts";
import { sentenceOf, type Fault, type FaultData } from "#protocol/faults/fault.ts";
import type { TransferState } from "#protocol/wire/transfer.ts";
import type { Terminal } from "../../command-line/terminal.ts";
import type { Refused } from "../../restore/placement/owner.ts";
import type { Origin, RestoreCommand } from "../../restore/restore-job.ts";
import type { CheckCommand } from "../../verification/checker-parts.ts";
import { checkpointName } from "./checkpoint-name.ts";

/** Messages about restores, verifications and restore drills. */
export interface RestoreMessages {
  restoreStarted(command: RestoreCommand): void;
  restoreEnded(
    command: RestoreCommand,
    about: { state: TransferState; fault: Fault | null; origin: Pick<Origin, "doubt"> | null },
  ): void;
  /** Warns that restored files of another node run code when they are loaded. */
  foreignPickles(command: RestoreCommand, about: { node: string; pickles: number }): void;
  /** Says that the newest checkpoint is damaged and an earlier one is restored. */
  fallingBack(about: { run: string; step: number; from: number; why: string }): void;
  /** Says that a restore kept what it replaced: the bucket does not hold the same bytes, or the disk refused to remove it. */
  keptReplaced(place: string, refused?: string): void;
  /** Says once that restored files do not have the owner or the modes that they should have. */
  attributesRefused(refused: Refused): void;
  /** Says that a further checkpoint is back: the state of the newest one names it, or it is kept. */
  restoredToo(about: { run: string; step: number; path: string; why: "named" | "kept" }): void;
  /** Says that not all kept checkpoints fit on the disk. `left`: how many stay in the bucket; `step`: the newest of them. */
  keptNotAll(about: { run: string; step: number; left: number; neededBytes: number; freeBytes: number }): void;
  keptUnknown(about: { run: string }): void;
  checkStarted(command: CheckCommand): void;
  checkEnded(command: CheckCommand, about: { fault: FaultData | null; damage: DamageReport | null }): void;
}

/** Returns the sentence about what a restored checkpoint may lack; empty for a whole one. */
export const doubtWords = (doubt: string | null): string =>
  doubt === null ? "" : ` It may not be whole: ${visibleText(doubt)}.`;

/** Prints what restores and verifications do. */
export const createRestoreMessages = (terminal: Terminal): RestoreMessages => ({
  restoreStarted: (command) =>
    terminal.say(`Restoring ${checkpointName(command)} to ${command.targetPath}.`, {
      type: "restore-started",
      run: command.run,
      step: command.step,
      path: command.targetPath,
    }),
  restoreEnded: (command, { state, fault, origin }) => {
    const doubt = origin?.doubt ?? null;
    const end =
      fault === null
        ? `is in place, every byte verified.${doubtWords(doubt)}`
        : `did not arrive. ${sentenceOf(fault.toData())}`;
    const text =
      state === "cancelled"
        ? `Restore of ${checkpointName(command)} was cancelled.`
        : `Restore of ${checkpointName(command)} to ${command.targetPath} ${end}`;
    terminal.say(text, {
      type: `restore-${state}`,
      run: command.run,
      step: command.step,
      path: command.targetPath,
      fault: fault?.toData() ?? null,
      doubt,
    });
  },
  foreignPickles: (command, { node, pickles }) => {
    const files = pickles === 1 ? "one pickle file" : `${formatCount(pickles)} pickle files`;
    const text = `${checkpointName(command)} has ${files} written by ${visibleText(node)}: loading a pickle runs what is in it.`;
    terminal.say(text, { type: "foreign-pickles", run: command.run, step: command.step, node, pickles });
  },
  fallingBack: ({ run, step, from, why }) =>
    terminal.say(`Restoring ${stepWords(step)} of ${run} in place of ${shownStep(from)}. ${why}`, {
      type: "falling-back",
      run,
      step,
      from,
    }),
  keptReplaced: (place, refused) => {
    const why = refused === undefined ? "it is not in the bucket" : `the disk refused to remove it (${refused})`;
    terminal.say(
      `Kept what was there before the restore as ${visibleText(place)}: ${why}. Remove it when you do not need it.`,
      {
        type: "kept-replaced",
        place,
        refused: refused ?? null,
      },
    );
  },
  attributesRefused: createRefusedMessage(terminal),
  restoredToo: ({ run, step, path, why }) =>
    terminal.say(
      `Restored ${visibleText(path)} too: ${why === "named" ? `the state of ${run} names it` : "it is kept"}.`,
      {
        type: "restored-named",
        run,
        step,
        path,
        why,
      },
    ),
  keptNotAll: ({ run, step, left, neededBytes, freeBytes }) =>
    terminal.say(
      `${left === 1 ? "One kept checkpoint" : `${formatCount(left)} kept checkpoints`} of ${run} ${left === 1 ? "stays" : "stay"} in the bucket: ${stepWords(step)} and the next checkpoint of the program need ${formatBytes(neededBytes)}, ${formatBytes(freeBytes)} are free.`,
      { type: "kept-not-all", run, step, left, neededBytes, freeBytes },
    ),
  keptUnknown: ({ run }) =>
    terminal.say(
      `Only the newest checkpoint of ${run} and those that its state names come back: the hub is too old to list what is kept. Update it.`,
      { type: "kept-unknown", run },
    ),
  checkStarted: (command) => {
    const about = { run: command.run, step: command.step };
    if (command.kind === "verify")
      terminal.say(`Verifying ${checkpointName(command)}.`, { type: "verify-started", ...about });
    else terminal.say(`Rehearsing a restore of ${checkpointName(command)}.`, { type: "drill-started", ...about });
  },
  checkEnded: (command, { fault, damage }) => {
    const about = { run: command.run, step: command.step, fault, damage };
    const what = command.kind === "verify" ? "Verifying" : "The restore drill of";
    const text =
      damage !== null
        ? `${checkpointName(command)} is damaged: ${damageWords(damage)}.`
        : fault === null
          ? `${checkpointName(command)} is as it was committed, every byte.`
          : `${what} ${checkpointName(command)} did not end well. ${sentenceOf(fault)}`;
    if (command.kind === "verify") terminal.say(text, { type: "verify-ended", ...about });
    else terminal.say(text, { type: "drill-ended", ...about });
  },
});

const WORDS: Readonly<Record<string, string>> = { EINVAL: "EINVAL: this container does not know that user" };

/**
 * Creates the message for refused attributes. Prints each sentence for the first path only, because the disk refuses
 * the others too.
 */
function createRefusedMessage(terminal: Terminal): RestoreMessages["attributesRefused"] {
  const said = new Set<string>();
  return ({ what, path, code, owner }) => {
    const name = `${what} ${owner?.uid ?? ""}`;
    if (said.has(name)) return;
    said.add(name);
    const place = visibleText(path);
    const text =
      owner === null
        ? `The disk of ${place} does not take the modes of restored files (${code}). Their content is whole; set the modes by hand where a program needs them.`
        : `Restored files cannot be given to user ${owner.uid}, the owner of their folder: the system refused it for ${place} (${WORDS[code] ?? code}). Their content is whole. Start the worker as that user, or change the owner with chown, where the program has to change or remove them.`;
    terminal.say(text, { type: "attributes-refused", what, path, code, uid: owner?.uid ?? null });
  };
}
