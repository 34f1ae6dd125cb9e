import { systemClock } from "../../base/clock.ts";
import type { Ledger } from "../../capture/ledger.ts";
import type { CommandMemory } from "../../hub-link/command-memory.ts";
import type { Outbox } from "../../hub-link/outbox.ts";
import type { Session } from "../../hub-link/session.ts";
import { createCopier } from "../../replicas/copier.ts";
import type { Copier } from "../../replicas/copier-parts.ts";
import type { CopyLedger } from "../../replicas/copy-ledger.ts";
import type { Homes } from "../../upload/homes.ts";
import type { SendingParts } from "../../upload/uploader-parts.ts";
import { createChecker, type Checker } from "../../verification/checker.ts";
import type { StoreSessions } from "../agent-store-sessions.ts";
import type { Stand } from "../command-handlers/stand.ts";
import type { ConsoleReporter } from "../console-reporter.ts";

/** Parts of the agent that copies and verification need. */
export interface CopyPieces {
  outbox: Outbox;
  sending: SendingParts;
  ledger: Ledger;
  copies: CopyLedger;
  memory: CommandMemory;
  homes: Homes;
  session: Session;
  storeSessions: StoreSessions;
  reporter: ConsoleReporter;
  stand: Stand;
  /** The state folder. */
  state: string;
  /** Returns whether a transfer of this node's own runs or waits. */
  isBusy(): boolean;
}

/** Creates the copier to replicas and the checker. Both work only while the node has no transfer of its own. */
export function assembleCopies(pieces: CopyPieces): { copier: Copier; checker: Checker } {
  const { sending, outbox, ledger, copies, memory, homes, session, storeSessions, reporter, stand, state, isBusy } =
    pieces;
  const copier = createCopier({
    ...sending,
    ledger: copies,
    homes,
    own: () => session.store,
    storeSession: (store) => storeSessions.at(store).up,
    isBusy,
    isHeld: ledger.isHeld,
  });
  const checker = createChecker({
    memory,
    outbox,
    hub: sending.hub,
    clock: systemClock,
    state,
    engine: () => storeSessions.aside()?.engine ?? null,
    engineAt: (store) => storeSessions.at(store).aside.engine,
    copyTo: async (run, profileId) => {
      await homes.ask(run);
      const store = homes.storeOf(run, profileId);
      return store === null ? null : storeSessions.at(store).up;
    },
    signal: sending.signal,
    isBusy,
    isHeld: stand.isDownHeld,
    onStart: reporter.checkStarted,
    onEnd: reporter.checkEnded,
  });
  return { copier, checker };
}
