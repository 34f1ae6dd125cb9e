import type { JobLogs } from "./job-logs.ts";
import type { LiveNode } from "./live-node.ts";
import { createSignal, type Signal } from "./signal.ts";

/** State of jobs that is kept in memory: the nodes that wait for one, and when attempts were last asked about. */

/** Offer of a node that got no job. No job of the queue fits a node of that kind that offers as much or less. */
export interface Nothing {
  /** The queue's version, and a time in epoch ms: from then on it is not known. */
  version: number;
  until: number;
  kind: string;
  /** Null: for all nodes of the kind. Else jobs may fit the others, because this one is banned for some. */
  nodeId: string | null;
  most: { gpuBytes: number; diskBytes: number; uplink: number; movesBytes: boolean };
  why: string | null;
}

/** A node for which the hub looks for a job without an open call. */
export interface QueueWatcher {
  readonly node: LiveNode;
  readonly bootId: string;
  readonly offer: JobOffer;
  /** Aborted when the wait is over: by a job, by the next call of the node, or because it takes none any more. */
  readonly ended: AbortController;
  /** The wait ends then, epoch ms. */
  readonly until: number;
  /** No job is looked for before, epoch ms. */
  restUntil: number;
  /** A job is being looked for or claimed for it. */
  isBusy: boolean;
}

/** Claims of the nodes of one bucket profile for which the hub looks for jobs. */
export interface ProfileClaims {
  running: number;
  /** Queues in which a node was left out because of the number. */
  readonly leftOut: Set<QueueMemory>;
}

export interface QueueMemory {
  /** Calls that use it. It is forgotten with the last one, because nodes make up names of queues. */
  users: number;
  /** Notified when one of its jobs may be assigned. */
  readonly signal: Signal;
  /** Number of notifications. */
  version: number;
  /** Why no node gets a job of it (null: none is due): at this version, and until this time, epoch ms. Needs no query. */
  closed: { version: number; until: number; why: string | null } | null;
  /** By the id of the node, in the order in which they began to wait. */
  readonly watchers: Map<string, QueueWatcher>;
  /** Aborted with the last watcher; null while there is none. */
  watched: AbortController | null;
  /** Watchers were left out before, and may be looked for now. */
  isDue: boolean;
  /** Newest last. */
  nothing: Nothing[];
}

/** Resources that a node offers to a job. */
export interface JobOffer {
  queue: string;
  gpuMemoryBytes?: number | undefined;
  diskBytes?: number | undefined;
  movesBytes?: boolean | undefined;
}

export interface JobMemory {
  readonly queues: Map<string, QueueMemory>;
  /** Newest offer of each node by its id. */
  readonly offers: Map<string, JobOffer>;
  /** Job whose inputs each node may read before it is handed the job, by the node's id. `until`: epoch ms. */
  readonly offered: Map<string, { jobId: string; until: number }>;
  /** The wait of each node for a job, in an open call or without one; a newer call ends it. */
  readonly waiting: Map<string, AbortController>;
  /** Output of attempts that people read now. */
  readonly logs: JobLogs;
  /** Epoch ms at which an attempt was last asked about, by job. */
  readonly heard: Map<string, number>;
  /** Looks and claims for nodes that wait without an open call. The hub ends after them. */
  readonly assigning: Set<Promise<void>>;
  /** Claims of them, by bucket profile. */
  readonly claims: Map<string, ProfileClaims>;
  /** Attempts may be open. Their rows are read only while this is true. */
  mayRun: boolean;
  /** Webhooks may wait to be called. Their rows are read only while this is true. */
  mayCall: boolean;
  /** The calls of webhooks in flight, by address. */
  readonly calling: Map<string, Promise<void>>;
  /** Ids of calls that were made and whose rows could not be deleted yet. */
  readonly called: Set<number>;
  /** Waits that ended before this time (epoch ms) were announced. */
  dueThrough: number;
}

export const createJobMemory = (now: number): JobMemory => ({
  queues: new Map(),
  offers: new Map(),
  offered: new Map(),
  waiting: new Map(),
  logs: new Map(),
  heard: new Map(),
  assigning: new Set(),
  claims: new Map(),
  mayRun: true,
  mayCall: true,
  calling: new Map(),
  called: new Set(),
  dueThrough: now,
});

const createQueueMemory = (): QueueMemory => ({
  users: 0,
  signal: createSignal(),
  version: 0,
  closed: null,
  watchers: new Map(),
  watched: null,
  isDue: false,
  nothing: [],
});

/** Calls `work` with the memory of a queue, which exists as long as a call uses it. */
export async function withQueue<T>(
  { queues }: JobMemory,
  name: string,
  work: (queue: QueueMemory) => Promise<T>,
): Promise<T> {
  const queue = queues.get(name) ?? createQueueMemory();
  queues.set(name, queue);
  queue.users++;
  try {
    return await work(queue);
  } finally {
    queue.users--;
    if (queue.users === 0) queues.delete(name);
  }
}

/** Ends the wait of a node for a job, for example because it is to take no more. */
export const endWait = ({ waiting }: JobMemory, nodeId: string): void => waiting.get(nodeId)?.abort();

/** Wakes the nodes that wait for a job of these queues. Call it after the change is stored. */
export function notifyQueues({ queues }: JobMemory, names: Iterable<string>): void {
  for (const name of new Set(names)) {
    const queue = queues.get(name);
    if (queue === undefined) continue;
    queue.version++;
    queue.signal.notify();
  }
}
