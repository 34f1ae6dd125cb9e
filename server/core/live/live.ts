import { Fault } from "#protocol/faults/fault.ts";
import type { NodeMessage } from "#protocol/wire/commands.ts";
import type { NodeSettings } from "#protocol/wire/hello.ts";
import { isExpected } from "#protocol/fleet/node-status.ts";
import { returnWindowMs } from "#protocol/base/return-wait.ts";
import { isEnded } from "#protocol/wire/transfer.ts";
import type { EventRow, FleetView, StaleTopic, TransferRow } from "#protocol/wire/views.ts";
import { fleetViewOf } from "./fleet-view.ts";
import { createLiveNode, post, stateOf, type LiveNode, type NewLiveNode } from "./live-node.ts";
import { withoutSpeed } from "./transfer-row.ts";
import { createSignal } from "./signal.ts";

/**
 * The live state of the fleet, in memory: last reports, transfers, watchers. Each change raises the revision; a watcher
 * remembers the revision that it has seen and takes what is newer. Nothing here is durable: the database holds what must
 * survive.
 */

export interface LiveTransfer {
  row: TransferRow;
  revision: number;
  /** Has progress that is not stored yet. */
  dirty: boolean;
  /** When it ended by its node's clock; null while unknown. */
  endedAtNode: number | null;
}

const EVENTS_KEPT = 200;
const WATCHED_MS = 1_000;
const UNWATCHED_MS = 10_000;
/** The load that a hub with one core handles easily: a large fleet reports less often. */
const REPORTS_PER_SECOND = 1_000;
const LONGEST_MS = 15_000;
/** Delay before the fleet slows down: a page reload must not make every node slow down and speed up again. */
const LINGER_MS = 5_000;

/** Streams per session or API token. */
const MOST_STREAMS = 20;

/** The writer of a run: the node that opened its epoch, and the nodes of its group that joined it. */
interface Writer {
  nodeId: string;
  epoch: number;
  others?: readonly string[];
}

export class Live {
  readonly nodes = new Map<string, LiveNode>();
  readonly transfers = new Map<string, LiveTransfer>();
  /**
   * Maps the hash of a credential to its node, so that a report needs no query. Holds only nodes with exactly one valid
   * credential: code that gives a node a second one removes the first from here.
   */
  readonly credentials = new Map<string, string>();
  /** The current writer of each run. */
  readonly writers = new Map<string, Writer>();
  readonly events: EventRow[] = [];
  readonly staleAt = new Map<StaleTopic, number>();
  readonly changed = createSignal();
  readonly sessionsChanged = createSignal();
  readonly profilesSaved = createSignal();
  /** Number of profiles that were added or changed since the start. */
  profileSaves = 0;
  totals: Pick<FleetView, "doneLastDay" | "failedLastDay" | "checkpointsComplete"> = {
    doneLastDay: 0,
    failedLastDay: 0,
    checkpointsComplete: 0,
  };
  /** Number of commands that have not ended, by state. */
  openCommands: ReadonlyMap<string, number> = new Map([
    ["sent", 0],
    ["accepted", 0],
  ]);
  /** Number of jobs that have not ended, by state. */
  openJobs: ReadonlyMap<string, number> = new Map([
    ["waiting", 0],
    ["running", 0],
  ]);
  /** Restores may be waiting for their turn. Their queue is in the database, and is read only while this is true. */
  mayRestoresWait = true;
  /** Messages of alerts may be waiting for delivery. */
  mayAlertsWait = true;
  /** Verification findings may be waiting to be written to their bucket. */
  mayFindingsWait = true;
  /**
   * Nodes that may have open commands: every node that was sent one, until a query finds none. Recomputed from the database
   * periodically.
   */
  readonly mayHaveCommands = new Set<string>();
  revision = 0;
  /** When the progress of transfers was last stored, epoch ms. */
  transfersWrittenAt = 0;
  /** Number of revocations of sessions, tokens or accounts: a change makes streams check theirs again. */
  sessionEnds = 0;
  #watchers = 0;
  readonly #streams = new Map<string, number>();
  #watchedUntil = 0;
  #reportEveryMs = UNWATCHED_MS;
  #returnWithinMs = returnWindowMs(0);
  #fleet: { revision: number; at: number; view: Promise<FleetView> } | null = null;

  get watchers(): number {
    return this.#watchers;
  }

  get settings(): NodeSettings {
    return { reportEveryMs: this.#reportEveryMs, returnWithinMs: this.#returnWithinMs };
  }

  /** Counts a change: returns its revision and wakes the watchers. */
  touch(): number {
    this.revision++;
    this.changed.notify();
    return this.revision;
  }

  /** Makes streams check whether their session, API token or account has ended. */
  endSession(): void {
    this.sessionEnds++;
    this.sessionsChanged.notify();
    this.changed.notify();
  }

  addNode(row: NewLiveNode, now: number): LiveNode {
    const node = createLiveNode(row, now);
    this.nodes.set(node.id, node);
    node.revision = this.touch();
    return node;
  }

  touchNode(node: LiveNode): void {
    node.revision = this.touch();
  }

  /** Shows a transfer, or replaces its row by a newer one. */
  putTransfer(row: TransferRow, options: { toWrite: "now" | "later"; endedAtNode?: number }): void {
    const { toWrite, endedAtNode = null } = options;
    this.transfers.set(row.id, { row, revision: this.touch(), dirty: toWrite === "later", endedAtNode });
  }

  /** Notes a sign of life; the next report is expected after the current interval. */
  noteHeard(node: LiveNode, now: number): void {
    node.lastSeenAt = now;
    node.quietSince = now;
    node.presence = "heard";
    node.reportEveryMs = this.settingsOf(node, now).reportEveryMs;
  }

  /** Clears the speed of transfers whose nodes are no longer heard. */
  stopClocks(nodeIds: ReadonlySet<string>): void {
    for (const { row } of this.transfers.values()) {
      if (nodeIds.has(row.nodeId) && !isEnded(row.state)) this.putTransfer(withoutSpeed(row), { toWrite: "later" });
    }
  }

  addEvent(event: EventRow): void {
    this.events.push(event);
    if (this.events.length > EVENTS_KEPT) this.events.shift();
    this.touch();
  }

  markStale(topics: readonly StaleTopic[]): void {
    if (topics.length === 0) return;
    const revision = this.touch();
    for (const topic of topics) this.staleAt.set(topic, revision);
  }

  send(nodeId: string, message: NodeMessage): void {
    if (message.type === "command") this.mayHaveCommands.add(nodeId);
    const node = this.nodes.get(nodeId);
    if (node !== undefined) post(node, message);
  }

  /** Removes a command from the stream of the node if it was not sent yet. */
  withdraw(nodeId: string, commandId: string): void {
    for (const mailbox of this.nodes.get(nodeId)?.mailboxes ?? []) {
      mailbox.messages = mailbox.messages.filter((one) => one.type !== "command" || one.command.id !== commandId);
    }
  }

  /** Makes the hub mark the place of the profile as its own. */
  profileSaved(): void {
    this.profileSaves++;
    this.profilesSaved.notify();
  }

  /** Makes the nodes of the profile load their store anew. */
  profileChanged(profileId: string, profileName: string): void {
    for (const node of this.nodes.values()) {
      if (node.profileId !== profileId) continue;
      node.profileName = profileName;
      this.touchNode(node);
      post(node, { type: "refresh" });
    }
  }

  /** Makes the writers of a run, if any, ask again for their store and its settings. */
  refreshWriter(run: string): void {
    const writer = this.writers.get(run);
    if (writer === undefined) return;
    for (const nodeId of new Set([writer.nodeId, ...(writer.others ?? [])])) this.send(nodeId, { type: "refresh" });
  }

  /** Adds a node of a group to the writers of its epoch. */
  joinWriters(run: string, { nodeId, epoch }: { nodeId: string; epoch: number }): void {
    const writer = this.writers.get(run);
    if (writer?.epoch !== epoch || writer.nodeId === nodeId) return;
    this.writers.set(run, { ...writer, others: [...(writer.others ?? []).filter((one) => one !== nodeId), nodeId] });
  }

  /** Returns whether a node may be the writer of a run, as far as known: true for a run without a writer. */
  mayWriteNow(run: string, nodeId: string): boolean {
    const writer = this.writers.get(run);
    return writer === undefined || writer.nodeId === nodeId || writer.others?.includes(nodeId) === true;
  }

  /**
   * Counts a watching browser, so that nodes report every second. Call the returned function when it leaves. Streams are
   * limited per `caller`. @throws Fault TOO_MANY_TRIES when the caller has too many open
   */
  enter(now: () => number, caller: string): () => void {
    const open = this.#streams.get(caller) ?? 0;
    if (open >= MOST_STREAMS) {
      throw new Fault("TOO_MANY_TRIES", { detail: `${open} streams are open already`, retryAfterMs: 10_000 });
    }
    this.#streams.set(caller, open + 1);
    this.#watchers++;
    this.adaptCadence(now());
    return () => {
      const left = (this.#streams.get(caller) ?? 1) - 1;
      if (left === 0) this.#streams.delete(caller);
      else this.#streams.set(caller, left);
      this.#watchers--;
      this.#watchedUntil = now() + LINGER_MS;
    };
  }

  /** Returns the report interval of a node: short while a person reads its log, whatever the size of the fleet. */
  settingsOf(node: LiveNode, now: number): NodeSettings {
    const { settings } = this;
    if (now >= node.readUntil) return settings;
    return { ...settings, reportEveryMs: Math.min(WATCHED_MS, settings.reportEveryMs) };
  }

  /** Notes that a person reads this node's log; callers repeat it while that continues. */
  readClosely(node: LiveNode, now: number): void {
    const before = this.settingsOf(node, now).reportEveryMs;
    node.readUntil = now + LINGER_MS;
    const settings = this.settingsOf(node, now);
    if (settings.reportEveryMs < before) post(node, { type: "settings", settings });
  }

  /** Sends new settings when the report interval changed, or the fleet became twice or half as large. */
  adaptCadence(now: number): void {
    const usual = this.#watchers > 0 || now < this.#watchedUntil ? WATCHED_MS : UNWATCHED_MS;
    const requested = Math.min(LONGEST_MS, Math.max(usual, Math.ceil((this.nodes.size * 1_000) / REPORTS_PER_SECOND)));
    let online = 0;
    for (const node of this.nodes.values()) if (isExpected(stateOf(node))) online++;
    const within = returnWindowMs(online);
    const isSimilar = within < this.#returnWithinMs * 2 && within > this.#returnWithinMs / 2;
    if (requested === this.#reportEveryMs && isSimilar) return;
    this.#reportEveryMs = requested;
    this.#returnWithinMs = within;
    for (const node of this.nodes.values()) {
      // A longer interval applies at once, a shorter one when the node has received it, which its next report shows.
      node.reportEveryMs = Math.max(node.reportEveryMs, requested);
      post(node, { type: "settings", settings: this.settings });
    }
  }

  /** Returns the fleet at `now`, computed once for all watchers of one revision and second. */
  fleet(now: number): Promise<FleetView> {
    if (this.#fleet === null || this.#fleet.revision !== this.revision || now - this.#fleet.at >= 1_000) {
      this.#fleet = { revision: this.revision, at: now, view: fleetViewOf(this, now) };
    }
    return this.#fleet.view;
  }
}
