import { stepSourceOf } from "#protocol/checkpoint/step-words.ts";
import { join } from "node:path";
import { systemClock } from "../../base/clock.ts";
import type { Ledger } from "../../capture/ledger.ts";
import type { Memory } from "../../limits/learned.ts";
import type { CommandMemory } from "../../hub-link/command-memory.ts";
import type { Outbox } from "../../hub-link/outbox.ts";
import { isStoredNow, storedOf } from "../../restore/confirm-stored.ts";
import { assertPlace, type Places } from "../../restore/placement/assert-place.ts";
import { noteRestored, rememberRestored } from "../../restore/placement/remember-restored.ts";
import { createRestorer, type RestoreEnd, type Restorer } from "../../restore/restorer.ts";
import type { RestoreCommand } from "../../restore/restore-job.ts";
import type { SendingParts } from "../../upload/uploader-parts.ts";
import type { AgentOptions } from "../agent-options.ts";
import type { StoreSessions } from "../agent-store-sessions.ts";
import type { Stand } from "../command-handlers/stand.ts";
import type { ConsoleReporter } from "../console-reporter.ts";

/** Parts of the agent that restores need. */
export interface RestorePieces {
  outbox: Outbox;
  options: AgentOptions;
  sending: SendingParts;
  ledger: Ledger;
  memory: CommandMemory;
  reporter: ConsoleReporter;
  storeSessions: StoreSessions;
  links: Memory;
  stand: Stand;
  /** The state folder. */
  state: string;
  places: Places;
  /** This node's id at its hub. */
  nodeId: string;
}

/** Creates the restorer, which records in the ledger what it puts in place. */
export function assembleRestorer(pieces: RestorePieces): Restorer {
  const { options, sending, outbox, ledger, memory, reporter, storeSessions, links, stand, state, places } = pieces;
  const { hub, signal } = sending;
  const stored = storedOf({ ledger, hub });
  return createRestorer({
    memory,
    outbox,
    hub,
    clock: systemClock,
    journals: join(state, "restores"),
    engine: () => storeSessions.down()?.engine ?? null,
    copies: { engineAt: (store) => storeSessions.at(store).down.engine, memory: links },
    signal,
    member: options.group,
    beforePlaced: (staging, target, layout) => rememberRestored(ledger, { staging, target, layout }),
    // Noted only now: files that are replaced are compared with what was stored under this name until the placement.
    afterPlaced: (target, layout, content) => noteRestored(ledger, { target, layout, ...content }),
    replaced: {
      isStored: (path, fingerprint) => isStoredNow(stored, path, fingerprint),
      onKept: reporter.keptReplaced,
    },
    onRefused: reporter.attributesRefused,
    assertMayPlace: (target) => assertPlace(target, places),
    isHeld: stand.isDownHeld,
    onStart: reporter.restoreStarted,
    onEnd: (restored, about) => noteEnd(pieces, restored, about),
  });
}

/**
 * Prints the end of a restore. When training continues from the restored checkpoint, records it as the safe point of the run.
 */
function noteEnd(pieces: RestorePieces, restored: RestoreCommand, about: RestoreEnd): void {
  const { options, sending, ledger, reporter, nodeId } = pieces;
  reporter.restoreEnded(restored, about);
  const { origin } = about;
  if (about.state === "done" && origin?.node != null && origin.node.id !== nodeId && origin.pickles > 0)
    reporter.foreignPickles(restored, { node: origin.node.name, pickles: origin.pickles });
  const isWatched = options.watches.some(
    ({ run, folder }) => run === restored.run && restored.targetPath.startsWith(`${folder}/`),
  );
  if (about.state === "done" && isWatched && about.origin?.role == null && restored.isAlone !== true) {
    // Training continues from here, so only work after this step can be lost.
    const { counters } = about;
    const epoch = origin?.writerEpoch ?? null;
    const sizeBytes = counters?.bytesTotal ?? 0;
    const point = {
      step: restored.step,
      at: sending.wallNow(),
      sizeBytes,
      epoch,
      source: stepSourceOf(origin?.place),
      place: origin?.place,
    };
    // The watched folder with the highest step says what is safe.
    const known = ledger.safe(restored.run);
    if (origin?.place.root !== undefined && known !== null && known.epoch === epoch && known.step > point.step) return;
    ledger.noteSafe(restored.run, point).catch(reporter.waitingFor);
  }
}
