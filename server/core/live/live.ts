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
 * The present of the fleet, in memory: what nodes reported last, what moves, who watches. Whoever changes something raises
 * its revision; a watcher remembers the revision it has seen and takes what is above it. Nothing here is a promise: what
 * was promised stands in the database.
 */

export interface LiveTransfer {
  row: TransferRow;
  revision: number;
  /** Has progress to write down. */
  dirty: boolean;
  /** When it ended, by its node's clock; null while that is not known. */
  endedAtNode: number | null;
}

const EVENTS_KEPT = 200;
const WATCHED_MS = 1_000;
const UNWATCHED_MS = 10_000;
/** What a hub with one core takes without being busy: a large fleet is looked at a little less closely. */
const REPORTS_PER_SECOND = 1_000;
const LONGEST_MS = 15_000;
/** A reloaded page must not slow every node down and speed it up again. */
const LINGER_MS = 5_000;

/** Of one session or API token. */
const MOST_STREAMS = 20;

/** Who writes a run: the node that opened its epoch, and those of its group that joined it. */
interface Writer {
  nodeId: string;
  epoch: number;
  others?: readonly string[];
}

export class Live {
  readonly nodes = new Map<string, LiveNode>();
  readonly transfers = new Map<string, LiveTransfer>();
  /**
   * Hash of a credential to its node, of nodes that have one good credential and no other: a report must not cost a query.
   * Whoever gives a node a second one takes the first out of here.
   */
  readonly credentials = new Map<string, string>();
  /** Who writes each run now. */
  readonly writers = new Map<string, Writer>();
  readonly events: EventRow[] = [];
  readonly staleAt = new Map<StaleTopic, number>();
  readonly changed = createSignal();
  readonly sessionsChanged = createSignal();
  totals: Pick<FleetView, "doneLastDay" | "failedLastDay" | "checkpointsComplete"> = {
    doneLastDay: 0,
    failedLastDay: 0,
    checkpointsComplete: 0,
  };
  /** Commands that have not ended, by state. */
  openCommands: ReadonlyMap<string, number> = new Map([
    ["sent", 0],
    ["accepted", 0],
  ]);
  /** Restores may wait for their turn: their queue is in the database, and is read only while this is so. */
  mayRestoresWait = true;
  /** Messages of alerts may wait to be handed over. */
  mayAlertsWait = true;
  /** Findings may stand in line for their bucket. */
  mayFindingsWait = true;
  /**
   * Nodes of which a command may not have ended: every one that was sent something, until a look finds none. Counted again from
   * the database now and then.
   */
  readonly mayHaveCommands = new Set<string>();
  revision = 0;
  /** When the progress of transfers was last written down. */
  transfersWrittenAt = 0;
  /** How often something that opens a stream was taken away: streams look at theirs again. */
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

  /** Something changed: returns its revision and wakes the watchers. */
  touch(): number {
    this.revision++;
    this.changed.ring();
    return this.revision;
  }

  /** A session or an API token is over, or an account. */
  endSession(): void {
    this.sessionEnds++;
    this.sessionsChanged.ring();
    this.changed.ring();
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

  /** Puts a transfer in view, or its newer row in place of the older one. */
  putTransfer(row: TransferRow, options: { toWrite: "now" | "later"; endedAtNode?: number }): void {
    const { toWrite, endedAtNode = null } = options;
    this.transfers.set(row.id, { row, revision: this.touch(), dirty: toWrite === "later", endedAtNode });
  }

  /** Notes that the node keeps to the present pace from now on: its next report is expected by it. */
  noteHeard(node: LiveNode, now: number): void {
    node.lastSeenAt = now;
    node.quietSince = now;
    node.presence = "heard";
    node.reportEveryMs = this.settingsOf(node, now).reportEveryMs;
  }

  /** The nodes of these transfers are not heard any more. */
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

  /** Takes back a command that has not gone down the node's stream yet. */
  withdraw(nodeId: string, commandId: string): void {
    for (const mailbox of this.nodes.get(nodeId)?.mailboxes ?? []) {
      mailbox.messages = mailbox.messages.filter((one) => one.type !== "command" || one.command.id !== commandId);
    }
  }

  /** Nodes of the profile read their store anew. */
  profileChanged(profileId: string, profileName: string): void {
    for (const node of this.nodes.values()) {
      if (node.profileId !== profileId) continue;
      node.profileName = profileName;
      this.touchNode(node);
      post(node, { type: "refresh" });
    }
  }

  /** The nodes that write a run, if any do, ask anew where their bytes go and how. */
  refreshWriter(run: string): void {
    const writer = this.writers.get(run);
    if (writer === undefined) return;
    for (const nodeId of new Set([writer.nodeId, ...(writer.others ?? [])])) this.send(nodeId, { type: "refresh" });
  }

  /** Another node of a group writes an epoch together with the one that opened it. */
  joinWriters(run: string, { nodeId, epoch }: { nodeId: string; epoch: number }): void {
    const writer = this.writers.get(run);
    if (writer?.epoch !== epoch || writer.nodeId === nodeId) return;
    this.writers.set(run, { ...writer, others: [...(writer.others ?? []).filter((one) => one !== nodeId), nodeId] });
  }

  /** Whether a node may be the writer of a run, as far as is known: true where nobody is. */
  mayWriteNow(run: string, nodeId: string): boolean {
    const writer = this.writers.get(run);
    return writer === undefined || writer.nodeId === nodeId || writer.others?.includes(nodeId) === true;
  }

  /** A browser watches from now on: nodes report every second. Call the returned function when it leaves. */
  /** `caller`: its streams are counted together. @throws Fault TOO_MANY_TRIES when it has too many open */
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

  /** How often this node is to report: at once while somebody reads what it says, however many others there are. */
  settingsOf(node: LiveNode, now: number): NodeSettings {
    const { settings } = this;
    if (now >= node.readUntil) return settings;
    return { ...settings, reportEveryMs: Math.min(WATCHED_MS, settings.reportEveryMs) };
  }

  /** Somebody reads what the program of this node says, and asks again while it goes on. */
  readClosely(node: LiveNode, now: number): void {
    const before = this.settingsOf(node, now).reportEveryMs;
    node.readUntil = now + LINGER_MS;
    const settings = this.settingsOf(node, now);
    if (settings.reportEveryMs < before) post(node, { type: "settings", settings });
  }

  /** Tells the nodes when the wished cadence changed, or the fleet became twice or half as large. */
  adaptCadence(now: number): void {
    const usual = this.#watchers > 0 || now < this.#watchedUntil ? WATCHED_MS : UNWATCHED_MS;
    const wished = Math.min(LONGEST_MS, Math.max(usual, Math.ceil((this.nodes.size * 1_000) / REPORTS_PER_SECOND)));
    let online = 0;
    for (const node of this.nodes.values()) if (isExpected(stateOf(node))) online++;
    const within = returnWindowMs(online);
    const isSimilar = within < this.#returnWithinMs * 2 && within > this.#returnWithinMs / 2;
    if (wished === this.#reportEveryMs && isSimilar) return;
    this.#reportEveryMs = wished;
    this.#returnWithinMs = within;
    for (const node of this.nodes.values()) {
      // A slower pace holds at once; a faster one when the node has heard of it, which its next report shows.
      node.reportEveryMs = Math.max(node.reportEveryMs, wished);
      post(node, { type: "settings", settings: this.settings });
    }
  }

  /** The fleet at `now`; computed once for all watchers of the same moment. */
  fleet(now: number): Promise<FleetView> {
    if (this.#fleet === null || this.#fleet.revision !== this.revision || now - this.#fleet.at >= 1_000) {
      this.#fleet = { revision: this.revision, at: now, view: fleetViewOf(this, now) };
    }
    return this.#fleet.view;
  }
}
